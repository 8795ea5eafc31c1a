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
import type { Context } from "./context.ts";
import { history } from "./totals.ts";

/** The columns of the histogram. */
const COUNTS = [...RUN_BOUNDS_MS, Infinity].map((_, i) => `h${i}`);
const SUMS = ["processed", "failed", "worked", ...COUNTS];

const ADD = `INSERT INTO measure (step, at, class, ${SUMS.join(", ")})
  VALUES (?, ?, ?, ${SUMS.map(() => "?").join(", ")})
  ON CONFLICT DO UPDATE SET ${SUMS.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")}`;

/** Returns a row per class: the sums, and a series of steps: `at processed failed at …`. */
const READ = `SELECT class, ${SUMS.map((name) => `sum(${name}) AS ${name}`).join(", ")},
  group_concat(at || ' ' || processed || ' ' || failed, ' ') AS series
  FROM measure WHERE step = ? AND at >= ? AND at <= ? GROUP BY class`;

const HISTOGRAM = `SELECT ${COUNTS.join(", ")} FROM measure WHERE step = ? AND at = ? AND class = ?`;

/** Returns the step of the row at an offset. */
const STEP_AT = "SELECT at FROM measure WHERE step = ? AND at >= ? AND at <= ? ORDER BY at, class LIMIT 1 OFFSET ?";

/** Approximate number of rows per read: some milliseconds. */
const SLICE_ROWS = 2_000;

/** Steps whose histograms are read at once: below a millisecond. */
const SLICE_STEPS = 150;

const ADD_SAMPLE = `INSERT INTO queue_sample (step, at, queue, size, latency) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET size = max(size, excluded.size), latency = max(latency, excluded.latency)`;
const READ_SAMPLES = "SELECT at, queue, size, latency FROM queue_sample WHERE step = ? AND at >= ? AND at < ?";

/** Steps per read: at most 50 queues each, some milliseconds. */
const SAMPLE_SLICE_STEPS = 48;

/** Returns the part. */
export function sqliteSeries(context: Context): SeriesStore {
  return seriesPart({
    classes: (measurements) => addMetrics(context, measurements),
    queues: (samples) => addSamples(context, samples),
  }, {
    classes: (window) => readMetrics(context, window),
    histograms: ({ class: name, window }) => readHistograms(context, name, window),
    queues: (window) => readSamples(context, window),
    days: ({ from, to }) => context.read(() => history(context, from, to)),
  });
}

async function addMetrics(context: Context, measurements: readonly ClassMetrics[]): Promise<void> {
  const { sql, now, commit } = context;
  await commit.run(() => {
    for (const { stepMs, keptMs } of [FINE, COARSE]) {
      sql("DELETE FROM measure WHERE step = ? AND at < ?").run(stepMs, now() - keptMs);
      const at = Math.floor(now() / stepMs) * stepMs;
      for (const { class: name, processed, failed, workedMs, histogram } of measurements) {
        sql(ADD).run(stepMs, at, name, processed, failed, Math.round(workedMs), ...histogram);
      }
    }
  }, { rows: 2 * measurements.length });
}

/** Reads slices of whole steps, and yields to the event loop in between. */
async function readMetrics(context: Context, window: MetricsWindow): Promise<ClassMetricsSeries[]> {
  const { read, now, turn } = context;
  const { stepMs } = WINDOWS[window];
  const steps = stepsOf(window, now());
  const [first, last] = [steps[0]!, steps.at(-1)!];
  const sums = new MeasuredSums(steps.length);
  for (let from = first; from <= last;) {
    const until = await read(() => addSlice(context, sums, { stepMs, first, from, last }));
    from = until + stepMs;
    await turn();
  }
  return sums.list();
}

async function readHistograms(context: Context, className: string, window: MetricsWindow): Promise<number[][]> {
  const { sql, read, now, turn } = context;
  const steps = stepsOf(window, now());
  const histograms: number[][] = [];
  for (let from = 0; from < steps.length; from += SLICE_STEPS) {
    const some = steps.slice(from, from + SLICE_STEPS);
    histograms.push(
      ...await read(() =>
        some.map((at) => {
          const row = sql(HISTOGRAM).get(WINDOWS[window].stepMs, at, className);
          return COUNTS.map((name) => Number(row?.[name] ?? 0));
        })
      ),
    );
    await turn();
  }
  return histograms;
}

/** Adds the rows of a slice. Returns its last step. */
function addSlice(
  context: Context,
  sums: MeasuredSums,
  { stepMs, first, from, last }: { stepMs: number; first: number; from: number; last: number },
): number {
  const { sql } = context;
  const ahead = sql(STEP_AT).get(stepMs, from, last, SLICE_ROWS);
  // The step before that is complete. A single step with more rows is read at once.
  const until = ahead === undefined ? last : Math.max(from, Number(ahead.at) - stepMs);
  for (const row of sql(READ).all(stepMs, from, until)) {
    const one = sums.of(String(row.class));
    one.processed += Number(row.processed);
    one.failed += Number(row.failed);
    one.workedMs += Number(row.worked);
    COUNTS.forEach((name, i) => one.histogram[i]! += Number(row[name]));
    const series = String(row.series).split(" ");
    for (let i = 0; i < series.length; i += 3) {
      const step = (Number(series[i]) - first) / stepMs;
      one.series[step]! += Number(series[i + 1]);
      one.failedSeries[step]! += Number(series[i + 2]);
    }
  }
  return until;
}

async function addSamples({ sql, now, commit }: Context, samples: readonly QueueSample[]): Promise<void> {
  const kept = keptSamples(samples);
  await commit.run(() => {
    for (const { stepMs, keptMs } of SAMPLE_STEPS) {
      sql("DELETE FROM queue_sample WHERE step = ? AND at < ?").run(stepMs, now() - keptMs);
      const at = Math.floor(now() / stepMs) * stepMs;
      for (const { queue, size, latencyMs } of kept) {
        sql(ADD_SAMPLE).run(stepMs, at, queue, size, Math.round(latencyMs));
      }
    }
  }, { rows: SAMPLE_STEPS.length * kept.length });
}

/** Yields to the event loop between slices. */
async function readSamples({ sql, read, now, turn }: Context, window: SampleWindow): Promise<QueueSeries[]> {
  const { stepMs } = SAMPLE_WINDOWS[window];
  const steps = sampleSteps(window, now());
  const series = new SeriesBuilder(steps.length);
  const first = steps[0]!;
  for (let i = 0; i < steps.length; i += SAMPLE_SLICE_STEPS) {
    const from = first + i * stepMs;
    const rows = await read(() => sql(READ_SAMPLES).all(stepMs, from, from + SAMPLE_SLICE_STEPS * stepMs));
    for (const { at, queue, size, latency } of rows) {
      const step = (Number(at) - first) / stepMs;
      series.add(step, { queue: String(queue), size: Number(size), latencyMs: Number(latency) });
    }
    await turn();
  }
  return series.list();
}
