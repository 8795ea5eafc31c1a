/**
 * The running totals, and those of each day.
 *
 * @module
 */
import { type DayCount, dayOf, DAYS_KEPT_MS, daysBetween } from "../admin/history.ts";
import type { Context } from "./context.ts";

/** Counts finished and failed jobs. */
export class Totals {
  readonly #context: Context;
  /** The day on which those of long ago were last dropped. */
  #sweptOn = "";

  constructor(context: Context) {
    this.#context = context;
  }

  /** Adds; inside a transaction. */
  add(now: number, finished: number, failed: number): void {
    const day = dayOf(now);
    if (day !== this.#sweptOn) this.#sweep(now, day);
    for (const [name, count] of [["processed", finished], ["failed", failed]] as const) {
      if (count === 0) continue;
      for (const row of [name, `${name}:${day}`]) {
        this.#context.sql(
          "INSERT INTO total (name, count) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET count = count + ?2",
        ).run(row, count);
      }
    }
  }

  /** See `AdminStore.history`. */
  history(from: number, to: number): DayCount[] {
    const days = daysBetween(from, to);
    if (days.length === 0) return [];
    const counts = this.#context.sql("SELECT name, count FROM total WHERE name BETWEEN ? AND ?");
    const [processed, failed] = (["processed", "failed"] as const).map((name) => {
      const rows = counts.all(`${name}:${days[0]}`, `${name}:${days.at(-1)}`);
      return new Map(rows.map((row) => [row.name, Number(row.count)]));
    });
    return days.map((day) => ({
      day,
      processed: processed!.get(`processed:${day}`) ?? 0,
      failed: failed!.get(`failed:${day}`) ?? 0,
    }));
  }

  #sweep(now: number, day: string): void {
    const oldest = dayOf(now - DAYS_KEPT_MS);
    for (const name of ["processed", "failed"]) {
      this.#context.sql("DELETE FROM total WHERE name >= ? AND name < ?").run(`${name}:`, `${name}:${oldest}`);
    }
    this.#sweptOn = day;
  }

  /** A total. */
  get(name: "processed" | "failed"): number {
    return Number(this.#context.sql("SELECT count FROM total WHERE name = ?").get(name)?.count ?? 0);
  }
}
