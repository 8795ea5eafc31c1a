/**
 * The sets ordered by time: `scheduled`, `retry` and `dead`. All of it inside transactions, except the reads.
 *
 * @module
 */
import type { SetName } from "../port/entries.ts";
import type { Context } from "./context.ts";

/** Adds a job that isn't in another place. */
export function add(context: Context, place: SetName, at: number, job: number): void {
  context.sql("INSERT INTO member (job, place, at) VALUES (?, ?, ?)").run(job, place, Math.round(at));
}

/** Removes a job. The caller puts it in another place, or deletes it, in the same transaction. */
export function remove(context: Context, job: number): void {
  context.sql("DELETE FROM member WHERE job = ?").run(job);
}

/** Returns the number of jobs in a set. */
export function size(context: Context, place: SetName): number {
  return Number(context.sql("SELECT size FROM set_size WHERE place = ?").get(place)!.size);
}

/** Returns the due time of the next job in `scheduled` or `retry`; undefined if both are empty. */
export function nextDue(context: Context): number | undefined {
  const { at } = context.sql(
    `SELECT min(at) AS at FROM (
       SELECT (SELECT at FROM member WHERE place = 'scheduled' ORDER BY at LIMIT 1) AS at
       UNION ALL
       SELECT (SELECT at FROM member WHERE place = 'retry' ORDER BY at LIMIT 1)
     )`,
  ).get()!;
  return at === null ? undefined : Number(at);
}
