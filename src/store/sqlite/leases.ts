/**
 * The end of all leases of a worker.
 *
 * @module
 */
import { runNow } from "../sql/body.ts";
import { keepCancelled } from "../sql/leases.ts";
import { grow } from "../sql/queue_rows.ts";
import { markReturned } from "../sql/step_rows.ts";
import { workerIn } from "../sql/workers.ts";
import type { Context } from "./context.ts";

/**
 * Returns all jobs that a worker has leased to their queues, and deletes the leases, except those of cancelled jobs; inside a
 * transaction.
 */
export function returnLeases({ sql }: Context, worker: string): void {
  runNow(keepCancelled(`worker_id = ${workerIn("?1")}`, worker), sql);
  const theirs = `FROM lease WHERE worker_id = ${workerIn("?")}`;
  const jobs = sql(`SELECT job ${theirs}`).all(worker);
  for (const { job } of jobs) runNow(markReturned(job as number, true), sql);
  const counts = sql(`SELECT queue, count(*) AS count ${theirs} GROUP BY queue`).all(worker);
  for (const { queue, count } of counts) runNow(grow(queue as number, count as number), sql);
  sql(`INSERT INTO queued (queue, job) SELECT queue, job ${theirs}`).run(worker);
  sql(`DELETE ${theirs}`).run(worker);
}
