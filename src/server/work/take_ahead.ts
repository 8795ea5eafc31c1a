/**
 * Decides how many jobs to take ahead: as many as the processors finish in 20 ms at the current rate. Thousands of short jobs/s
 * are taken in large chunks, and no job waits behind a long one while another worker could perform it.
 *
 * The rate is measured over at least the time that a job takes. Processors that start together often end together: within that
 * moment they finish many jobs, and then none for as long as a job takes.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { MAX_MIN_TURN } from "../../store/port/jobs.ts";

/** Jobs that are finished within this time, at the current rate, are taken ahead. */
const AHEAD_MS = 20;
/** The maximum, at any rate. */
const MAX_AHEAD = 1_000;
/** The jobs taken ahead have at most this many turns of groups: a turn has the jobs of at least 1 ms. */
const TURNS_AHEAD = 20;
/** The rate is measured over at least this time, however short the jobs are. */
const MIN_MEASURED_MS = 2;

export class TakeAhead {
  readonly #clock: Clock;
  /** The number of jobs finished since `#since`. */
  #finished = 0;
  /** The time that these jobs took. */
  #ranMs = 0;
  #since: number;
  #jobs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  get jobs(): number {
    return this.#jobs;
  }

  /** The number of jobs that a group gets at least in its turn. */
  get minTurn(): number {
    return Math.min(MAX_MIN_TURN, Math.max(1, Math.floor(this.#jobs / TURNS_AHEAD)));
  }

  /** Records that a processor has finished a job that took this time. */
  finished(ranMs: number): void {
    this.#finished++;
    this.#ranMs += ranMs;
  }

  /** Measures the rate since the last call. */
  measure(): void {
    const now = this.#clock.monotonic();
    const elapsed = now - this.#since;
    if (elapsed < MIN_MEASURED_MS || elapsed * this.#finished < this.#ranMs) return;
    this.#jobs = Math.min(MAX_AHEAD, Math.floor(this.#finished / elapsed * AHEAD_MS));
    this.#finished = 0;
    this.#ranMs = 0;
    this.#since = now;
  }

  /** Takes nothing ahead until the next measurement, because jobs have become slow. */
  stop(): void {
    this.#jobs = 0;
  }
}
