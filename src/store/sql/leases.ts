/**
 * The rows of `lease`: which worker has a job, and how a lease ends without an outcome.
 *
 * @module
 */
import { CANCELLED_WORKER } from "../port/workers.ts";
import { type Body, type Engine, type LeaseParts, query } from "./body.ts";
import { inParts } from "./in_parts.ts";
import { add } from "./queue_rows.ts";
import { markReturned } from "./step_rows.ts";
import { workerIn } from "./workers.ts";

/**
 * Returns the number of a worker. A new one gets it here, and those that are gone lose theirs: on SQLite, where no take runs
 * meanwhile. On PostgreSQL, only cancelled jobs get theirs here.
 */
export function* numberOf(worker: string): Body<number> {
  const [known] = yield query("SELECT id FROM lease_worker WHERE worker = ?1", [worker]);
  if (known !== undefined) return Number(known.id);
  if (worker !== CANCELLED_WORKER) {
    yield query(
      `DELETE FROM lease_worker WHERE worker <> '${CANCELLED_WORKER}'
       AND worker NOT IN (SELECT id FROM worker) AND id NOT IN (SELECT worker_id FROM lease)`,
    );
  }
  const [created] = yield query(
    "INSERT INTO lease_worker (worker) VALUES (?1) ON CONFLICT (worker) DO UPDATE SET worker = excluded.worker RETURNING id",
    [worker],
  );
  return Number(created!.id);
}

/** See `JobStore.stillLeased`. */
export function* stillLeased(worker: string, tokens?: readonly string[]): Body<string[]> {
  if (tokens === undefined) {
    const rows = yield query(`SELECT job, take FROM lease WHERE worker_id = ${workerIn("?1")} ORDER BY job`, [worker]);
    return rows.map(({ job, take }) => `${job}.${take}`);
  }
  const parsed = tokens.map(parseToken);
  const held = yield* findLeases(worker, parsed);
  return tokens.filter((_, i) => parsed[i] !== undefined && held.get(parsed[i].job) === parsed[i].take);
}

/** Returns the takes that leased these jobs to `worker`, by job. Reads a row per take: a row per job costs more. */
export function* findLeases(
  worker: string,
  tokens: readonly (LeaseParts | undefined)[],
): Body<Map<number, string>> {
  const held = new Map<number, string>();
  for (const { where, values } of inParts(tokens.flatMap((token) => token?.job ?? []), "job")) {
    const worksFor = workerIn(`?${values.length + 1}`);
    const rows = yield query(
      `SELECT take, string_agg(CAST(job AS TEXT), ',') AS jobs FROM lease WHERE ${where} AND worker_id = ${worksFor} GROUP BY take`,
      [...values, worker],
    );
    for (const { take, jobs } of rows) {
      for (const job of (jobs as string).split(",")) held.set(Number(job), String(take));
    }
  }
  return held;
}

/** Parses a token; undefined if it isn't one. */
export function parseToken(text: string): LeaseParts | undefined {
  const dot = text.indexOf(".");
  const job = Number(text.slice(0, dot));
  return dot > 0 && Number.isSafeInteger(job) ? { job, take: text.slice(dot + 1) } : undefined;
}

/**
 * Returns a job to its place in a queue, which its number decides.
 *
 * @param hasBegun whether it may have started
 */
export function* returnLease(engine: Engine, queue: number, job: number, hasBegun: boolean): Body<void> {
  yield* markReturned(job, hasBegun);
  yield* add(engine, queue, job);
}

/** Returns those of the jobs that are cancelled. The caller has their leases. */
export function* cancelledOf(jobs: readonly number[]): Body<ReadonlySet<number>> {
  const cancelled = new Set<number>();
  for (const { where, values } of inParts(jobs, "job")) {
    for (const { job } of yield query(`SELECT job FROM lease WHERE ${where} AND cancelled = 1`, values)) {
      cancelled.add(Number(job));
    }
  }
  return cancelled;
}

/**
 * Passes the leases of cancelled jobs to {@linkcode CANCELLED_WORKER}, instead of returning the jobs to their queues.
 *
 * @param where a condition with the parameter `?1`
 * @returns whether there were any
 */
export function* keepCancelled(where: string, value: string | number): Body<boolean> {
  const theirs = `${where} AND cancelled = 1`;
  if ((yield query(`SELECT 1 FROM lease WHERE ${theirs}`, [value])).length === 0) return false;
  const number = yield* numberOf(CANCELLED_WORKER);
  return (yield query(`UPDATE lease SET worker_id = ?2 WHERE ${theirs} RETURNING 1`, [value, number])).length > 0;
}
