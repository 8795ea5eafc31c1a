/**
 * The series part of the port. Metrics of classes are under the keys of Sidekiq's Metrics page. The names and the formats are those
 * of Sidekiq 8 and, unless the wire format is 8 alone, also those of 7. Histograms of ten minutes and samples of queues are ours:
 * Sidekiq has none.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import {
  type ClassMetrics,
  type ClassMetricsSeries,
  COARSE,
  FINE,
  MeasuredSums,
  type MetricsWindow,
  RUN_BOUNDS_MS,
  stepsOf,
  WINDOWS,
} from "../port/metrics.ts";
import { type Context, serverTime } from "./context.ts";
import { SCRIPTS } from "./client/scripts.ts";
import {
  keptSamples,
  type QueueSample,
  type QueueSeries,
  SAMPLE_STEPS,
  SAMPLE_WINDOWS,
  sampleSteps,
  type SampleWindow,
  SeriesBuilder,
} from "../port/queue_samples.ts";
import { type DayCount, daysBetween } from "../port/history.ts";
import { seriesPart, type SeriesStore } from "../port/series.ts";
import { dayKey } from "./keys.ts";

/** Maximum number of classes that one script records. */
const MAX_CLASSES_PER_SCRIPT = 50;
/** Steps read at the same time. */
const MAX_STEPS_IN_FLIGHT = 8;
/** Maximum number of keys that one command reads. */
const MAX_KEYS_PER_READ = 600;
/** Steps of samples read at the same time. */
const MAX_SAMPLE_STEPS_IN_FLIGHT = 48;

/** Returns the part. */
export function redisSeries(context: Context): SeriesStore {
  return seriesPart({
    classes: (measurements) => addMetrics(context, measurements),
    queues: (samples) => addSamples(context, samples),
  }, {
    classes: (window) => readMetrics(context, window),
    histograms: ({ class: name, window }) => readHistograms(context, name, window),
    queues: (window) => readSamples(context, window),
    days: ({ from, to }) => readDays(context, from, to),
  });
}

async function addMetrics(context: Context, measurements: readonly ClassMetrics[]): Promise<void> {
  const { client, wire } = context;
  const now = await serverTime(context);
  const keys = {
    own: ownKey(now),
    coarse: coarseKey(now),
    fine: [fineKey(now), ...(wire === 7 ? [fineKey7(now)] : [])],
  };
  for (let at = 0; at < measurements.length; at += MAX_CLASSES_PER_SCRIPT) {
    const classes = measurements.slice(at, at + MAX_CLASSES_PER_SCRIPT).map((
      { class: name, processed, failed, workedMs, histogram },
    ) => ({
      name,
      processed,
      failed,
      ms: Math.round(workedMs),
      histogram: histogramKey(name, now),
      olderHistogram: wire === 7 && histogramKey7(name, now),
      counts: histogram.flatMap((count, i) => count > 0 ? [`${i} ${count}`] : []).join(" "),
    }));
    const args = { ...keys, coarseS: COARSE.keptMs / 1_000, fineS: FINE.keptMs / 1_000, classes };
    // A resent script would count twice.
    await client.run(SCRIPTS.recordMetrics, args, { repeatable: false });
  }
}

async function readMetrics(context: Context, window: MetricsWindow): Promise<ClassMetricsSeries[]> {
  const { client } = context;
  const steps = stepsOf(window, await serverTime(context));
  const fine = WINDOWS[window].stepMs === FINE.stepMs;
  const sums = new MeasuredSums(steps.length);
  const readHash = async (key: string) => Object.entries(await client.call(["HGETALL", key]) as Record<string, string>);
  const readStep = async (at: number, step: number) => {
    for (const [field, text] of await readHash(fine ? fineKey(at) : coarseKey(at))) {
      const end = field.lastIndexOf("|");
      addCount(sums, field.slice(0, end), field.slice(end + 1), Number(text), step);
    }
    if (fine) return;
    for (const [field, text] of await readHash(ownKey(at))) {
      const end = field.indexOf("|");
      sums.of(field.slice(end + 1)).histogram[Number(field.slice(0, end))]! += Number(text);
    }
  };
  // A few steps at a time: other clients get their turn in between.
  for (let from = 0; from < steps.length; from += MAX_STEPS_IN_FLIGHT) {
    await Promise.all(steps.slice(from, from + MAX_STEPS_IN_FLIGHT).map((at, i) => readStep(at, from + i)));
  }
  if (fine) await readFine(context, sums, steps);
  return sums.list();
}

function addCount(sums: MeasuredSums, name: string, field: string, count: number, step: number): void {
  if (field === "f") {
    sums.of(name).failed += count;
    sums.of(name).failedSeries[step]! += count;
  } else if (field === "ms") sums.of(name).workedMs += count;
  else if (field === "p") {
    sums.of(name).processed += count;
    sums.of(name).series[step]! += count;
  }
}

/** Reads Sidekiq's histograms: one string of 26 numbers per class and minute. */
async function readFine({ client }: Context, sums: MeasuredSums, steps: readonly number[]): Promise<void> {
  const wanted = sums.list().flatMap(({ class: name, series }) =>
    steps.flatMap((at, i) => series[i]! > 0 ? [{ name, key: histogramKey(name, at) }] : [])
  );
  for (let at = 0; at < wanted.length; at += MAX_KEYS_PER_READ) {
    const some = wanted.slice(at, at + MAX_KEYS_PER_READ);
    const found = await client.call(["MGET", ...some.map(({ key }) => key)], { bytes: true }) as (Buffer | null)[];
    some.forEach(({ name }, i) => {
      addFine(sums.of(name).histogram, found[i]);
    });
  }
}

