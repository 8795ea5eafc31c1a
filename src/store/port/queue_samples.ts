/**
 * Samples of queues (`series.ts`): the depth of queues and the age of their oldest jobs, for charts.
 *
 * The processes that serve the dashboard record a sample once a minute. Each time step keeps the largest values, so several
 * recorders don't falsify it. No job depends on the numbers.
 *
 * @module
 */

/** One queue at one moment. */
export interface QueueSample {
  /** Its name. */
  readonly queue: string;
  /** Jobs in it. */
  readonly size: number;
  /** Age of its oldest job in milliseconds. */
  readonly latencyMs: number;
}

/** One queue over a window: one value for each step, the earliest first; undefined for a step without a sample. */
export interface QueueSeries {
  /** Its name. */
  readonly queue: string;
  /** The number of its jobs. */
  readonly sizes: readonly (number | undefined)[];
  /** The age of its oldest job in milliseconds. */
  readonly latenciesMs: readonly (number | undefined)[];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The lengths of time steps, and how long each is kept. */
export const SAMPLE_STEPS: readonly { readonly stepMs: number; readonly keptMs: number }[] = [
  { stepMs: MINUTE_MS, keptMs: 2 * HOUR_MS },
  { stepMs: 10 * MINUTE_MS, keptMs: 25 * HOUR_MS },
  { stepMs: HOUR_MS, keptMs: 31 * 24 * HOUR_MS },
];

/** Windows of time, and their steps. The last step is the current one. */
export const SAMPLE_WINDOWS = {
  "15m": { stepMs: MINUTE_MS, steps: 15 },
  "1h": { stepMs: MINUTE_MS, steps: 60 },
  "24h": { stepMs: 10 * MINUTE_MS, steps: 144 },
  "7d": { stepMs: HOUR_MS, steps: 168 },
  "30d": { stepMs: HOUR_MS, steps: 720 },
} as const;

/** The name of a window. */
export type SampleWindow = keyof typeof SAMPLE_WINDOWS;

/** The most queues of one sample that are kept: those with the most jobs. */
export const MAX_SAMPLED_QUEUES = 50;

/** Returns the beginnings of a window's steps, the earliest first. */
export function sampleSteps(window: SampleWindow, now: number): number[] {
  const { stepMs, steps } = SAMPLE_WINDOWS[window];
  const last = Math.floor(now / stepMs) * stepMs;
  return Array.from({ length: steps }, (_, i) => last - (steps - 1 - i) * stepMs);
}

/** Returns the samples that are kept: those of the largest queues. */
export function keptSamples(samples: readonly QueueSample[]): readonly QueueSample[] {
  return samples.toSorted((a, b) => b.size - a.size).slice(0, MAX_SAMPLED_QUEUES);
}

/**
 * Collects series, value by value.
 *
 * @internal
 */
export class SeriesBuilder {
  readonly #steps: number;
  readonly #series = new Map<string, { sizes: (number | undefined)[]; latenciesMs: (number | undefined)[] }>();

  /** @param steps how many steps the window has */
  constructor(steps: number) {
    this.#steps = steps;
  }

  /** Adds one queue's sample in the step of this index. */
  add(step: number, { queue, size, latencyMs }: QueueSample): void {
    let series = this.#series.get(queue);
    if (series === undefined) {
      const empty = () => new Array<number | undefined>(this.#steps).fill(undefined);
      this.#series.set(queue, series = { sizes: empty(), latenciesMs: empty() });
    }
    series.sizes[step] = size;
    series.latenciesMs[step] = latencyMs;
  }

  /** Returns the series by name of the queue. */
  list(): QueueSeries[] {
    return [...this.#series].map(([queue, series]) => ({ queue, ...series })).sort((a, b) =>
      a.queue < b.queue ? -1 : 1
    );
  }
}
