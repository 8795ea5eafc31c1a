/**
 * The sets by time: jobs wait there until they are due, or stay there when they are dead.
 *
 * @module
 */
import type { SetName } from "../admin/admin.ts";
import type { Context } from "./context.ts";

/** Adds a job that is in no other place. */
export function add(context: Context, place: SetName, at: number, job: number): void {
  context.sql("INSERT INTO member (job, place, at) VALUES (?, ?, ?)").run(job, place, Math.round(at));
}

/** Takes a job out; it must go to another place, or be deleted, in the same transaction. */
export function remove(context: Context, job: number): void {
  context.sql("DELETE FROM member WHERE job = ?").run(job);
}

/** How many a set has. */
export function size(context: Context, place: SetName): number {
  return Number(context.sql("SELECT size FROM set_size WHERE place = ?").get(place)!.size);
}

/** When the next job is due, in `scheduled` or `retry`. */
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
