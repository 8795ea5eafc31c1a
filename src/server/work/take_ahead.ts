/**
 * How many jobs to take ahead of need: those that the processors finish within 20 ms at the present rate. Thousands of quick
 * jobs a second come in large batches, while behind a slow job nothing waits that another worker could do.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

/** Jobs that are finished within this time, at the present rate, are taken ahead. */
const AHEAD_MS = 20;
/** Whatever the rate. */
const MAX_AHEAD = 1_000;
/** The rate is measured over this time at least: two jobs that end together are no burst. */
const MIN_MEASURED_MS = 2;

/** Measures the rate. */
export class TakeAhead {
  readonly #clock: Clock;
  /** Jobs that were finished since then. */
  #finished = 0;
  #since: number;
  #jobs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** How many jobs to take ahead. */
  get jobs(): number {
    return this.#jobs;
  }

  /** Notes that a processor has finished a job. */
  finished(): void {
    this.#finished++;
  }

  /** Measures the rate since the last call. */
  measure(): void {
    const now = this.#clock.monotonic();
    const elapsed = now - this.#since;
    if (elapsed < MIN_MEASURED_MS) return;
    this.#jobs = Math.min(MAX_AHEAD, Math.floor(this.#finished / elapsed * AHEAD_MS));
    this.#finished = 0;
    this.#since = now;
  }

  /** Takes nothing ahead until the next measurement: the jobs have turned slow. */
  stop(): void {
    this.#jobs = 0;
  }
}
