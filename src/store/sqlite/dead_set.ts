/**
 * Drops dead jobs beyond the limits of age and number.
 *
 * @module
 */
import { COUNTED_FIELD } from "../../job/batch.ts";
import type { Context } from "./context.ts";
import { inParts } from "./job_rows.ts";
import * as jobRows from "./job_rows.ts";
import { size } from "./sets.ts";
import { BatchChanges } from "./batch_rows.ts";

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
  const batches = new BatchChanges(context);
  const ids = rows.map((row) => row.job as number);
  inParts(ids, "job", (where, values) => context.sql(`DELETE FROM member WHERE ${where}`).run(...values));
  inParts(ids, "id", (where, values) => {
    const members = context.sql(`SELECT payload FROM job WHERE ${where} AND instr(payload, ?) > 0`)
      .all(...values, `"${COUNTED_FIELD}"`);
    for (const { payload } of members) batches.noteEnd(payload as string, "deleted");
    context.sql(`DELETE FROM step WHERE jid IN (SELECT jid FROM job WHERE ${where})`).run(...values);
  });
  jobRows.remove(context, ids);
  batches.apply(now);
  return ids.length;
}
