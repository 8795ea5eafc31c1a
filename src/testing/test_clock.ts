/**
 * A clock that advances only when a test moves it.
 *
 * @module
 */
import { type Clock, systemClock } from "../clock.ts";

/** A clock that a test moves. */
export class TestClock implements Clock {
  #now: number;
  #passed = 0;
  readonly #sleepers = new Set<{ readonly until: number; readonly wake: () => void }>();

  /** @param now epoch milliseconds */
  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#passed;
  }

  turn(): Promise<void> {
    return systemClock.turn();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const sleeper = {
        until: this.#passed + ms,
        wake: () => {
          this.#sleepers.delete(sleeper);
          signal?.removeEventListener("abort", sleeper.wake);
          resolve();
        },
      };
      signal?.addEventListener("abort", sleeper.wake, { once: true });
      this.#sleepers.add(sleeper);
    });
  }

  /** Advances the clock. */
  pass(ms: number): void {
    this.#now += ms;
    this.#passed += ms;
    for (const sleeper of this.#sleepers) if (sleeper.until <= this.#passed) sleeper.wake();
  }
}
