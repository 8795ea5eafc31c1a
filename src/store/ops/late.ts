/**
 * When a running job is late: compared with how long the jobs of its class usually run. Pure.
 *
 * @module
 */
import { quantile } from "../port/metrics.ts";

/** Successful attempts from which a usual duration is known. */
const MIN_SAMPLES = 20;
/** A job is late after this many times the usual duration of its class, and not before {@linkcode MIN_LATE_MS}. */
export const LATE_FACTOR = 10;
/** No job is late before this time. */
export const MIN_LATE_MS = 10_000;

/** Returns the duration within which 99 % of successful attempts end; undefined if there are too few to know. */
export function usualMs(histogram: readonly number[]): number | undefined {
  const successes = histogram.reduce((sum, count) => sum + count, 0);
  return successes < MIN_SAMPLES ? undefined : quantile(histogram, 0.99);
}

/** Returns whether a job of this age is late. Without a usual duration that isn't known, and none is. */
export function isLate(ageMs: number, usual: number | undefined): boolean {
  return usual !== undefined && ageMs >= Math.max(MIN_LATE_MS, LATE_FACTOR * usual);
}
