/**
 * Parting from the store: at a stop several parts have something left to say to it, one after the other. A store that
 * is gone must not be waited for by each of them anew, so all share one bound. What is not said by then is left to the
 * rescuer of another process, which finds the leases when this process's heartbeat has lapsed.
 *
 * @module
 */
import type { Clock } from "../clock.ts";

/** In all, beside what the running jobs take. */
export const PARTING_MS = 5_000;

/** Waits for what needs the store, and no longer than the bound in all. */
export class Parting {
  readonly #clock: Clock;
  #leftMs: number;
  #failed = false;

  /**
   * Nothing is waited for yet.
   *
   * @param clock measures the waiting
   * @param mostMs the bound; default {@linkcode PARTING_MS}
   */
  constructor(clock: Clock, mostMs = PARTING_MS) {
    this.#clock = clock;
    this.#leftMs = mostMs;
  }

  /** Whether something could not be said, in time or at all. */
  get failed(): boolean {
    return this.#failed;
  }

  /** Waits for it. False when it fails, or is not there in time; it is then no longer waited for. */
  async within(said: Promise<unknown>): Promise<boolean> {
    const since = this.#clock.monotonic();
    const over = new AbortController();
    // Whatever is left, an answer that is there already counts.
    const late = this.#clock.sleep(Math.max(1, this.#leftMs), over.signal).then(() => false);
    const inTime = await Promise.race([said.then(() => true, () => false), late]);
    over.abort();
    this.#leftMs -= this.#clock.monotonic() - since;
    if (!inTime) this.#failed = true;
    return inTime;
  }
}
