/**
 * How each class has fared over a window, from what was measured of all its jobs, whether they left records or not.
 *
 * @module
 */
import { type ClassMetricsSeries, type MetricsWindow, RUN_BOUNDS_MS, WINDOWS } from "../../store/port/metrics.ts";

/** One class; times in milliseconds, of the jobs that did not fail. */
export interface ClassMeasures extends ClassMetricsSeries {
  /** Absent when all failed. */
  readonly meanMs?: number;
  /** Estimated within the bounds of the histogram; absent when it is empty. */
  readonly p50Ms?: number;
  readonly p95Ms?: number;
  readonly p99Ms?: number;
}

/** The classes that had jobs, and how many of them there are beyond those named. */
export interface MeasuredClasses {
  readonly window: MetricsWindow;
  readonly classes: readonly ClassMeasures[];
  readonly more: number;
}

/** So many classes are shown. */
const MAX_CLASSES = 200;

/** The window that a request names; default the last hour. */
export function windowOf(text: string | undefined): MetricsWindow {
  return text !== undefined && Object.hasOwn(WINDOWS, text) ? text as MetricsWindow : "1h";
}

/** Adds to each class what follows from its sums. */
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

/** A quantile that does not contradict the sum: of times counted together the mean is the best guess, none is above the sum. */
function estimated(histogram: readonly number[], share: number, sumMs: number): number | undefined {
  const found = quantile(histogram, share);
  if (found === undefined) return undefined;
  const counts = histogram.filter((count) => count > 0);
  return counts.length === 1 ? sumMs / counts[0]! : Math.min(found, sumMs);
}

/** The run time that so great a share stayed below; beyond the last bound, that bound. Undefined of nothing. */
export function quantile(histogram: readonly number[], share: number): number | undefined {
  const total = histogram.reduce((sum, count) => sum + count, 0);
  let rank = total * share;
  for (const [i, count] of histogram.entries()) {
    const lower = RUN_BOUNDS_MS[i - 1] ?? 0;
    if (count > 0 && rank <= count) return lower + ((RUN_BOUNDS_MS[i] ?? lower) - lower) * rank / count;
    rank -= count;
  }
  return total === 0 ? undefined : RUN_BOUNDS_MS.at(-1);
}
