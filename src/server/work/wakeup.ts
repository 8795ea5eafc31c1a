/**
 * A bell for a loop at rest: ringing it ends the wait under way, or, if nobody waits, the next one at once, so that no
 * ring is lost between looking and waiting.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

/** A bell that one loop waits for. */
export class Wakeup {
  #rung = false;
  #waiter: (() => void) | undefined;

  /** Ends the wait under way, or the next one. */
  ring(): void {
    if (this.#waiter) this.#waiter();
    else this.#rung = true;
  }

  /** Resolves when rung, when `signal` aborts, or (with a clock) after `ms`. */
  async wait(signal: AbortSignal, clock?: Clock, ms?: number): Promise<void> {
    await this.until(signal, (either) => clock && ms !== undefined ? clock.sleep(ms, either) : whenAborted(either));
  }

  /**
   * Waits for something else, but no longer than until rung or aborted.
   *
   * @param start begins that wait; it must end when the signal it is given aborts
   */
  async until(signal: AbortSignal, start: (either: AbortSignal) => Promise<void>): Promise<void> {
    if (this.#rung || signal.aborted) {
      this.#rung = false;
      return;
    }
    const either = new AbortController();
    const end = () => either.abort();
    this.#waiter = end;
    signal.addEventListener("abort", end, { once: true });
    try {
      await start(either.signal);
    } finally {
      this.#waiter = undefined;
      signal.removeEventListener("abort", end);
    }
  }
}

function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
