/**
 * The series part of the port: a row per class and time step, and one per queue and time step.
 *
 * @module
 */
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
import { type DayCount, daysBetween } from "../port/history.ts";
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
import { seriesPart, type SeriesStore } from "../port/series.ts";
import { type Body, type Engine, inOrder, query, type Row } from "./body.ts";

/** The columns of the histogram. */
const COUNTS = [...RUN_BOUNDS_MS, Infinity].map((_, i) => `h${i}`);
const SUMS = ["processed", "failed", "worked", ...COUNTS];

const ADD = `INSERT INTO measure (step, at, class, ${SUMS.join(", ")})
  VALUES (?1, ?2, ?3, ${SUMS.map((_, i) => `?${i + 4}`).join(", ")})
  ON CONFLICT (step, at, class) DO UPDATE SET ${
  SUMS.map((name) => `${name} = measure.${name} + excluded.${name}`).join(", ")
}`;

/** Returns a row per class: the sums, and a series of steps: `at processed failed at …`. */
const READ = `SELECT class, ${SUMS.map((name) => `sum(${name}) AS ${name}`).join(", ")},
  string_agg(at || ' ' || processed || ' ' || failed, ' ') AS series
  FROM measure WHERE step = ?1 AND at >= ?2 AND at <= ?3 GROUP BY class`;

const HISTOGRAM = `SELECT ${COUNTS.join(", ")} FROM measure WHERE step = ?1 AND at = ?2 AND class = ?3`;

/** Returns the step of the row at an offset. */
const STEP_AT = "SELECT at FROM measure WHERE step = ?1 AND at >= ?2 AND at <= ?3 ORDER BY at, class LIMIT 1 OFFSET ?4";

/** Approximate number of rows per read: some milliseconds. */
const SLICE_ROWS = 2_000;

/** Steps whose histograms are read at once: below a millisecond. */
const SLICE_STEPS = 150;

const ADD_SAMPLE = `INSERT INTO queue_sample (step, at, queue, size, latency) VALUES (?1, ?2, ?3, ?4, ?5)
  ON CONFLICT (step, at, queue) DO UPDATE SET ${largest("size")}, ${largest("latency")}`;
const READ_SAMPLES = "SELECT at, queue, size, latency FROM queue_sample WHERE step = ?1 AND at >= ?2 AND at < ?3";

/** Steps per read: at most 50 queues each, some milliseconds. */
const SAMPLE_SLICE_STEPS = 48;

/** Returns the part. */
export function sqlSeries(engine: Engine): SeriesStore {
  const { read, write } = engine;
  return seriesPart({
    classes: (measurements) => {
      const sorted = inOrder(measurements, (one) => one.class);
      return write((now) => addMetrics(sorted, now), { rows: 2 * sorted.length });
    },
    queues: (samples) => {
      const kept = inOrder(keptSamples(samples), (one) => one.queue);
      return write((now) => addSamples(kept, now), { rows: SAMPLE_STEPS.length * kept.length });
    },
  }, {
    classes: (window) => readMetrics(engine, window),
    histograms: ({ class: name, window }) => readHistograms(engine, name, window),
    queues: (window) => readSamples(engine, window),
    days: ({ from, to }) => read(() => readDays(from, to)),
  });
}

function largest(column: string): string {
  const [kept, added] = [`queue_sample.${column}`, `excluded.${column}`];
  return `${column} = CASE WHEN ${added} > ${kept} THEN ${added} ELSE ${kept} END`;
}

function* addMetrics(measurements: readonly ClassMetrics[], now: number): Body<void> {
  for (const { stepMs, keptMs } of [FINE, COARSE]) {
    yield query("DELETE FROM measure WHERE step = ?1 AND at < ?2", [stepMs, now - keptMs]);
    const at = Math.floor(now / stepMs) * stepMs;
    for (const { class: name, processed, failed, workedMs, histogram } of measurements) {
      yield query(ADD, [stepMs, at, name, processed, failed, Math.round(workedMs), ...histogram]);
    }
  }
}

/** Reads slices of whole steps, and yields to the event loop in between. */
async function readMetrics({ read, turn, now }: Engine, window: MetricsWindow): Promise<ClassMetricsSeries[]> {
  const { stepMs } = WINDOWS[window];
  const steps = stepsOf(window, await now());
  const [first, last] = [steps[0]!, steps.at(-1)!];
  const sums = new MeasuredSums(steps.length);
  for (let from = first; from <= last;) {
    const { until, rows } = await read(() => readSlice(stepMs, from, last));
    for (const row of rows) addRow(sums, row, (at) => (at - first) / stepMs);
    from = until + stepMs;
    await turn();
  }
  return sums.list();
}

