/**
 * Now, and sleep: the only file that reads the time or sets a timer, so that tests can hold both still.
 *
 * @module
 */
import { setImmediate } from "node:timers";

/** What tells the time. */
export interface Clock {
  /** Epoch milliseconds. It may jump when the system's clock is set. */
  now(): number;
  /** Milliseconds since some fixed moment. It never jumps: for durations. */
  monotonic(): number;
  /** Resolves after `ms`, or as soon as `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Resolves in the next turn of the event loop: after everything that is ready now has run. */
  turn(): Promise<void>;
}

/** `setTimeout` takes at most this; a longer sleep is made of several. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The system's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  turn: () => new Promise((resolve) => setImmediate(resolve)),
  sleep(ms, signal) {
    if (signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = performance.now() + ms;
      let timer: ReturnType<typeof setTimeout>;
      const wake = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const arm = () => {
        const left = end - performance.now();
        if (left <= 0) return wake();
        timer = setTimeout(arm, Math.min(left, MAX_TIMER_MS));
      };
      signal?.addEventListener("abort", wake, { once: true });
      arm();
    });
  },
};

/**
 * Calls `act` every `ms`, by the system's clock, until the function returned is called. Half the cost of sleeping in a
 * loop, which counts where it goes on all day.
 */
export function every(ms: number, act: () => void): () => void {
  const timer = setInterval(act, ms);
  return () => clearInterval(timer);
}
