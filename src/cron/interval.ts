/**
 * A schedule with a fixed interval: `every: 30s`. It counts from a fixed moment and not from the start of a worker, so
 * that all hosts agree on the times. It counts elapsed time, so daylight saving doesn't affect it.
 *
 * @module
 */
import type { Schedule } from "./schedule.ts";

/** A schedule with a fixed interval. */
export class Interval implements Schedule {
  /** The interval in milliseconds. */
  readonly everyMs: number;
  /** One of the times. */
  readonly anchor: number;

  /**
   * @param everyMs the interval in milliseconds, at least 1
   * @param anchor one of the times. Default: the epoch, so that `1h` is each full hour of UTC
   */
  constructor(everyMs: number, anchor = 0) {
    this.everyMs = everyMs;
    this.anchor = anchor;
  }

  next(after: number): number {
    return this.anchor + (Math.floor((after - this.anchor) / this.everyMs) + 1) * this.everyMs;
  }
}
