/**
 * Stores for tests: each one fresh, gone with the test, its clock in the test's hand.
 *
 * @module
 */
import { type Clock, systemClock } from "../../src/clock.ts";

/** The system's clock, moved: it runs on by itself, as a server's does, and a test moves it further. */
export class ShiftedClock implements Clock {
  #shiftMs = 0;

  now(): number {
    return systemClock.now() + this.#shiftMs;
  }

  monotonic(): number {
    return systemClock.monotonic();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(ms, signal);
  }

  turn(): Promise<void> {
    return systemClock.turn();
  }

  /** Moves `now` forward. Whoever sleeps sleeps on. */
  advance(ms: number): void {
    this.#shiftMs += ms;
  }
}
