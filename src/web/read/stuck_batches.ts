/**
 * How many batches and flows wait for their dead members, for the navigation: cached, because every page has it.
 *
 * @module
 */
import { stuckBatches } from "../../operator/alerts/situation.ts";
import type { Services } from "../services.ts";

/** How long the counts are cached. */
const CACHE_MS = 5_000;

/** The number of stuck ones among the latest of each kind. */
export interface StuckCounts {
  readonly batch: number;
  readonly flow: number;
}

/** Counts stuck batches and flows, at most every five seconds. */
export class StuckBatches {
  #reading: { readonly counts: Promise<StuckCounts>; readonly until: number } | undefined;

  /** Returns the counts as of at most five seconds ago. */
  read({ store, clock }: Pick<Services, "store" | "clock">): Promise<StuckCounts> {
    const now = clock.monotonic();
    if (this.#reading !== undefined && now < this.#reading.until) return this.#reading.counts;
    const reading = { counts: readCounts(store), until: now + CACHE_MS };
    this.#reading = reading;
    reading.counts.catch(() => this.#reading === reading && (this.#reading = undefined));
    return reading.counts;
  }
}

async function readCounts(store: Services["store"]): Promise<StuckCounts> {
  const stuck = await stuckBatches(store);
  const flow = stuck.filter((batch) => batch.flow).length;
  return { batch: stuck.length - flow, flow };
}
