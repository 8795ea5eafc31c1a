/**
 * The data of the overview's charts: throughput, failures, and the depth and latency of queues, over a range of time.
 *
 * @module
 */
import { DAY_MS } from "../../store/port/history.ts";
import { type QueueSeries, SAMPLE_WINDOWS, sampleSteps } from "../../store/port/queue_samples.ts";
import { type ClassMetricsSeries, type MetricsWindow, quantile, stepsOf, WINDOWS } from "../../store/port/metrics.ts";
import type { Sample } from "../../operator/alerts/alert.ts";
import type { Services } from "../services.ts";
import { lastDays } from "./history.ts";

/** The ranges, by their names in addresses. */
export const RANGES = {
  "15m": "15 min",
  "1h": "1 h",
  "24h": "24 h",
  "7d": "7 d",
  "30d": "30 d",
} as const;

/** The name of a range. */
export type Range = keyof typeof RANGES;

/** Returns the range that a URL names; default an hour. */
export function rangeOf(text: string | undefined): Range {
  return text !== undefined && Object.hasOwn(RANGES, text) ? text as Range : "1h";
}

/** One line of a chart. */
export interface Series {
  readonly label: string;
  /** The name of its color in the style sheet. */
  readonly color: "accent" | "bad" | "running" | "scheduled" | "ok" | "retrying" | "queued";
  /** One value for each time; null where it is unknown. */
  readonly values: readonly (number | null)[];
}

/** One chart. */
export interface Chart {
  readonly id: string;
  readonly title: string;
  /** The unit of the values. */
  readonly unit: "jobs" | "ms";
  readonly bars: boolean;
  /** Whether lines continue over steps without a value. Default: they have gaps. */
  readonly joined?: boolean;
  /** The beginnings of the steps, in epoch seconds. */
  readonly times: readonly number[];
  /** The length of a step in seconds. */
  readonly stepS: number;
  readonly series: readonly Series[];
}

/** Reads the charts of a range. */
export async function readCharts(services: Services, range: Range): Promise<Chart[]> {
  const [jobs, queues] = await Promise.all([throughput(services, range), services.store.series.read("queues", range)]);
  return [jobs, ...sampleCharts(queues, range, services.clock.now())];
}

/** Returns the charts of one queue over the last hour; none if it has no samples. */
export function queueCharts(series: readonly QueueSeries[], queue: string, now: number): Chart[] {
  const own = series.filter((one) => one.queue === queue);
  return own.length === 0 ? [] : sampleCharts(own, "1h", now);
}

/** The latency and the depth of these queues together. */
function sampleCharts(queues: readonly QueueSeries[], range: Range, now: number): Chart[] {
  const step = {
    times: sampleSteps(range, now).map((at) => at / 1_000),
    stepS: SAMPLE_WINDOWS[range].stepMs / 1_000,
    bars: false,
  };
  return [
    {
      ...step,
      id: "latency",
      title: "Queue latency",
      unit: "ms",
      series: [{ label: "Longest", color: "scheduled", values: combined(queues, "latenciesMs", Math.max) }],
    },
    {
      ...step,
      id: "depth",
      title: "Queue depth",
      unit: "jobs",
      series: [{ label: "Queued", color: "running", values: combined(queues, "sizes", (a, b) => a + b) }],
    },
  ];
}

function combined(
  queues: readonly QueueSeries[],
  field: "sizes" | "latenciesMs",
  combine: (a: number, b: number) => number,
): (number | null)[] {
  const steps = queues[0]?.[field].length ?? 0;
  return Array.from({ length: steps }, (_, i) =>
    queues.reduce<number | null>((all, queue) => {
      const value = queue[field][i];
      return value === undefined ? all : all === null ? value : combine(all, value);
    }, null));
}

