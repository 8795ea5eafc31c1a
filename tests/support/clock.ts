/**
 * A clock that advances only when a test moves it.
 *
 * @module
 */
import { type Clock, systemClock } from "../../src/clock.ts";

interface Sleeper {
  /** In milliseconds of the monotonic clock. */
  readonly end: number;
  readonly wake: () => void;
}

/** A clock that a test moves, in whole milliseconds. */
export class FakeClock implements Clock {
  #now: number;
  #monotonic = 0;
  readonly #sleepers = new Set<Sleeper>();
  #watchers: (() => void)[] = [];

  /** @param now the initial time, in epoch milliseconds */
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

  /** Returns the remaining milliseconds of each sleeper, shortest first. */
  get sleeping(): number[] {
    return [...this.#sleepers].map(({ end }) => end - this.#monotonic).sort((a, b) => a - b);
  }

  /** Resolves when this many sleepers wait. */
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

  /** Advances the clock. Sleepers wake in order, and each can act and sleep again before the next one wakes. */
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

  /** Sets the system clock, as an administrator would, without an effect on `monotonic` and sleepers. */
  set(now: number): void {
    this.#now = now;
  }

  #pass(ms: number): void {
    this.#now += ms;
    this.#monotonic += ms;
  }
}
