/**
 * A clock that stands still until a test moves it.
 *
 * @module
 */
import { type Clock, systemClock } from "../../src/clock.ts";

interface Sleeper {
  /** On the monotonic clock. */
  readonly end: number;
  readonly wake: () => void;
}

/** Time as a test tells it, in whole milliseconds. */
export class FakeClock implements Clock {
  #now: number;
  #monotonic = 0;
  readonly #sleepers = new Set<Sleeper>();
  #watchers: (() => void)[] = [];

  /** @param now epoch milliseconds to begin at */
  constructor(now: number = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  turn(): Promise<void> {
    return systemClock.turn();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted || ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const sleeper = { end: this.#monotonic + Math.ceil(ms), wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", wake, { once: true });
      for (const look of this.#watchers) look();
    });
  }

  /** Milliseconds that each sleeper has left, shortest first. */
  get sleeping(): number[] {
    return [...this.#sleepers].map(({ end }) => end - this.#monotonic).sort((a, b) => a - b);
  }

  /** Resolves when so many sleep. */
  untilSleeping(count = 1): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (this.#sleepers.size < count) return;
        this.#watchers = this.#watchers.filter((watcher) => watcher !== look);
        resolve();
      };
      this.#watchers.push(look);
      look();
    });
  }

  /** Lets time pass. Sleepers wake in order, each with time to act, and to sleep again, before the next. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    for (;;) {
      const next = [...this.#sleepers].filter((one) => one.end <= end).sort((a, b) => a.end - b.end)[0];
      if (next === undefined) break;
      this.#pass(next.end - this.#monotonic);
      next.wake();
      await this.turn();
    }
    this.#pass(end - this.#monotonic);
    await this.turn();
  }

  /** Sets the system's clock, as an administrator would: `monotonic` and sleepers do not notice. */
  set(now: number): void {
    this.#now = now;
  }

  #pass(ms: number): void {
    this.#now += ms;
    this.#monotonic += ms;
  }
}
