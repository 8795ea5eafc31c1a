/**
 * What was measured of classes: a row per class and step of time.
 *
 * @module
 */
import {
  COARSE,
  FINE,
  type Measured,
  MeasuredSums,
  type Measurement,
  type MeasureWindow,
  RUN_BOUNDS_MS,
  stepsOf,
  WINDOWS,
} from "../measures.ts";
import type { Context } from "./context.ts";

/** The columns of the histogram. */
const COUNTS = [...RUN_BOUNDS_MS, Infinity].map((_, i) => `h${i}`);
const SUMS = ["processed", "failed", "worked", ...COUNTS];

const ADD = `INSERT INTO measure (step, at, class, ${SUMS.join(", ")})
  VALUES (?, ?, ?, ${SUMS.map(() => "?").join(", ")})
  ON CONFLICT DO UPDATE SET ${SUMS.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")}`;

const READ = `SELECT class, ${SUMS.map((name) => `sum(${name}) AS ${name}`).join(", ")} FROM measure
  WHERE step = ? AND at >= ? AND at <= ? GROUP BY class`;

/** Keeps measures. */
export class Measures {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** See `MeasureStore.measure`. */
  async add(measurements: readonly Measurement[]): Promise<void> {
    if (measurements.length === 0) return;
    const { sql, now, commit } = this.#context;
    await commit.run(() => {
      for (const { stepMs, keptMs } of [FINE, COARSE]) {
        sql("DELETE FROM measure WHERE step = ? AND at < ?").run(stepMs, now() - keptMs);
        const at = Math.floor(now() / stepMs) * stepMs;
        for (const { class: name, processed, failed, workedMs, histogram } of measurements) {
          sql(ADD).run(stepMs, at, name, processed, failed, Math.round(workedMs), ...histogram);
        }
      }
    }, 2 * measurements.length);
  }

  /** See `MeasureReader.measured`. */
  read(window: MeasureWindow): Promise<Measured[]> {
    const { sql, now, read } = this.#context;
    return read(() => {
      const { stepMs } = WINDOWS[window];
      const steps = stepsOf(window, now());
      const range = [stepMs, steps[0]!, steps.at(-1)!];
      const sums = new MeasuredSums(steps.length);
      for (const row of sql(READ).all(...range)) {
        const one = sums.of(String(row.class));
        one.processed += Number(row.processed);
        one.failed += Number(row.failed);
        one.workedMs += Number(row.worked);
        COUNTS.forEach((name, i) => one.histogram[i]! += Number(row[name]));
      }
      const each = sql("SELECT class, at, processed FROM measure WHERE step = ? AND at >= ? AND at <= ?").all(...range);
      for (const { class: name, at, processed } of each) {
        sums.of(String(name)).series[(Number(at) - steps[0]!) / stepMs]! += Number(processed);
      }
      return sums.list();
    });
  }
}
