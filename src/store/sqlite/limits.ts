/**
 * Limits of queues, counted from the existing leases and from the times at which jobs were taken.
 *
 * @module
 */
import type { SQLOutputValue } from "node:sqlite";
import type { LimitInfo, QueueLimit } from "../port/limits.ts";
import type { Context } from "./context.ts";

/** The columns of `queue` that {@linkcode limitIn} reads. */
export const LIMIT_COLUMNS = "id, most_running, most_starts, starts_per";

/** `lease.from_group` of a job that was taken from a group of a queue whose groups may have limits: the index counts it. */
export const COUNTED = 1;
/** `lease.from_group` of a job that was taken from a group of another queue. */
export const UNCOUNTED = 2;

/** The limit of a queue or a group, and its ID. */
export interface Limited extends QueueLimit {
  readonly queue: number;
  /** The leases of a queue include those of its groups, and are counted by reading all. Default false. */
  readonly isGroup?: boolean;
}

/** Returns the limit in a row with {@linkcode LIMIT_COLUMNS}; undefined if the queue has none. */
export function limitIn(row: Record<string, SQLOutputValue>): Limited | undefined {
  if (row.most_running === null && row.most_starts === null) return undefined;
  return {
    queue: Number(row.id),
    ...(row.most_running !== null && { running: Number(row.most_running) }),
    ...(row.most_starts !== null && { starts: { count: Number(row.most_starts), perMs: Number(row.starts_per) } }),
  };
}

/** Limits a queue; inside a transaction. */
export function set(context: Context, queue: number, { running, starts }: QueueLimit): void {
  const { sql } = context;
  sql("UPDATE queue SET most_running = ?, most_starts = ?, starts_per = ? WHERE id = ?")
    .run(running ?? null, starts?.count ?? null, starts?.perMs ?? null, queue);
  if (starts === undefined) sql("DELETE FROM start WHERE queue = ?").run(queue);
}

/** Counts the running jobs of each group of a queue from now on; inside a transaction. */
export function countGroups({ sql }: Context, queue: number): void {
  sql(
    `UPDATE lease SET from_group = ${COUNTED}
     WHERE from_group = ${UNCOUNTED} AND (SELECT parent FROM queue WHERE id = lease.queue) = ?`,
  ).run(queue);
}

/**
 * Moves starts in the future to now: the clock was set back, and they would block the queue until it is there again. Call it
 * before jobs are taken; inside a transaction.
 */
export function settle(context: Context, { queue, starts }: Limited): void {
  if (starts === undefined) return;
  const { sql, now } = context;
  const at = now();
  const early = count(sql("SELECT total(count) AS n FROM start WHERE queue = ? AND at > ?").get(queue, at));
  if (early === 0) return;
  sql("DELETE FROM start WHERE queue = ? AND at > ?").run(queue, at);
  add(context, queue, early);
}

/** Returns how many jobs may be taken now. */
export function room(context: Context, limited: Limited): number {
  const { running = Infinity, starts } = limited;
  const used = usedOf(context, limited);
  return Math.max(0, Math.min(running - used.taken, (starts?.count ?? Infinity) - used.started));
}

/** Notes that `count` jobs were taken; inside a transaction. */
export function note(context: Context, { queue, starts }: Limited, count: number): void {
  if (starts === undefined) return;
  const { sql, now } = context;
  sql("DELETE FROM start WHERE queue = ? AND at <= ?").run(queue, now() - starts.perMs);
  add(context, queue, count);
}

/** Returns the limit, and how much of it is used. */
export function info(context: Context, limited: Limited): LimitInfo {
  const { queue: _, isGroup: __, ...limit } = limited;
  const used = usedOf(context, limited);
  return { ...limit, ...used, freeInMs: opensInMs(context, limited, used) };
}

/** Returns the milliseconds until a job may be taken: 0 now, undefined as soon as a running job ends. */
export function opensIn(context: Context, limited: Limited): number | undefined {
  return opensInMs(context, limited, usedOf(context, limited));
}

function add(context: Context, queue: number, count: number): void {
  const { sql, now } = context;
  sql("INSERT INTO start VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count")
    .run(queue, now(), count);
}

/** Returns how much is used. Starts in the future don't count, so that a worker tries to take, which moves them to now. */
function usedOf(context: Context, limited: Limited): { taken: number; started: number } {
  const { sql, now } = context;
  const { queue, running, starts, isGroup } = limited;
  const leases = isGroup
    ? "SELECT count(*) AS n FROM lease WHERE queue = ? AND from_group = 1"
    : `SELECT count(*) AS n FROM lease WHERE queue = ?1 OR
         (from_group > 0 AND (SELECT parent FROM queue WHERE id = lease.queue) = ?1)`;
  const taken = running === undefined ? 0 : count(sql(leases).get(queue));
  const started = starts === undefined ? 0 : count(
    sql("SELECT total(count) AS n FROM start WHERE queue = ? AND at > ? AND at <= ?")
      .get(queue, now() - starts.perMs, now()),
  );
  return { taken, started };
}

function opensInMs(
  context: Context,
  { queue, running = Infinity, starts }: Limited,
  { taken, started }: { taken: number; started: number },
): number | undefined {
  if (taken >= running) return undefined;
  if (starts === undefined || started < starts.count) return 0;
  const { sql, now } = context;
  // The start after whose end a job may be taken.
  const rows = sql("SELECT at, count FROM start WHERE queue = ? AND at > ? AND at <= ? ORDER BY at")
    .iterate(queue, now() - starts.perMs, now());
  // More jobs may have started than the limit allows now: it was higher then.
  let left = started;
  for (const { at, count } of rows) {
    left -= Number(count);
    if (left < starts.count) return Number(at) + starts.perMs - now();
  }
  return 0;
}

function count(row: Record<string, SQLOutputValue> | undefined): number {
  return Number(row?.n ?? 0);
}
