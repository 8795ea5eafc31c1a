/**
 * The rows of `queue` and `queued`: the jobs of queues and groups in their order.
 *
 * @module
 */
import type { StatementSync } from "node:sqlite";
import type { ByteBudget } from "../port/batch_bytes.ts";
import { splitName } from "../port/groups.ts";
import { CANCELLED_WORKER } from "../port/workers.ts";
import { readBounded } from "./bounded_read.ts";
import type { Context } from "./context.ts";
import { numberOf } from "./lease_workers.ts";
import { workerIn } from "../sql/workers.ts";
import { markSteps } from "./step_rows.ts";

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
  return readBounded(
    { limit, budget },
    (count, last: QueuedRow | undefined) =>
      oldest.all(queue, last?.[0] ?? after, count) as unknown as readonly QueuedRow[],
    ([, payload]) => payload,
  );
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

/** Returns a job to its place in a queue, which its number decides; inside a transaction. */
export function returnLease(context: Context, queue: number, job: number): void {
  markSteps(context, job);
  context.sql("INSERT INTO queued (queue, job) VALUES (?, ?)").run(queue, job);
  grow(context, queue, 1);
}

/**
 * Passes the leases of cancelled jobs to {@linkcode CANCELLED_WORKER}, instead of returning the jobs to their queues; inside a
 * transaction.
 *
 * @returns whether there were any
 */
export function keepCancelled(context: Context, where: string, value: string | number): boolean {
  const { sql } = context;
  const theirs = `${where} AND cancelled = 1`;
  if (sql(`SELECT 1 FROM lease WHERE ${theirs}`).get(value) === undefined) return false;
  sql(`UPDATE lease SET worker_id = ? WHERE ${theirs}`).run(numberOf(context, CANCELLED_WORKER), value);
  return true;
}

/**
 * Returns all jobs that a worker has leased to their queues, and deletes the leases, except those of cancelled jobs; inside a
 * transaction.
 */
export function returnLeases(context: Context, worker: string): void {
  const { sql } = context;
  keepCancelled(context, `worker_id = ${workerIn("?")}`, worker);
  const theirs = `FROM lease WHERE worker_id = ${workerIn("?")}`;
  const jobs = sql(`SELECT job ${theirs}`).all(worker);
  for (const { job } of jobs) markSteps(context, job as number);
  const counts = sql(`SELECT queue, count(*) AS count ${theirs} GROUP BY queue`).all(worker);
  for (const { queue, count } of counts) grow(context, queue as number, count as number);
  sql(`INSERT INTO queued (queue, job) SELECT queue, job ${theirs}`).run(worker);
  sql(`DELETE ${theirs}`).run(worker);
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
