/**
 * Drops dead jobs beyond the limits of age and number.
 *
 * @module
 */
import type { Context } from "./context.ts";
import { JobEnds } from "./job_ends.ts";
import { inParts } from "./job_rows.ts";
import { size } from "./sets.ts";

/** Maximum number of dead jobs that are dropped at once, so that other operations don't wait. The next burial continues. */
const MAX_DROPPED = 1_000;

/** Drops dead jobs beyond the limits of age and number, earliest first; inside a transaction. Returns how many. */
export function trimDead(context: Context, now: number): number {
  const { sql, deadMaxAgeMs, deadMaxJobs } = context;
  const old = drop(
    context,
    sql("SELECT job FROM member WHERE place = 'dead' AND at < ? ORDER BY at, job LIMIT ?")
      .all(now - deadMaxAgeMs, MAX_DROPPED),
    now,
  );
  const over = size(context, "dead") - deadMaxJobs;
  if (over <= 0) return old;
  return old +
    drop(
      context,
      sql("SELECT job FROM member WHERE place = 'dead' ORDER BY at, job LIMIT ?").all(Math.min(over, MAX_DROPPED)),
      now,
    );
}

function drop(context: Context, rows: readonly Record<string, unknown>[], now: number): number {
  const ids = rows.map((row) => row.job as number);
  inParts(ids, "job", (where, values) => context.sql(`DELETE FROM member WHERE ${where}`).run(...values));
  const ends = new JobEnds(context);
  ends.noteDropped(ids);
  ends.apply(now);
  return ids.length;
}
