/**
 * Histograms of durations.
 *
 * @module
 */

/** Bounds for the run times and wait times of jobs, in seconds. */
const JOB_BOUNDS: readonly number[] = [0.005, 0.025, 0.1, 0.5, 1, 5, 30, 120, 600];

export interface Durations {
  /** Upper bounds in seconds, inclusive, ascending. */
  readonly bounds: readonly number[];
  /** The count of each bound, not cumulative, and the count of longer durations at the end. */
  readonly counts: readonly number[];
  /** The sum of all durations, in seconds. */
  readonly sum: number;
}

export class Histogram implements Durations {
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum = 0;

  /** @param bounds seconds, ascending */
  constructor(bounds: readonly number[] = JOB_BOUNDS) {
    this.bounds = bounds;
    this.counts = new Array(bounds.length + 1).fill(0);
  }

  /** Counts a duration. A negative one, which clocks that differ produce, counts as 0. */
  add(ms: number): void {
    const seconds = Math.max(0, ms) / 1_000;
    let at = 0;
    while (at < this.bounds.length && seconds > this.bounds[at]!) at++;
    this.counts[at]!++;
    this.sum += seconds;
  }
}