/** Returns the chart of one class's runs and failures over a window. */
export function classChart(one: ClassMetricsSeries, window: MetricsWindow, now: number): Chart {
  const { stepMs } = WINDOWS[window];
  return {
    id: "runs",
    title: stepMs === 60_000 ? "Runs per minute" : "Runs per 10 minutes",
    unit: "jobs",
    bars: true,
    times: stepsOf(window, now).map((at) => at / 1_000),
    stepS: stepMs / 1_000,
    series: upToNow(twoSeries(one.series, one.failedSeries)),
  };
}

/** Returns the chart of a class's durations: percentiles of its successful runs in each step. */
export function durationChart(
  histograms: readonly (readonly number[])[],
  window: MetricsWindow,
  now: number,
): Chart {
  const { stepMs } = WINDOWS[window];
  const series = (label: string, share: number, color: Series["color"]): Series => ({
    label,
    color,
    values: histograms.map((histogram) => {
      const ms = quantile(histogram, share);
      return ms === undefined ? null : Math.round(ms);
    }),
  });
  return {
    id: "durations",
    title: "Duration of successful runs",
    unit: "ms",
    bars: false,
    joined: true,
    times: stepsOf(window, now).map((at) => at / 1_000),
    stepS: stepMs / 1_000,
    series: [series("p50", 0.5, "ok"), series("p95", 0.95, "retrying"), series("p99", 0.99, "scheduled")],
  };
}

/** Reads the throughput by the minute or ten minutes; over 7 and 30 days by the day, from the daily totals. */
async function throughput(services: Services, range: Range): Promise<Chart> {
  const chart = { id: "throughput", unit: "jobs", bars: true } as const;
  if (range === "7d" || range === "30d") {
    const days = await lastDays(services, range === "7d" ? 7 : 30);
    return {
      ...chart,
      title: "Jobs per day",
      times: days.map(({ day }) => Date.parse(day) / 1_000),
      stepS: DAY_MS / 1_000,
      series: twoSeries(days.map(({ processed }) => processed), days.map(({ failed }) => failed)),
    };
  }
  const window = range === "24h" ? "24h" : "1h";
  const { stepMs } = WINDOWS[window];
  const all = await services.measures.read(window);
  const steps = stepsOf(window, services.clock.now());
  const total = (field: "series" | "failedSeries") =>
    steps.map((_, i) => all.reduce((sum, one) => sum + (one[field][i] ?? 0), 0));
  const from = range === "15m" ? -15 : 0;
  // Workers store a minute near its end: until then, the counts have it.
  const current = countedSince(services.feed.samples, steps.at(-1)!);
  const upTo = (values: number[], counted: number) => values.with(-1, Math.max(values.at(-1)!, counted));
  const processed = upTo(total("series"), current.processed);
  const failed = upTo(total("failedSeries"), current.failed);
  return {
    ...chart,
    title: range === "24h" ? "Jobs per 10 minutes" : "Jobs per minute",
    times: steps.slice(from).map((at) => at / 1_000),
    stepS: stepMs / 1_000,
    series: upToNow(twoSeries(processed.slice(from), failed.slice(from))),
  };
}

/** Returns the attempts since a time, as far back as there are samples. */
export function countedSince(samples: readonly Sample[], at: number): { processed: number; failed: number } {
  const before = samples.findLast((one) => one.at <= at) ?? samples[0];
  const last = samples.at(-1);
  if (before === undefined || last === undefined || last.at < at) return { processed: 0, failed: 0 };
  return {
    processed: Math.max(0, last.processed - before.processed),
    failed: Math.max(0, last.failed - before.failed),
  };
}

function twoSeries(processed: readonly number[], failed: readonly number[]): Series[] {
  return [
    { label: "Processed", color: "accent", values: processed },
    { label: "Failed", color: "bad", values: failed },
  ];
}

/** Workers record once a minute: as long as the last step has nothing, its values are unknown. */
function upToNow(series: readonly Series[]): readonly Series[] {
  if (series.some(({ values }) => values.at(-1) !== 0)) return series;
  return series.map((one) => ({ ...one, values: one.values.with(-1, null) }));
}
