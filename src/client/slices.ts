/**
 * Long work, split so that it doesn't block the event loop.
 *
 * @module
 */
import type { Clock } from "../clock.ts";

/** Longer work yields to the event loop. */
const SLICE_MS = 8;

/** Splits long work into turns of the event loop. */
export class Slices {
  readonly #clock: Clock;
  #began: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#began = clock.monotonic();
  }

  /** Returns whether the current turn has worked for long enough. */
  isOver(): boolean {
    return this.#clock.monotonic() - this.#began > SLICE_MS;
  }

  /** Begins the next turn. */
  async next(): Promise<void> {
    await this.#clock.turn();
    this.#began = this.#clock.monotonic();
  }
}
