/**
 * The dead set's limits, by number and by age.
 *
 * @module
 */
import type { Context } from "./context.ts";

/** Keeps the dead set within its limits. */
export class Dead {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Drops what is over the limits, earliest first; inside a transaction. Returns how many. */
  trim(now: number): number {
    const { sql, deadMaxAgeMs, deadMaxJobs } = this.#context;
    const old = Number(sql("DELETE FROM job WHERE place = 4 AND at < ?").run(Math.round(now - deadMaxAgeMs)).changes);
    const { count } = sql("SELECT count(*) AS count FROM job WHERE place = 4").get() as { count: number };
    if (count <= deadMaxJobs) return old;
    const over = sql(
      "DELETE FROM job WHERE id IN (SELECT id FROM job WHERE place = 4 ORDER BY at, id LIMIT ?)",
    ).run(count - deadMaxJobs);
    return old + Number(over.changes);
  }
}
