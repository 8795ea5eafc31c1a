/**
 * Statistics of each class over a window, from the metrics that workers record of all attempts.
 *
 * @module
 */
import { type ClassMetricsSeries, type MetricsWindow, quantile, WINDOWS } from "../../store/port/metrics.ts";

/** One class. Durations are in milliseconds, of successful attempts. */
export interface ClassMeasures extends ClassMetricsSeries {
  /** Absent if all attempts failed. */
  readonly meanMs?: number;
  /** Estimated from the histogram's buckets; absent if it is empty. */
  readonly p50Ms?: number;
  readonly p95Ms?: number;
  readonly p99Ms?: number;
}

/** The classes with attempts in a window. */
export interface MeasuredClasses {
  readonly window: MetricsWindow;
  readonly classes: readonly ClassMeasures[];
  /** How many classes were left out. */
  readonly more: number;
}

const MAX_CLASSES = 200;

/** Returns the window that a request names; default the last hour. */
export function windowOf(text: string | undefined): MetricsWindow {
  return text !== undefined && Object.hasOwn(WINDOWS, text) ? text as MetricsWindow : "1h";
}

/** Adds the mean and the percentiles to each class. */
export function measuredClasses(window: MetricsWindow, measured: readonly ClassMetricsSeries[]): MeasuredClasses {
  const classes = measured.slice(0, MAX_CLASSES).map((one): ClassMeasures => {
    const timed = one.processed - one.failed;
    const estimate = (share: number) => estimated(one.histogram, share, one.workedMs);
    const quantiles = { p50Ms: estimate(0.5), p95Ms: estimate(0.95) };
    return {
      ...one,
      ...(timed > 0 && { meanMs: one.workedMs / timed }),
      ...(quantiles.p50Ms !== undefined && { ...quantiles, p99Ms: estimate(0.99) }),
    } as ClassMeasures;
  });
  return { window, classes, more: measured.length - classes.length };
}

/**
 * Returns a quantile that is consistent with the sum. If all durations are in one bucket, their mean is the best estimate.
 * No duration exceeds the sum.
 */
function estimated(histogram: readonly number[], share: number, sumMs: number): number | undefined {
  const found = quantile(histogram, share);
  if (found === undefined) return undefined;
  const counts = histogram.filter((count) => count > 0);
  return counts.length === 1 ? sumMs / counts[0]! : Math.min(found, sumMs);
}
