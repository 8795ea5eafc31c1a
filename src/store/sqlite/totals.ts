/**
 * The overall totals, and those of each day.
 *
 * @module
 */
import { dayOf, DAYS_KEPT_MS } from "../port/history.ts";
import type { Context } from "./context.ts";

/** Adds to the totals of finished and failed jobs; inside a transaction. */
export function add(context: Context, now: number, finished: number, failed: number): void {
  const { sql } = context;
  const day = dayOf(now);
  for (const [name, count] of [["processed", finished], ["failed", failed]] as const) {
    if (count === 0) continue;
    // The first job of a day drops the days of long ago.
    if (addTo(context, `${name}:${day}`, count)) {
      sql("DELETE FROM total WHERE name >= ? AND name < ?").run(`${name}:`, `${name}:${dayOf(now - DAYS_KEPT_MS)}`);
    }
    addTo(context, name, count);
  }
}

/** Returns whether the row is new. */
function addTo({ sql }: Context, name: string, count: number): boolean {
  if (Number(sql("UPDATE total SET count = count + ? WHERE name = ?").run(count, name).changes) > 0) return false;
  sql("INSERT INTO total (name, count) VALUES (?, ?)").run(name, count);
  return true;
}

/** Returns the overall total. */
export function get({ sql }: Context, name: "processed" | "failed"): number {
  return Number(sql("SELECT count FROM total WHERE name = ?").get(name)?.count ?? 0);
}
