/**
 * A schedule at equal distances: `every: 30s`. It is counted from a fixed moment, not from when a process started, so
 * that all hosts agree on the times; and in elapsed time, so that no change of a clock for summer touches it.
 *
 * @module
 */
import type { Schedule } from "./schedule.ts";

/** Every so many milliseconds. */
export class Interval implements Schedule {
  /** The distance in milliseconds. */
  readonly everyMs: number;
  /** One of its times. */
  readonly anchor: number;

  /**
   * @param everyMs the distance in milliseconds, at least 1
   * @param anchor a time to count from, ahead and back; default the epoch, so `1h` is each full hour of UTC
   */
  constructor(everyMs: number, anchor = 0) {
    this.everyMs = everyMs;
    this.anchor = anchor;
  }

  next(after: number): number {
    return this.anchor + (Math.floor((after - this.anchor) / this.everyMs) + 1) * this.everyMs;
  }
}
