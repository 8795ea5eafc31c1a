/**
 * What a process measures of its own jobs, for `/metrics`: a middleware around performing. It counts into a few hundred
 * numbers at most, whatever classes there are.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { readWireTime } from "../job/raw.ts";

/** Seconds; the last one is open. */
export const BOUNDS: readonly number[] = [0.005, 0.025, 0.1, 0.5, 1, 5, 30, 120, 600];
/** Classes beyond the first hundred are counted together. */
const MOST_CLASSES = 100;
const OTHERS = "(other)";

/** Durations, counted by how long they were. */
export class Histogram {
  /** One per bound, and one for what is longer: each by itself, not summed up. */
  readonly counts: number[] = new Array(BOUNDS.length + 1).fill(0);
  /** All of them together, in seconds. */
  sum = 0;

  /** Counts one. */
  add(ms: number): void {
    const seconds = Math.max(0, ms) / 1_000;
    const at = BOUNDS.findIndex((bound) => seconds <= bound);
    this.counts[at < 0 ? BOUNDS.length : at]!++;
    this.sum += seconds;
  }
}

/** What was measured of one class. */
export interface ClassMeasure {
  ok: number;
  failed: number;
  readonly run: Histogram;
  readonly wait: Histogram;
}

/** What a middleware needs to know of a job. */
interface Performed {
  readonly class: string;
  readonly payload: { readonly enqueued_at?: unknown };
}

/** The measures of one process. */
export class Meter {
  readonly #clock: Clock;
  readonly #classes = new Map<string, ClassMeasure>();

  /** Measures by this clock. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** By class. */
  get classes(): ReadonlyMap<string, ClassMeasure> {
    return this.#classes;
  }

  /** The middleware. */
  readonly around = async (job: Performed, next: () => Promise<unknown>): Promise<unknown> => {
    const measure = this.#of(job.class);
    const enqueuedAt = readWireTime(job.payload.enqueued_at);
    if (enqueuedAt !== undefined) measure.wait.add(this.#clock.now() - enqueuedAt);
    const start = this.#clock.monotonic();
    try {
      const result = await next();
      measure.ok++;
      return result;
    } catch (error) {
      measure.failed++;
      throw error;
    } finally {
      measure.run.add(this.#clock.monotonic() - start);
    }
  };

  #of(name: string): ClassMeasure {
    const key = this.#classes.has(name) || this.#classes.size < MOST_CLASSES ? name : OTHERS;
    let measure = this.#classes.get(key);
    if (measure === undefined) {
      measure = { ok: 0, failed: 0, run: new Histogram(), wait: new Histogram() };
      this.#classes.set(key, measure);
    }
    return measure;
  }
}
