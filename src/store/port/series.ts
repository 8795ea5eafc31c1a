/**
 * The series part of the store port: numbers over time, for charts. No job depends on them.
 *
 * @module
 */
import type { DayCount } from "./history.ts";
import type { ClassMetrics, ClassMetricsSeries, MetricsWindow } from "./metrics.ts";
import type { QueueSample, QueueSeries, SampleWindow } from "./queue_samples.ts";

/** The series that are added to, and their samples. */
export interface SeriesSamples {
  /** Added to the sums of the current minute. */
  readonly classes: ClassMetrics;
  /** A sample as of now, by the store's clock. Of a time step, the largest values are kept. */
  readonly queues: QueueSample;
}

/** The readings of series. */
export interface SeriesReadings {
  /** The sums of classes over a window, the class with the most jobs first. */
  readonly classes: (window: MetricsWindow) => Promise<ClassMetricsSeries[]>;
  /** The histogram of a class in each step of a window, the earliest first. */
  readonly histograms: (request: { readonly class: string; readonly window: MetricsWindow }) => Promise<number[][]>;
  /** The samples of queues in a window, by name of the queue. */
  readonly queues: (window: SampleWindow) => Promise<QueueSeries[]>;
  /** The totals of each day from one time to another, in epoch milliseconds, the earliest first. `settle` adds to them. */
  readonly days: (span: { readonly from: number; readonly to: number }) => Promise<DayCount[]>;
}

/** Stores series. */
export interface SeriesStore {
  /** Adds samples. Two round trips, and one more for every further 50 classes. */
  add<S extends keyof SeriesSamples>(series: S, samples: readonly SeriesSamples[S][]): Promise<void>;

  /**
   * Reads a series. `days` takes one round trip. The others read a few time steps in each: other clients get their turn in between.
   * `classes` takes ten round trips for an hour, and up to 55.
   */
  read<R extends keyof SeriesReadings>(
    reading: R,
    ...request: Parameters<SeriesReadings[R]>
  ): ReturnType<SeriesReadings[R]>;
}

/** Returns the part, made of one function for each series and each reading. */
export function seriesPart(
  adds: { readonly [S in keyof SeriesSamples]: (samples: readonly SeriesSamples[S][]) => Promise<void> },
  readings: SeriesReadings,
): SeriesStore {
  return {
    add: (series, samples) => samples.length === 0 ? Promise.resolve() : adds[series](samples),
    read: <R extends keyof SeriesReadings>(reading: R, ...request: Parameters<SeriesReadings[R]>) =>
      (readings[reading] as (...request: unknown[]) => ReturnType<SeriesReadings[R]>)(...request),
  };
}
