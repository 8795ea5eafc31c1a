/**
 * One take: which jobs it has leased, and how a list of jobs becomes leases.
 *
 * @module
 */
import type { StatementSync } from "node:sqlite";
import type { ByteBudget } from "../port/batch_bytes.ts";
import type { Lease } from "../port/jobs.ts";
import { CancelledBatches } from "./batch_rows.ts";
import { readBounded } from "./bounded_read.ts";
import type { Context } from "./context.ts";
import { numberOf } from "./lease_workers.ts";
import { grow } from "./queues.ts";
import * as locks from "./unique_locks.ts";

/** The state of one take. */
export interface Take {
  readonly worker: string;
  /** Unique among the takes of the worker: the tokens contain it. */
  readonly number: number;
  /** See `TakeRequest.minTurn`. */
  readonly minTurn: number;
  readonly budget: ByteBudget;
  readonly leases: Lease[];
}

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

/** Reads up to `most` jobs of a queue or a group after a job, or its oldest, as far as the take's budget allows. */
export function readOldest(context: Context, queue: number, most: number, take: Take, after = FIRST): QueuedRow[] {
  const oldest = arrayStatement(
    context,
    `SELECT job.id, payload FROM queued CROSS JOIN job ON job.id = queued.job
     WHERE queued.queue = ? AND queued.job > ? ORDER BY queued.job LIMIT ?`,
  );
  return readBounded(
    { limit: most, budget: take.budget },
    (count, last: QueuedRow | undefined) =>
      oldest.all(queue, last?.[0] ?? after, count) as unknown as readonly QueuedRow[],
    ([, payload]) => payload,
  );
}

/** Adds the leases of jobs to the take's result, and releases the locks that last until a job starts. */
export function addLeases(
  context: Context,
  rows: readonly QueuedRow[],
  from: Pick<Lease, "queue" | "group">,
  take: Take,
): void {
  const cancelled = new CancelledBatches(context);
  for (const [job, payload] of rows) {
    const lease: Lease = { token: `${job}.${take.number}`, ...from, payload };
    take.leases.push(cancelled.has(payload) ? { ...lease, cancelled: true } : lease);
    locks.releaseStarted(context, payload);
  }
}

/** Leases the oldest jobs of a queue, without those of its groups. Returns their number. */
export function leaseOldest(context: Context, id: number, queue: string, most: number, take: Take): number {
  const { sql, now } = context;
  const rows = readOldest(context, id, most, take);
  if (rows.length === 0) return 0;
  const [last] = rows.at(-1)!;
  sql(
    "INSERT INTO lease (job, queue, worker_id, take, at) SELECT job, queue, ?, ?, ? FROM queued WHERE queue = ? AND job <= ?",
  )
    .run(numberOf(context, take.worker), take.number, now(), id, last);
  sql("DELETE FROM queued WHERE queue = ? AND job <= ?").run(id, last);
  grow(context, id, -rows.length);
  addLeases(context, rows, { queue }, take);
  return rows.length;
}