/** Adds one of Sidekiq's histograms. It ends with its last number that isn't zero. */
function addFine(histogram: number[], bytes: Buffer | null | undefined): void {
  for (let n = 0; bytes && n < histogram.length && n * 2 + 1 < bytes.length; n++) {
    histogram[n]! += bytes.readUInt16BE(n * 2);
  }
}

/** Reads the histograms of a class, a few steps at a time. */
async function readHistograms(context: Context, className: string, window: MetricsWindow): Promise<number[][]> {
  const { client } = context;
  const steps = stepsOf(window, await serverTime(context));
  const buckets = Array.from({ length: RUN_BOUNDS_MS.length + 1 }, (_, i) => i);
  if (WINDOWS[window].stepMs === FINE.stepMs) {
    const keys = steps.map((at) => histogramKey(className, at));
    const found = await client.call(["MGET", ...keys], { bytes: true }) as (Buffer | null)[];
    return found.map((bytes) => {
      const histogram = buckets.map(() => 0);
      addFine(histogram, bytes);
      return histogram;
    });
  }
  const all: number[][] = [];
  for (let from = 0; from < steps.length; from += MAX_STEPS_IN_FLIGHT) {
    const read = (at: number) => client.call(["HMGET", ownKey(at), ...buckets.map((i) => `${i}|${className}`)]);
    const found = await Promise.all(steps.slice(from, from + MAX_STEPS_IN_FLIGHT).map(read)) as (string | null)[][];
    all.push(...found.map((counts) => counts.map(Number)));
  }
  return all;
}

/** Sidekiq 8: `j|YYMMDD|H:MM`. */
function fineKey(at: number): string {
  const { day, hour, minute } = parts(at);
  return `j|${day.slice(2)}|${hour}:${two(minute)}`;
}

/** Sidekiq 8: the same without the last digit, ten minutes. */
function coarseKey(at: number): string {
  return fineKey(at).slice(0, -1);
}

/** Sidekiq 7: `j|YYYYMMDD|H:M`. */
function fineKey7(at: number): string {
  const { day, hour, minute } = parts(at);
  return `j|${day}|${hour}:${minute}`;
}

/** Sidekiq 8: `h|CLASS-D-H:M`. */
function histogramKey(name: string, at: number): string {
  const { date, hour, minute } = parts(at);
  return `h|${name}-${date}-${hour}:${minute}`;
}

/** Sidekiq 7: `CLASS-DD-HH:M`, only for names that a Ruby class can have: any other name could be that of another key. */
function histogramKey7(name: string, at: number): string {
  if (!/^[A-Z]\w*(::[A-Z]\w*)*$/.test(name)) return "";
  const { date, hour, minute } = parts(at);
  return `${name}-${two(date)}-${two(hour)}:${minute}`;
}

/** Ours: histograms of ten minutes, by the second of their start. */
function ownKey(at: number): string {
  return `jobs:measured:${Math.floor(at / COARSE.stepMs) * COARSE.stepMs / 1_000}`;
}

function parts(at: number): { day: string; date: number; hour: number; minute: number } {
  const time = new Date(at);
  return {
    day: time.toISOString().slice(0, 10).replaceAll("-", ""),
    date: time.getUTCDate(),
    hour: time.getUTCHours(),
    minute: time.getUTCMinutes(),
  };
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** Sending a sample twice changes nothing. */
async function addSamples(context: Context, samples: readonly QueueSample[]): Promise<void> {
  const now = await serverTime(context);
  const hashes = SAMPLE_STEPS.map(({ stepMs }) => sampleKey(stepMs, Math.floor(now / stepMs) * stepMs));
  const values = keptSamples(samples).flatMap(({ queue, size, latencyMs }) => [
    { field: "size|" + queue, value: size },
    { field: "latency|" + queue, value: Math.round(latencyMs) },
  ]);
  const keepS = SAMPLE_STEPS.map(({ keptMs }) => keptMs / 1_000);
  await context.client.run(SCRIPTS.sampleQueues, { hashes, samples: values, keepS });
}

async function readSamples(context: Context, window: SampleWindow): Promise<QueueSeries[]> {
  const { stepMs } = SAMPLE_WINDOWS[window];
  const steps = sampleSteps(window, await serverTime(context));
  const series = new SeriesBuilder(steps.length);
  const readStep = async (at: number, step: number) => {
    const fields = await context.client.call(["HGETALL", sampleKey(stepMs, at)]) as Record<string, string>;
    for (const [field, size] of Object.entries(fields)) {
      if (!field.startsWith("size|")) continue;
      const queue = field.slice("size|".length);
      series.add(step, { queue, size: Number(size), latencyMs: Number(fields[`latency|${queue}`] ?? 0) });
    }
  };
  for (let from = 0; from < steps.length; from += MAX_SAMPLE_STEPS_IN_FLIGHT) {
    await Promise.all(steps.slice(from, from + MAX_SAMPLE_STEPS_IN_FLIGHT).map((at, i) => readStep(at, from + i)));
  }
  return series.list();
}

/** Ours: a hash per time step, with the fields `size|QUEUE` and `latency|QUEUE`. */
function sampleKey(stepMs: number, at: number): string {
  return `jobs:queue-samples:${stepMs / 1_000}:${at / 1_000}`;
}

async function readDays({ client }: Context, from: number, to: number): Promise<DayCount[]> {
  const days = daysBetween(from, to);
  if (days.length === 0) return [];
  const keys = days.flatMap((day) => [dayKey("processed", day), dayKey("failed", day)]);
  const counts = await client.call(["MGET", ...keys]) as (string | null)[];
  const count = (i: number) => Number(counts[i] ?? 0) || 0;
  return days.map((day, i) => ({ day, processed: count(2 * i), failed: count(2 * i + 1) }));
}