/** Reads the rows of a slice, and its last step. */
function* readSlice(stepMs: number, from: number, last: number): Body<{ until: number; rows: readonly Row[] }> {
  const [ahead] = yield query(STEP_AT, [stepMs, from, last, SLICE_ROWS]);
  // The step before that is complete. A single step with more rows is read at once.
  const until = ahead === undefined ? last : Math.max(from, Number(ahead.at) - stepMs);
  return { until, rows: yield query(READ, [stepMs, from, until]) };
}

function addRow(sums: MeasuredSums, row: Row, stepAt: (at: number) => number): void {
  const one = sums.of(String(row.class));
  one.processed += Number(row.processed);
  one.failed += Number(row.failed);
  one.workedMs += Number(row.worked);
  COUNTS.forEach((name, i) => one.histogram[i]! += Number(row[name]));
  const series = String(row.series).split(" ");
  for (let i = 0; i < series.length; i += 3) {
    const step = stepAt(Number(series[i]));
    one.series[step]! += Number(series[i + 1]);
    one.failedSeries[step]! += Number(series[i + 2]);
  }
}

async function readHistograms(
  { read, turn, now }: Engine,
  className: string,
  window: MetricsWindow,
): Promise<number[][]> {
  const steps = stepsOf(window, await now());
  const histograms: number[][] = [];
  for (let from = 0; from < steps.length; from += SLICE_STEPS) {
    const some = steps.slice(from, from + SLICE_STEPS);
    histograms.push(...await read(() => readCounts(some, WINDOWS[window].stepMs, className)));
    await turn();
  }
  return histograms;
}

function* readCounts(steps: readonly number[], stepMs: number, className: string): Body<number[][]> {
  const histograms: number[][] = [];
  for (const at of steps) {
    const [row] = yield query(HISTOGRAM, [stepMs, at, className]);
    histograms.push(COUNTS.map((name) => Number(row?.[name] ?? 0)));
  }
  return histograms;
}

function* addSamples(samples: readonly QueueSample[], now: number): Body<void> {
  for (const { stepMs, keptMs } of SAMPLE_STEPS) {
    yield query("DELETE FROM queue_sample WHERE step = ?1 AND at < ?2", [stepMs, now - keptMs]);
    const at = Math.floor(now / stepMs) * stepMs;
    for (const { queue, size, latencyMs } of samples) {
      yield query(ADD_SAMPLE, [stepMs, at, queue, size, Math.round(latencyMs)]);
    }
  }
}

/** Yields to the event loop between slices. */
async function readSamples({ read, now, turn }: Engine, window: SampleWindow): Promise<QueueSeries[]> {
  const { stepMs } = SAMPLE_WINDOWS[window];
  const steps = sampleSteps(window, await now());
  const series = new SeriesBuilder(steps.length);
  const first = steps[0]!;
  for (let i = 0; i < steps.length; i += SAMPLE_SLICE_STEPS) {
    const from = first + i * stepMs;
    // Later samples are of a clock that was set back, or of a moment after `now`.
    const to = first + Math.min(i + SAMPLE_SLICE_STEPS, steps.length) * stepMs;
    const rows = await read(() => readSampleRows(stepMs, from, to));
    for (const { at, queue, size, latency } of rows) {
      const step = (Number(at) - first) / stepMs;
      series.add(step, { queue: String(queue), size: Number(size), latencyMs: Number(latency) });
    }
    await turn();
  }
  return series.list();
}

function* readSampleRows(stepMs: number, from: number, to: number): Body<readonly Row[]> {
  return yield query(READ_SAMPLES, [stepMs, from, to]);
}

/** Reads the totals of each day, to which `settle` adds. */
function* readDays(from: number, to: number): Body<DayCount[]> {
  const days = daysBetween(from, to);
  if (days.length === 0) return [];
  const counts = new Map<unknown, number>();
  for (const name of ["processed", "failed"]) {
    const rows = yield query("SELECT name, count FROM total WHERE name BETWEEN ?1 AND ?2", [
      `${name}:${days[0]}`,
      `${name}:${days.at(-1)}`,
    ]);
    for (const row of rows) counts.set(row.name, Number(row.count));
  }
  return days.map((day) => ({
    day,
    processed: counts.get(`processed:${day}`) ?? 0,
    failed: counts.get(`failed:${day}`) ?? 0,
  }));
}
