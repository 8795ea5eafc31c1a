/**
 * Parting from the store: at a stop several parts have something left to say to it, one after the other. A store that
 * is gone must not be waited for by each of them anew, so all share one bound. What is not said by then is left to the
 * rescuer of another process, which finds the leases when this process's heartbeat has lapsed.
 *
 * @module
 */
import type { Clock } from "../clock.ts";

/** In all, beside what the running jobs take. */
export const SHUTDOWN_BUDGET_MS = 5_000;
/** Outcomes leave a fifth of it to `deregister`, which gives their jobs back if they cannot be stored. */
export const OUTCOMES_SHARE = 0.8;

/** Waits for what needs the store, and no longer than the bound in all. */
export class ShutdownBudget {
  readonly #clock: Clock;
  readonly #maxMs: number;
  #leftMs: number;

  /**
   * Nothing is waited for yet.
   *
   * @param clock measures the waiting
   * @param mostMs the bound; default {@linkcode SHUTDOWN_BUDGET_MS}
   */
  constructor(clock: Clock, mostMs = SHUTDOWN_BUDGET_MS) {
    this.#clock = clock;
    this.#maxMs = this.#leftMs = mostMs;
  }

  /**
   * Waits until something is stored.
   *
   * @param said what is being stored
   * @param share how much of the whole bound may be used up afterwards, from 0 to 1; the rest is left for later steps
   * @returns false if it failed or took too long; it is then no longer waited for
   */
  async within(said: Promise<unknown>, share = 1): Promise<boolean> {
    const since = this.#clock.monotonic();
    const over = new AbortController();
    const forMs = this.#leftMs - (1 - share) * this.#maxMs;
    // An answer that has arrived counts even when no time is left.
    const late = this.#clock.sleep(Math.max(1, forMs), over.signal).then(() => false);
    const inTime = await Promise.race([said.then(() => true, () => false), late]);
    over.abort();
    this.#leftMs -= this.#clock.monotonic() - since;
    return inTime;
  }
}
