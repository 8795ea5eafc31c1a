/**
 * Measures: how many jobs of each class were performed when, how many of them failed, and how long they ran. Sums, never
 * single jobs: a class that leaves no records has them too.
 *
 * They are what Sidekiq's Metrics page shows, bound by bound: kept by the minute for 8 hours, by ten minutes for 72.
 * Numbers for people: a process that dies takes those of its last minute with it, and nothing depends on them.
 *
 * @module
 */

/** Upper bounds of the run times that are counted together, in milliseconds, as Sidekiq has them; above is one more. */
export const RUN_BOUNDS_MS: readonly number[] = [
  ...[20, 30, 45, 65, 100, 150, 225, 335, 500, 750, 1_100, 1_700, 2_500, 3_800, 5_750, 8_500],
  ...[13_000, 20_000, 30_000, 45_000, 65_000, 100_000, 150_000, 225_000, 335_000],
];

const MINUTE_MS = 60_000;
/** What is kept by the minute. */
export const FINE: Steps = { stepMs: MINUTE_MS, keptMs: 8 * 60 * MINUTE_MS };
/** What is kept for longer. */
export const COARSE: Steps = { stepMs: 10 * MINUTE_MS, keptMs: 72 * 60 * MINUTE_MS };

/** How finely measures are kept, and for how long. */
export interface Steps {
  /** The length of a step. */
  readonly stepMs: number;
  /** For so long a step is kept. */
  readonly keptMs: number;
}

/** How far back to look, and in what steps; the last step is the one under way. */
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
  /** Performed, failed ones too; each try counts. */
  readonly processed: number;
  /** Those that failed; each try counts. */
  readonly failed: number;
  /** Time of those that did not fail, in whole milliseconds: failures end at any moment and say nothing. */
  readonly workedMs: number;
  /** How many of those ran how long: one per bound of {@linkcode RUN_BOUNDS_MS}, and one for what ran longer. */
  readonly histogram: readonly number[];
}

/** What was measured of one class over a window. */
export interface ClassMetricsSeries extends ClassMetrics {
  /** How many were performed in each step, the earliest first. */
  readonly series: readonly number[];
  /** How many of these failed in each step. */
  readonly failedSeries: readonly number[];
}

/** Keeps sums of what was performed. */
export interface MetricsStore {
  /** Adds to the sums of the current minute. */
  record(measurements: readonly ClassMetrics[]): Promise<void>;

  /** Returns the sums over a window, the class with the most jobs first. */
  read(window: MetricsWindow): Promise<ClassMetricsSeries[]>;
}

/** Where a run time is counted: at the first bound that is greater. */
export function runBucket(ms: number): number {
  const at = RUN_BOUNDS_MS.findIndex((bound) => ms < bound);
  return at < 0 ? RUN_BOUNDS_MS.length : at;
}

/** The beginnings of a window's steps, the earliest first. */
export function stepsOf(window: MetricsWindow, now: number): number[] {
  const { stepMs, steps } = WINDOWS[window];
  const last = Math.floor(now / stepMs) * stepMs;
  return Array.from({ length: steps }, (_, i) => last - (steps - 1 - i) * stepMs);
}

/** Adds up what was measured of classes, step by step. */
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
   * Nothing yet.
   *
   * @param steps how many there are
   */
  constructor(steps: number) {
    this.#steps = steps;
  }

  /** The sums of a class; begun at nothing. */
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

  /** All, the class with the most jobs first. */
  list(): ClassMetricsSeries[] {
    return [...this.#classes.values()].sort((a, b) => b.processed - a.processed || (a.class < b.class ? -1 : 1));
  }
}
