/**
 * Metrics of classes (`series.ts`): how many jobs of each class were performed, how many of them failed, and how long they
 * ran. Metrics are sums, so that classes without records have them, too.
 *
 * They are those of Sidekiq's Metrics page, with the same bounds: by the minute for 8 hours, by ten minutes for 72 hours. No
 * job depends on them: a worker that dies loses those of its last minute.
 *
 * @module
 */

/** Upper bounds of the histogram's buckets in milliseconds, as Sidekiq has them. One more bucket is above them. */
export const RUN_BOUNDS_MS: readonly number[] = [
  ...[20, 30, 45, 65, 100, 150, 225, 335, 500, 750, 1_100, 1_700, 2_500, 3_800, 5_750, 8_500],
  ...[13_000, 20_000, 30_000, 45_000, 65_000, 100_000, 150_000, 225_000, 335_000],
];

const MINUTE_MS = 60_000;
/** Steps of a minute. */
export const FINE: Steps = { stepMs: MINUTE_MS, keptMs: 8 * 60 * MINUTE_MS };
/** Steps that are kept for longer. */
export const COARSE: Steps = { stepMs: 10 * MINUTE_MS, keptMs: 72 * 60 * MINUTE_MS };

/** Length and retention of time steps. */
export interface Steps {
  /** The length of a step. */
  readonly stepMs: number;
  /** How long a step is kept. */
  readonly keptMs: number;
}

/** Windows of time, and their steps. The last step is the current one. */
export const WINDOWS = {
  "1h": { ...FINE, steps: 60 },
  "8h": { ...COARSE, steps: 48 },
  "24h": { ...COARSE, steps: 144 },
  "72h": { ...COARSE, steps: 432 },
} as const;

/** The name of a window. */
export type MetricsWindow = keyof typeof WINDOWS;

/** Sums over jobs of one class. */
export interface ClassMetrics {
  /** The class. */
  readonly class: string;
  /** Performed attempts, including failed ones. */
  readonly processed: number;
  /** Failed attempts. */
  readonly failed: number;
  /** Total run time of attempts that did not fail, in whole milliseconds: failures may end at any moment. */
  readonly workedMs: number;
  /** Histogram of their run times: one bucket per bound of {@linkcode RUN_BOUNDS_MS}, and one for longer times. */
  readonly histogram: readonly number[];
}

/** The metrics of one class over a window. */
export interface ClassMetricsSeries extends ClassMetrics {
  /** Performed attempts in each step, the earliest first. */
  readonly series: readonly number[];
  /** Failed attempts in each step. */
  readonly failedSeries: readonly number[];
}

/** Returns the bucket of a run time: that of the first greater bound. */
export function runBucket(ms: number): number {
  const at = RUN_BOUNDS_MS.findIndex((bound) => ms < bound);
  return at < 0 ? RUN_BOUNDS_MS.length : at;
}

/** Returns the duration that `share` of the attempts stayed below; at most the last bound. Undefined if empty. */
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

/** Returns the beginnings of a window's steps, the earliest first. */
export function stepsOf(window: MetricsWindow, now: number): number[] {
  const { stepMs, steps } = WINDOWS[window];
  const last = Math.floor(now / stepMs) * stepMs;
  return Array.from({ length: steps }, (_, i) => last - (steps - 1 - i) * stepMs);
}

/** Adds up metrics of classes, step by step. */
export class MeasuredSums {
  readonly #steps: number;
  readonly #classes = new Map<string, {
    class: string;
    processed: number;
    failed: number;
    workedMs: number;
    histogram: number[];
    series: number[];
    failedSeries: number[];
  }>();

  /**
   * Creates sums of 0.
   *
   * @param steps number of steps of the window
   */
  constructor(steps: number) {
    this.#steps = steps;
  }

  /** Returns the sums of a class, which start at 0. */
  of(name: string): {
    processed: number;
    failed: number;
    workedMs: number;
    readonly histogram: number[];
    readonly series: number[];
    readonly failedSeries: number[];
  } {
    let sums = this.#classes.get(name);
    if (sums === undefined) {
      const histogram = new Array(RUN_BOUNDS_MS.length + 1).fill(0);
      const [series, failedSeries] = [new Array(this.#steps).fill(0), new Array(this.#steps).fill(0)];
      this.#classes.set(
        name,
        sums = { class: name, processed: 0, failed: 0, workedMs: 0, histogram, series, failedSeries },
      );
    }
    return sums;
  }

  /** Returns the sums, the class with the most jobs first. */
  list(): ClassMetricsSeries[] {
    return [...this.#classes.values()].sort((a, b) => b.processed - a.processed || (a.class < b.class ? -1 : 1));
  }
}
