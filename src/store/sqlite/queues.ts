/**
 * The rows of `queue` and `queued`: the jobs of queues and groups in their order.
 *
 * @module
 */
import type { StatementSync } from "node:sqlite";
import type { ByteBudget } from "../port/batch_bytes.ts";
import { runNow } from "../sql/body.ts";
import { BoundedRead } from "../sql/bounded_read.ts";
import { inTexts } from "../sql/in_parts.ts";
import { grow } from "../sql/queue_rows.ts";
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

/** New jobs with consecutive numbers for the same queue. */
export type Run = readonly [queue: number, first: number, last: number];

/** Adds new jobs to the back of their queues; inside a transaction. */
export function append(context: Context, runs: readonly Run[]): void {
  if (runs.length === 0) return;
  const { sql } = context;
  if (runs.length === 1) {
    const [queue, first, last] = runs[0]!;
    sql("INSERT INTO queued (queue, job) SELECT ?, id FROM job WHERE id BETWEEN ? AND ?").run(queue, first, last);
    return runNow(grow(queue, last - first + 1), sql);
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

/** Returns whether one of some queues has jobs, paused or not. */
export function haveJobs({ sql }: Pick<Context, "sql">, names: readonly string[]): boolean {
  return inTexts(names, "name").some(({ where, values }) =>
    sql(`SELECT 1 FROM queue WHERE ${where} AND (size > 0 OR grouped > 0) LIMIT 1`).get(...values) !== undefined
  );
}
