/**
 * The poller: moves due jobs from `scheduled` and `retry` to their queues. One step of the store moves them, so that a job is
 * moved once, however many pollers there are. It sleeps until the next job is due, or an earlier one may have been added.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import type { PromoteResult } from "../../store/port/jobs.ts";
import type { ServerStore } from "../../store/port/store.ts";
import type { LoopBody } from "../component.ts";

/** Maximum sleep: a clock that was set, or a machine that slept, must not delay jobs for longer. */
const MAX_SLEEP_MS = 15_000;
/** Maximum number of jobs in one step of the store. */
const CHUNK = 1_000;

export interface PollerOptions {
  readonly store: ServerStore;
  readonly clock: Clock;
  readonly log: Log;
}

export class Poller implements LoopBody<PromoteResult> {
  readonly name = "poller";
  readonly #options: PollerOptions;

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  /** Moves at most one chunk of due jobs. */
  async step(): Promise<PromoteResult> {
    const { store, log } = this.#options;
    const result = await store.jobs.promote(CHUNK);
    if (result.moved > 0) log.debug("Promoted", { count: result.moved });
    if (result.buried > 0) log.error("Moved unreadable jobs to dead", { count: result.buried });
    return result;
  }

  async rest({ nextInMs }: PromoteResult, signal: AbortSignal): Promise<void> {
    if (nextInMs === 0) return;
    const { store, clock } = this.#options;
    const either = new AbortController();
    const end = () => either.abort();
    signal.addEventListener("abort", end, { once: true });
    const waits: Promise<unknown>[] = [store.watch("due", either.signal)];
    if (nextInMs !== undefined) waits.push(clock.sleep(Math.min(nextInMs, MAX_SLEEP_MS), either.signal));
    await Promise.race(waits);
    either.abort();
    signal.removeEventListener("abort", end);
    await Promise.all(waits);
  }
}
