/**
 * The poller: moves jobs whose time has come from `scheduled` and `retry` to their queues, in one step of the store, so
 * that a job is promoted once however many pollers there are. It sleeps until the next one is due, or until an earlier
 * one may have come in.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import type { PromoteResult } from "../../store/port/jobs.ts";
import type { LoopBody } from "../component.ts";
import type { ServerStore } from "../../store/port/store.ts";

/** It looks again after so long at most: a clock that was set, or a machine that slept, must not make jobs late. */
const MAX_SLEEP_MS = 15_000;
/** At most so many in one step of the store: it must stay short. */
const BATCH = 1_000;

/** Its loop's task is `poller`. */
export class Poller implements LoopBody<PromoteResult> {
  readonly name = "poller";
  readonly #store: ServerStore;
  readonly #clock: Clock;
  readonly #log: Log;

  constructor(options: { store: ServerStore; clock: Clock; log: Log }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Moves what is due now, a batch at most. */
  async step(): Promise<PromoteResult> {
    const result = await this.#store.jobs.promote(BATCH);
    if (result.moved > 0) this.#log.debug("Promoted", { count: result.moved });
    if (result.buried > 0) this.#log.error("Unreadable jobs moved to dead", { count: result.buried });
    return result;
  }

  /** Waits until the next one is due. */
  async rest({ nextInMs }: PromoteResult, signal: AbortSignal): Promise<void> {
    if (nextInMs === 0) return;
    const either = new AbortController();
    const end = () => either.abort();
    signal.addEventListener("abort", end, { once: true });
    const waits = [this.#store.jobs.waitForDue(either.signal)];
    if (nextInMs !== undefined) waits.push(this.#clock.sleep(Math.min(nextInMs, MAX_SLEEP_MS), either.signal));
    await Promise.race(waits);
    either.abort();
    signal.removeEventListener("abort", end);
    await Promise.all(waits);
  }
}
