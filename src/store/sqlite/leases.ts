/**
 * The rows of `lease`: which worker has a job, and how a lease ends without an outcome.
 *
 * @module
 */
import { CANCELLED_WORKER } from "../port/workers.ts";
import { workerIn } from "../sql/workers.ts";
import { runNow } from "../sql/body.ts";
import { markSteps } from "../sql/step_rows.ts";
import type { Context } from "./context.ts";
import { inParts } from "../sql/in_parts.ts";
import { grow } from "../sql/queue_rows.ts";

/** The parts of a token: the job, and the take. */
export interface Token {
  readonly job: number;
  readonly take: string;
}

/** Returns the number of a worker. A new one gets it here, and those that are gone lose theirs; inside a transaction. */
export function numberOf({ sql }: Context, worker: string): number {
  const known = sql("SELECT id FROM lease_worker WHERE worker = ?").get(worker);
  if (known !== undefined) return Number(known.id);
  sql(
    `DELETE FROM lease_worker
     WHERE worker NOT IN (SELECT id FROM worker) AND id NOT IN (SELECT worker_id FROM lease)`,
  ).run();
  return Number(sql("INSERT INTO lease_worker (worker) VALUES (?)").run(worker).lastInsertRowid);
}

/** See `JobStore.stillLeased`. */
export function stillLeased(context: Context, worker: string, tokens?: readonly string[]): string[] {
  if (tokens === undefined) {
    const rows = context.sql(`SELECT job, take FROM lease WHERE worker_id = ${workerIn("?1")} ORDER BY job`).all(
      worker,
    );
    return rows.map(({ job, take }) => `${job}.${take}`);
  }
  const parsed = tokens.map(parseToken);
  const held = find(context, worker, parsed);
  return tokens.filter((_, i) => parsed[i] !== undefined && held.get(parsed[i].job) === parsed[i].take);
}

/** Returns the takes that leased these jobs to `worker`, by job. Reads a row per take: a row per job costs more. */
export function find(context: Context, worker: string, tokens: readonly (Token | undefined)[]): Map<number, string> {
  const held = new Map<number, string>();
  for (const { where, values } of inParts(tokens.flatMap((token) => token?.job ?? []), "job")) {
    const worksFor = workerIn(`?${values.length + 1}`);
    const rows = context.sql(
      `SELECT take, group_concat(job) AS jobs FROM lease WHERE ${where} AND worker_id = ${worksFor} GROUP BY take`,
    ).all(...values, worker);
    for (const { take, jobs } of rows) {
      for (const job of (jobs as string).split(",")) held.set(Number(job), String(take));
    }
  }
  return held;
}

/** Parses a token; undefined if it isn't one. */
export function parseToken(text: string): Token | undefined {
  const dot = text.indexOf(".");
  const job = Number(text.slice(0, dot));
  return dot > 0 && Number.isSafeInteger(job) ? { job, take: text.slice(dot + 1) } : undefined;
}

/** Returns a job to its place in a queue, which its number decides; inside a transaction. */
export function returnLease(context: Context, queue: number, job: number): void {
  runNow(markSteps(job), context.sql);
  context.sql("INSERT INTO queued (queue, job) VALUES (?, ?)").run(queue, job);
  runNow(grow(queue, 1), context.sql);
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
  for (const { job } of jobs) runNow(markSteps(job as number), sql);
  const counts = sql(`SELECT queue, count(*) AS count ${theirs} GROUP BY queue`).all(worker);
  for (const { queue, count } of counts) runNow(grow(queue as number, count as number), sql);
  sql(`INSERT INTO queued (queue, job) SELECT queue, job ${theirs}`).run(worker);
  sql(`DELETE ${theirs}`).run(worker);
}
