/**
 * Estimates from alternated measurements, with their intervals.
 *
 * @module
 */
import { spreadOf } from "../measure.ts";

/** An estimate and the interval that has the true value in 99 of 100 cases. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Other programs only add to a cost: of 100 steps, the tenth is hardly disturbed, and the first may have been measured wrongly. */
const UNDISTURBED = 0.1;
/** The normal distribution has 99 of 100 values within this many standard deviations. */
const Z = 2.576;

/** Returns the cost of an undisturbed step. */
export function undisturbed(costs: readonly number[]): number {
  return costs.toSorted((a, b) => a - b)[Math.floor(UNDISTURBED * costs.length)]!;
}

/**
 * Returns the mean of the rounds' ratios and Student's interval. The two processes of a round differ by what their compilers did, so
 * that only new rounds narrow it.
 */
export function estimate(ratios: readonly number[]): Estimate {
  const count = ratios.length;
  const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / count;
  if (count === 1) return { value: mean, low: 0, high: Infinity };
  const variance = ratios.reduce((sum, ratio) => sum + (ratio - mean) ** 2, 0) / (count - 1);
  const freedom = count - 1;
  // The expansion of Student's quantile by the inverse of the degrees of freedom.
  const t = Z + (Z ** 3 + Z) / (4 * freedom) + (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / (96 * freedom ** 2);
  const half = t * Math.sqrt(variance / count);
  return { value: mean, low: mean - half, high: mean + half };
}

/** Returns the ratio of the medians of counts, which hardly vary, and the ratios of their extremes. */
export function compareCounts(before: readonly number[], after: readonly number[]): Estimate {
  const [one, other] = [spreadOf(before), spreadOf(after)];
  return { value: other.median / one.median, low: other.min / one.max, high: other.max / one.min };
}

/** Formats an estimate: `1.043 (1.031–1.055)`. */
export function formatEstimate({ value, low, high }: Estimate): string {
  return `${value.toFixed(3)} (${low.toFixed(3)}–${high.toFixed(3)})`;
}
