/**
 * What was measured of classes: a row per class and step of time.
 *
 * @module
 */
import {
  type ClassMetrics,
  type ClassMetricsSeries,
  COARSE,
  FINE,
  MeasuredSums,
  type MetricsStore,
  type MetricsWindow,
  RUN_BOUNDS_MS,
  stepsOf,
  WINDOWS,
} from "../port/metrics.ts";
import type { Context } from "./context.ts";

/** The columns of the histogram. */
const COUNTS = [...RUN_BOUNDS_MS, Infinity].map((_, i) => `h${i}`);
const SUMS = ["processed", "failed", "worked", ...COUNTS];

const ADD = `INSERT INTO measure (step, at, class, ${SUMS.join(", ")})
  VALUES (?, ?, ?, ${SUMS.map(() => "?").join(", ")})
  ON CONFLICT DO UPDATE SET ${SUMS.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")}`;

/** A row per class: the sums, and how many were performed and failed in which step: `at processed failed at …`. */
const READ = `SELECT class, ${SUMS.map((name) => `sum(${name}) AS ${name}`).join(", ")},
  group_concat(at || ' ' || processed || ' ' || failed, ' ') AS series
  FROM measure WHERE step = ? AND at >= ? AND at <= ? GROUP BY class`;

/** The step in which the row stands that is so many further. */
const AHEAD = "SELECT at FROM measure WHERE step = ? AND at >= ? AND at <= ? ORDER BY at, class LIMIT 1 OFFSET ?";

/** About so many rows are read at once: some milliseconds. */
const SLICE = 2_000;

/** Returns the part. */
export function metricsPart(context: Context): MetricsStore {
  return {
    async record(measurements: readonly ClassMetrics[]): Promise<void> {
      if (measurements.length === 0) return;
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
    },

    /** Reads in slices of whole steps, and lets others run in between. */
    async read(window: MetricsWindow): Promise<ClassMetricsSeries[]> {
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
    },
  };
}

/** @returns the last step of which it has all */
function addSlice(
  context: Context,
  sums: MeasuredSums,
  { stepMs, first, from, last }: { stepMs: number; first: number; from: number; last: number },
): number {
  const { sql } = context;
  const ahead = sql(AHEAD).get(stepMs, from, last, SLICE);
  // The step before that is whole; where one alone has more rows, it is read at once.
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
