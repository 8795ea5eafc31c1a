/**
 * Limits of queues and groups, counted from the existing leases and from the times at which jobs were taken, and the pauses of
 * groups. `configure.ts` sets them.
 *
 * @module
 */
import type { SQLOutputValue } from "node:sqlite";
import { PRIORITY_WEIGHTS, priorityIn } from "../../job/priority.ts";
import { type GroupLimit, nameOf } from "../port/groups.ts";
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

/** The limit that applies to a group. */
export interface AppliedLimit extends GroupLimit {
  readonly weight: number;
  readonly isOwn: boolean;
  /** Just the weight is separate. */
  readonly sharesLimit?: true;
  /** When it ends, by the store's clock. */
  readonly until?: number;
}

interface LimitRow {
  readonly name: string;
  readonly most_running: number | null;
  readonly most_starts: number | null;
  readonly starts_per: number | null;
  readonly weight: number | null;
  readonly until: number | null;
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

/** Returns whether limits of groups may apply in a queue. */
export function hasLimits({ sql }: Context, queue: number): boolean {
  return sql("SELECT 1 FROM group_limit WHERE queue = ? LIMIT 1").get(queue) !== undefined;
}

/** Returns the limit of a group of a queue. @param queue undefined: it has no limits of groups */
export function limitOf({ sql, now }: Context, queue: number | undefined, group: string): AppliedLimit {
  const priority = priorityIn(group);
  if (priority !== undefined) return { weight: PRIORITY_WEIGHTS[priority], isOwn: false };
  if (queue === undefined) return { weight: 1, isOwn: false };
  const rows = sql(
    "SELECT * FROM group_limit WHERE queue = ? AND name IN (?, '') AND (until IS NULL OR until > ?) ORDER BY name DESC",
  ).all(queue, group, now()) as unknown as LimitRow[];
  const [first] = rows;
  if (first === undefined) return { weight: 1, isOwn: false };
  const weight = rows.find((row) => row.weight !== null)?.weight ?? 1;
  // A group with just a weight keeps the limit of each group.
  const limiting = rows.find((row) => row.most_running !== null || row.most_starts !== null) ?? first;
  return {
    ...partsOf(limiting),
    weight,
    isOwn: first.name !== "",
    ...(limiting !== first && { sharesLimit: true as const }),
    ...(first.until !== null && { until: first.until }),
  };
}

function partsOf(row: LimitRow): GroupLimit {
  const { queue: _, ...limit } = { queue: 0, ...limitIn({ ...row, id: 0 }) };
  return limit;
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
