/**
 * Waits until a job is due earlier than was known: our own are told of at once, those that Ruby puts in are seen by a
 * look at the heads of the sets, once a second.
 *
 * @module
 */
import { SETS } from "../keys.ts";
import type { ReconnectingClient } from "../client/reconnecting_client.ts";
import type { WakeChannel } from "./wake_channel.ts";

const POLL_INTERVAL_MS = 1_000;
/** Scores are seconds, and their thousandfold is not always a whole number. */
const ROUNDING_MS = 1;

/** Waits for earlier due times. */
export class DueWatch {
  readonly #link: ReconnectingClient;
  readonly #channel: WakeChannel;
  readonly #end = new AbortController();
  #known: number | undefined;

  constructor(link: ReconnectingClient, channel: WakeChannel) {
    this.#link = link;
    this.#channel = channel;
  }

  /** Tells the earliest due time as of now, by the store's clock; infinite when there is none. */
  know(at: number): void {
    this.#known = at;
  }

  /** See `JobStore.waitForDue`. */
  async wait(signal: AbortSignal): Promise<void> {
    let known = this.#known;
    for (;;) {
      const enough = new AbortController();
      const over = AbortSignal.any([signal, this.#end.signal]);
      // Listen first, then look: what is told in between counts.
      const told = this.#channel.wait("due", AbortSignal.any([over, enough.signal]), POLL_INTERVAL_MS);
      const earliest = await this.#earliest();
      known ??= earliest;
      if (over.aborted || earliest !== undefined && known !== undefined && earliest < known - ROUNDING_MS) {
        enough.abort();
        await told;
        return;
      }
      await told;
      if (over.aborted) return;
    }
  }

  /** Gives up everything. Waits resolve. */
  close(): void {
    this.#end.abort();
  }

  /** The earliest due time; undefined when Redis is away. */
  async #earliest(): Promise<number | undefined> {
    try {
      const heads = await Promise.all(
        [SETS.retry, SETS.scheduled].map((set) => this.#link.call(["ZRANGE", set, "0", "0", "WITHSCORES"])),
      ) as [string, number][][];
      return Math.min(...heads.map(([head]) => head ? head[1] * 1000 : Infinity));
    } catch {
      return undefined;
    }
  }
}
