/**
 * Pauses of groups. A paused group with jobs is held at its next turn.
 *
 * @module
 */
import { nameOf } from "../port/groups.ts";
import type { Context } from "./context.ts";

/** A condition on a row of `group_pause`, with one parameter: now. */
const LASTS = "(until IS NULL OR until > ?)";

/** Returns whether a queue has paused groups. */
export function hasPauses({ sql, now }: Context, queue: number): boolean {
  return sql(`SELECT 1 FROM group_pause WHERE queue = ? AND ${LASTS} LIMIT 1`).get(queue, now()) !== undefined;
}

/** Returns the milliseconds until the pause of a group ends: Infinity if it has no end, 0 if the group isn't paused. */
export function pausedFor({ sql, now }: Context, queue: number, group: string): number {
  const row = sql(`SELECT until FROM group_pause WHERE queue = ? AND name = ? AND ${LASTS}`).get(queue, group, now());
  return row === undefined ? 0 : row.until === null ? Infinity : Number(row.until) - now();
}

/** Returns the number of jobs in the paused groups of a queue. */
export function pausedJobs({ sql, now }: Context, queue: { readonly id: number; readonly name: string }): number {
  const prefix = nameOf(queue.name, "");
  return Number(
    sql(
      `SELECT total(size) AS n FROM group_pause JOIN queue ON queue.name = ? || group_pause.name
       WHERE group_pause.queue = ? AND ${LASTS}`,
    ).get(prefix, queue.id, now())!.n,
  );
}

/** Stores the pause of a group; inside a transaction. @param until null: it has no end; undefined: the group is resumed */
export function setPause({ sql, now }: Context, queue: number, group: string, until: number | null | undefined): void {
  forgetEnded({ sql, now }, queue);
  if (until === undefined) sql("DELETE FROM group_pause WHERE queue = ? AND name = ?").run(queue, group);
  else sql("INSERT OR REPLACE INTO group_pause VALUES (?, ?, ?)").run(queue, group, until);
}

/** Deletes the pauses that have ended; inside a transaction. */
export function forgetEnded({ sql, now }: Pick<Context, "sql" | "now">, queue: number): void {
  sql("DELETE FROM group_pause WHERE queue = ? AND until <= ?").run(queue, now());
}
