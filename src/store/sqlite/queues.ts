/**
 * The rows of `queue` and `queued`: the jobs of queues and groups, pauses, limits.
 *
 * @module
 */
import type { QueueSettings } from "../admin/admin.ts";
import { type GroupPage, type GroupRequest, splitName } from "../port/groups.ts";
import { ALL_QUEUES } from "../port/paused_queues.ts";
import { CANCELLED_WORKER } from "../port/workers.ts";
import type { Context } from "./context.ts";
import { forgetEnded, hasPauses, pausedJobs } from "./group_pauses.ts";
import { readGroups } from "./group_pages.ts";
import { advance, pauseGroup, readyIn, setLimit } from "./groups.ts";
import { numberOf } from "./lease_workers.ts";
import { workerIn } from "../sql/workers.ts";
import { LIMIT_COLUMNS, type Limited, limitIn } from "./limits.ts";
import * as limits from "./limits.ts";
import { markSteps } from "./step_rows.ts";

/** A queue that has jobs and isn't paused. */
export interface OpenQueue {
  readonly id: number;
  readonly limit: Limited | undefined;
  /** Number of its jobs in groups. */
  readonly grouped: number;
  /** Whether it has groups, with jobs or with a tag ahead of the queue's virtual time. */
  readonly hasGroups: boolean;
  /** Whether it has jobs without a group. */
  readonly hasUngrouped: boolean;
}

/** A queue that gives a job within this time is checked often: the check reads all starts that count. */
const SOON_MS = 1_000;

/** Returns whether a queue has jobs that may be taken; "soon" if one may be taken within {@linkcode SOON_MS}. */
export function hasWork(context: Context, name: string): boolean | "soon" {
  const open = openQueue(context, name);
  if (open === undefined || areAllPaused(context)) return false;
  const opensInMs = open.limit === undefined ? 0 : limits.opensIn(context, open.limit);
  const readyInMs = open.grouped > 0 && !open.hasUngrouped ? readyIn(context, open.id) : 0;
  const inMs = opensInMs === undefined || readyInMs === undefined ? undefined : Math.max(opensInMs, readyInMs);
  return inMs === 0 || inMs !== undefined && inMs <= SOON_MS && "soon";
}

/** See `JobStore.hasQueuedJobs`. */
export function hasQueuedJobs(context: Context, names: readonly string[]): boolean {
  return !areAllPaused(context) && names.some((name) => {
    const open = openQueue(context, name);
    if (open === undefined || open.hasUngrouped) return open !== undefined;
    return !hasPauses(context, open.id) || pausedJobs(context, { id: open.id, name }) < open.grouped;
  });
}

/** Returns the queue if it has jobs and isn't paused. */
export function openQueue({ sql, now }: Context, name: string): OpenQueue | undefined {
  const row = sql(
    `SELECT ${LIMIT_COLUMNS}, size, grouped, EXISTS (SELECT 1 FROM queue AS one WHERE one.parent = queue.id) AS has_groups
     FROM queue
     WHERE name = ? AND (paused = 0 OR paused_until <= ?) AND (size > 0 OR grouped > 0)`,
  ).get(name, now());
  return row && {
    id: Number(row.id),
    limit: limitIn(row),
    grouped: Number(row.grouped),
    hasGroups: row.has_groups === 1,
    hasUngrouped: Number(row.size) > 0,
  };
}

/** Returns whether all queues are paused together. */
export function areAllPaused({ sql, now }: Context): boolean {
  const paused = sql("SELECT paused_until FROM queue WHERE name = ? AND paused = 1").get(ALL_QUEUES);
  return paused !== undefined && (paused.paused_until === null || Number(paused.paused_until) > now());
}

/** See `AdminStore.configure`. */
export function configure(context: Context, name: string, settings: QueueSettings): Promise<boolean> {
  return context.commit.run(() => {
    if ("forget" in settings) return forget(context, name);
    if ("pause" in settings) pause(context, name, settings.pause, settings.group);
    else if (!("group" in settings || "eachGroup" in settings)) {
      limits.set(context, idOf(context, name), settings.limit);
    } else setLimit(context, idOf(context, name), "group" in settings ? settings.group : "", settings.limit);
    return true;
  });
}

function pause(context: Context, name: string, forMs: boolean | number, group: string | undefined): void {
  const { sql, now } = context;
  const isResumed = forMs === false || forMs !== true && forMs <= 0;
  const until = isResumed ? undefined : forMs === true ? null : Math.round(now() + forMs);
  if (group !== undefined) pauseGroup(context, idOf(context, name), group, until);
  else if (until === undefined) sql("UPDATE queue SET paused = 0 WHERE name = ?").run(name);
  else sql("UPDATE queue SET paused = 1, paused_until = ? WHERE id = ?").run(until, idOf(context, name));
}

/** See `AdminStore.groups`. */
export function groups(context: Context, name: string, request: GroupRequest = {}): Promise<GroupPage> {
  return context.read(() => readGroups(context, name, request));
}

/** Forgets a queue. One with a leased job stays, because the lease names its row; inside a transaction. */
function forget(context: Context, name: string): boolean {
  const { sql, now } = context;
  const known = sql("SELECT id, vtime, tag FROM queue WHERE name = ? AND grouped = 0").get(name);
  if (known) {
    const { id, vtime, tag } = known as unknown as { id: number; vtime: number; tag: number };
    advance(context, id, { vtime, tag, grouped: 0, forget: Infinity });
    forgetEnded(context, id);
  }
  return sql(
    `DELETE FROM queue WHERE name = ? AND parent IS NULL AND size = 0 AND (paused = 0 OR paused_until <= ?)
     AND most_running IS NULL AND most_starts IS NULL
     AND NOT EXISTS (SELECT 1 FROM lease WHERE lease.queue = queue.id)
     AND NOT EXISTS (SELECT 1 FROM queue AS one WHERE one.parent = queue.id)
     AND NOT EXISTS (SELECT 1 FROM group_limit WHERE group_limit.queue = queue.id)
     AND NOT EXISTS (SELECT 1 FROM group_pause WHERE group_pause.queue = queue.id)`,
  ).run(name, now()).changes > 0;
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
