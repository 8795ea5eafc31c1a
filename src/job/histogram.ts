/**
 * Histograms: durations, counted by how long they were.
 *
 * @module
 */

/** Bounds for how long jobs run and wait, in seconds. */
export const JOB_BOUNDS: readonly number[] = [0.005, 0.025, 0.1, 0.5, 1, 5, 30, 120, 600];

/** What was counted. */
export interface Durations {
  /** Seconds, ascending; each belongs to what it bounds. */
  readonly bounds: readonly number[];
  /** One per bound, and one for what is longer: each by itself, not summed up. */
  readonly counts: readonly number[];
  /** All of them together, in seconds. */
  readonly sum: number;
}

/** Counts durations. */
export class Histogram implements Durations {
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum = 0;

  /** @param bounds seconds, ascending */
  constructor(bounds: readonly number[] = JOB_BOUNDS) {
    this.bounds = bounds;
    this.counts = new Array(bounds.length + 1).fill(0);
  }

  /** Counts one; less than nothing, as clocks that differ make it, is nothing. */
  add(ms: number): void {
    const seconds = Math.max(0, ms) / 1_000;
    let at = 0;
    while (at < this.bounds.length && seconds > this.bounds[at]!) at++;
    this.counts[at]!++;
    this.sum += seconds;
  }
}
