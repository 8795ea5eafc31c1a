/**
 * The running totals, and those of each day.
 *
 * @module
 */
import type { Context } from "./context.ts";

/** Counts finished and failed jobs. */
export class Totals {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Adds; inside a transaction. */
  add(now: number, finished: number, failed: number): void {
    const day = new Date(now).toISOString().slice(0, 10);
    for (const [name, count] of [["processed", finished], ["failed", failed]] as const) {
      if (count === 0) continue;
      for (const row of [name, `${name}:${day}`]) {
        this.#context.sql(
          "INSERT INTO total (name, count) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET count = count + ?2",
        ).run(row, count);
      }
    }
  }

  /** A total. */
  get(name: "processed" | "failed"): number {
    return Number(this.#context.sql("SELECT count FROM total WHERE name = ?").get(name)?.count ?? 0);
  }
}
