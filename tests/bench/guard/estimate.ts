/**
 * Estimates from alternated measurements: the median of their ratios, and its interval.
 *
 * @module
 */
import { spreadOf } from "../measure.ts";

/** An estimate and the interval that has the true value in 99 of 100 cases. */
export interface Estimate {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

const RESAMPLES = 1_000;

/**
 * Returns the median of ratios and its interval, by bootstrap. The ratios of one round have the same two processes, which differ by
 * what their compilers did: whole rounds are drawn first, then ratios of each.
 *
 * @param rounds the ratios of each round; at least one
 */
export function estimate(rounds: readonly (readonly number[])[]): Estimate {
  let state = 1;
  // A generator of Park and Miller: the same ratios always have the same interval.
  const random = () => (state = state * 48_271 % 2_147_483_647) / 2_147_483_647;
  const draw = <Item>(items: readonly Item[]): Item[] => items.map(() => items[Math.floor(random() * items.length)]!);
  const medians = Array.from({ length: RESAMPLES }, () => spreadOf(draw(rounds).flatMap(draw)).median)
    .sort((a, b) => a - b);
  const at = (share: number) => medians[Math.floor(share * (RESAMPLES - 1))]!;
  return { median: spreadOf(rounds.flat()).median, low: at(0.005), high: at(0.995) };
}

/** Returns the same of counts, which hardly vary: the ratio of the medians, and the ratios of the extremes. */
export function compareCounts(before: readonly number[], after: readonly number[]): Estimate {
  const [one, other] = [spreadOf(before), spreadOf(after)];
  return { median: other.median / one.median, low: other.min / one.max, high: other.max / one.min };
}

/** Formats an estimate: `1.043 (1.031–1.055)`. */
export function formatEstimate({ median, low, high }: Estimate): string {
  return `${median.toFixed(3)} (${low.toFixed(3)}–${high.toFixed(3)})`;
}
