/**
 * Wakes up a waiting loop. A call ends the current wait or, if the loop isn't waiting, the next wait. No call is lost between a
 * loop's step and its wait.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

export class Wakeup {
  #rung = false;
  #waiter: (() => unknown) | undefined;

  /** Ends the current wait, or the next one. */
  ring(): void {
    if (this.#waiter) this.#waiter();
    else this.#rung = true;
  }

  /** Resolves when rung, when `signal` aborts, or (with a clock) after `ms`. */
  async wait(signal: AbortSignal, clock?: Clock, ms?: number): Promise<void> {
    await this.until(signal, (either) => clock && ms !== undefined ? clock.sleep(ms, either) : whenAborted(either));
  }

  /**
   * Waits for another event, until rung or aborted.
   *
   * @param start begins that wait, which must end when its signal aborts
   */
  async until(signal: AbortSignal, start: (either: AbortSignal) => Promise<unknown>): Promise<void> {
    if (this.#rung || signal.aborted) {
      this.#rung = false;
      return;
    }
    const either = new AbortController();
    // With a reason, and once: each call without one makes an exception with a stack, which takes as long as a small job.
    const end = () => either.signal.aborted || either.abort("rung");
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
