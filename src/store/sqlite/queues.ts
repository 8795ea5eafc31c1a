/**
 * The rows of `queue` and `queued`: the jobs of queues and groups in their order.
 *
 * @module
 */
import type { StatementSync } from "node:sqlite";
import type { ByteBudget } from "../port/batch_bytes.ts";
import { splitName } from "../port/groups.ts";
import { BoundedRead } from "../sql/bounded_read.ts";
import type { Context } from "./context.ts";

/** A job of a queue or a group, whose ID is present if jobs of several are read together. */
export type QueuedRow = readonly [id: number, payload: string, queue?: number];

/** Before all jobs of a queue. */
const FIRST = Number.MIN_SAFE_INTEGER;

/** `setReturnArrays` is missing in the types. */
type ArrayStatement = StatementSync & { setReturnArrays(on: boolean): void };

/** Prepares a statement that returns rows as arrays: objects take twice as long. */
export function arrayStatement(context: Context, text: string): StatementSync {
  const statement = context.sql(text) as ArrayStatement;
  statement.setReturnArrays(true);
  return statement;
}

/** Reads up to `limit` jobs of a queue or a group after a job, or its oldest, as far as the budget allows. */
export function readOldest(
  context: Context,
  queue: number,
  { limit, budget, after = FIRST }: {
    readonly limit: number;
    readonly budget: ByteBudget;
    readonly after?: number | undefined;
  },
): QueuedRow[] {
  const oldest = arrayStatement(
    context,
    `SELECT job.id, payload FROM queued CROSS JOIN job ON job.id = queued.job
     WHERE queued.queue = ? AND queued.job > ? ORDER BY queued.job LIMIT ?`,
  );
  const found = new BoundedRead<QueuedRow>({ limit, budget }, ([, payload]) => payload);
  while (found.wanted > 0) found.add(oldest.all(queue, found.last?.[0] ?? after, found.wanted));
  return found.rows;
}

/** Returns the ID of a queue, and creates its row if it has none; inside a transaction. */
export function idOf(context: Context, name: string): number {
  const { sql } = context;
  const known = sql("SELECT id FROM queue WHERE name = ?").get(name);
  if (known) return Number(known.id);
  const { queue, group } = splitName(name);
  const parent = group === undefined ? null : idOf(context, queue);
  return Number(sql("INSERT INTO queue (name, parent) VALUES (?, ?)").run(name, parent).lastInsertRowid);
}

/** New jobs with consecutive numbers for the same queue. */
export type Run = readonly [queue: number, first: number, last: number];

/** Adds new jobs to the back of their queues; inside a transaction. */
export function append(context: Context, runs: readonly Run[]): void {
  if (runs.length === 0) return;
  const { sql } = context;
  if (runs.length === 1) {
    const [queue, first, last] = runs[0]!;
    sql("INSERT INTO queued (queue, job) SELECT ?, id FROM job WHERE id BETWEEN ? AND ?").run(queue, first, last);
    return grow(context, queue, last - first + 1);
  }
  // Two statements for all: with a group per job, two per job take four times as long.
  const values = JSON.stringify(runs);
  sql(
    `INSERT INTO queued (queue, job) SELECT value ->> 0, job.id
     FROM json_each(?) CROSS JOIN job ON job.id BETWEEN value ->> 1 AND value ->> 2`,
  ).run(values);
  sql(
    `UPDATE queue SET size = size + added
     FROM (SELECT value ->> 0 AS changed, sum((value ->> 2) - (value ->> 1) + 1) AS added FROM json_each(?) GROUP BY 1)
     WHERE queue.id = changed`,
  ).run(values);
}

/** Removes a job from its queue; inside a transaction. */
export function remove(context: Context, queue: number, job: number): void {
  context.sql("DELETE FROM queued WHERE queue = ? AND job = ?").run(queue, job);
  grow(context, queue, -1);
}

/** Changes the stored size of a queue; inside a transaction. */
export function grow({ sql }: Context, queue: number, by: number): void {
  sql("UPDATE queue SET size = size + ? WHERE id = ?").run(by, queue);
}
