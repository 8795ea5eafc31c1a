/**
 * Limits of queues and groups, counted from the existing leases and from the times at which jobs were taken, and the pauses of
 * groups. `configure.ts` sets them.
 *
 * @module
 */
import { asideIn } from "../../job/aside.ts";
import { PRIORITY_WEIGHTS, priorityIn } from "../../job/priority.ts";
import { type GroupLimit, nameOf } from "../port/groups.ts";
import type { LimitInfo, QueueLimit } from "../port/limits.ts";
import { type Body, query, type Row } from "./body.ts";

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
export function limitIn(row: Row): Limited | undefined {
  if (row.most_running === null && row.most_starts === null) return undefined;
  return {
    queue: Number(row.id),
    ...(row.most_running !== null && { running: Number(row.most_running) }),
    ...(row.most_starts !== null && { starts: { count: Number(row.most_starts), perMs: Number(row.starts_per) } }),
  };
}

/** Returns whether limits of groups may apply in a queue. */
export function* hasLimits(queue: number): Body<boolean> {
  return (yield query("SELECT 1 FROM group_limit WHERE queue = ?1 LIMIT 1", [queue])).length > 0;
}

/** Returns the limit of a group of a queue. @param queue undefined: it has no limits of groups */
export function* limitOf(queue: number | undefined, group: string, now: number): Body<AppliedLimit> {
  const priority = priorityIn(group);
  if (priority !== undefined) return { weight: PRIORITY_WEIGHTS[priority], isOwn: false };
  if (asideIn(group) !== undefined) return { weight: 1, isOwn: false };
  if (queue === undefined) return { weight: 1, isOwn: false };
  const rows = (yield query(
    `SELECT * FROM group_limit WHERE queue = ?1 AND name IN (?2, '') AND (until IS NULL OR until > ?3)
     ORDER BY name DESC`,
    [queue, group, now],
  )) as unknown as readonly LimitRow[];
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
 * Moves starts in the future to now: the clock was set back, and they would block the queue until it is there again. It belongs
 * before jobs are taken.
 */
export function* settle({ queue, starts }: Limited, now: number): Body<void> {
  if (starts !== undefined) yield* startNow(queue, now);
}

/** Moves the starts in the future of a queue or a group to now. */
export function* startNow(queue: number, now: number): Body<void> {
  const early = countIn(yield query(`${COUNT_STARTS} WHERE queue = ?1 AND at > ?2`, [queue, now]));
  if (early === 0) return;
  yield query("DELETE FROM start WHERE queue = ?1 AND at > ?2", [queue, now]);
  yield* add(queue, early, now);
}

/** Returns how many jobs may be taken now. */
export function* room(limited: Limited, now: number): Body<number> {
  const { running = Infinity, starts } = limited;
  const used = yield* usedOf(limited, now);
  return Math.max(0, Math.min(running - used.taken, (starts?.count ?? Infinity) - used.started));
}

/** Notes that `count` jobs were taken. */
export function* note({ queue, starts }: Limited, count: number, now: number): Body<void> {
  if (starts === undefined) return;
  yield query("DELETE FROM start WHERE queue = ?1 AND at <= ?2", [queue, now - starts.perMs]);
  yield* add(queue, count, now);
}

/** Takes back the start of a job that a worker took at this time and didn't run. */
export function* takeBack(queue: number, takenAt: number): Body<void> {
  yield query(
    `UPDATE start SET count = count - 1
     WHERE queue = ?1 AND at = (SELECT max(at) FROM start WHERE queue = ?1 AND at <= ?2 AND count > 0)`,
    [queue, takenAt],
  );
}

/** Returns the limit, and how much of it is used. */
export function* info(limited: Limited, now: number): Body<LimitInfo> {
  const { queue: _, isGroup: __, ...limit } = limited;
  const used = yield* usedOf(limited, now);
  return { ...limit, ...used, freeInMs: yield* opensInMs(limited, used, now) };
}

/** Returns the milliseconds until a job may be taken: 0 now, undefined as soon as a running job ends. */
export function* opensIn(limited: Limited, now: number): Body<number | undefined> {
  return yield* opensInMs(limited, yield* usedOf(limited, now), now);
}

/** Returns a condition on a row of `group_pause`: it lasts. @param now a parameter */
export function lasts(now: string): string {
  return `(until IS NULL OR until > ${now})`;
}

/** Returns whether a queue has paused groups. */
export function* hasPauses(queue: number, now: number): Body<boolean> {
  const text = `SELECT 1 FROM group_pause WHERE queue = ?1 AND ${lasts("?2")} LIMIT 1`;
  return (yield query(text, [queue, now])).length > 0;
}

/** Returns the milliseconds until the pause of a group ends: Infinity if it has no end, 0 if the group isn't paused. */
export function* pausedFor(queue: number, group: string, now: number): Body<number> {
  const [row] = yield query(
    `SELECT until FROM group_pause WHERE queue = ?1 AND name = ?2 AND ${lasts("?3")}`,
    [queue, group, now],
  );
  return row === undefined ? 0 : row.until === null ? Infinity : Number(row.until) - now;
}

/** Returns the number of jobs in the paused groups of a queue. */
export function* pausedJobs(queue: { readonly id: number; readonly name: string }, now: number): Body<number> {
  return countIn(
    yield query(
      `SELECT sum(size) AS n FROM group_pause JOIN queue ON queue.name = ?1 || group_pause.name
       WHERE group_pause.queue = ?2 AND ${lasts("?3")}`,
      [nameOf(queue.name, ""), queue.id, now],
    ),
  );
}

const COUNT_STARTS = "SELECT sum(count) AS n FROM start";
/** The starts that count. Those in the future don't, so that a worker tries to take, which moves them to now. */
const COUNTING = "WHERE queue = ?1 AND at > ?2 AND at <= ?3";

const GROUP_LEASES = "SELECT count(*) AS n FROM lease WHERE queue = ?1 AND from_group = 1";
const QUEUE_LEASES = `SELECT count(*) AS n FROM lease WHERE queue = ?1 OR
  (from_group > 0 AND (SELECT parent FROM queue WHERE id = lease.queue) = ?1)`;

function* add(queue: number, count: number, now: number): Body<void> {
  yield query(
    `INSERT INTO start (queue, at, count) VALUES (?1, ?2, ?3)
     ON CONFLICT (queue, at) DO UPDATE SET count = start.count + excluded.count`,
    [queue, now, count],
  );
}

function* usedOf(
  { queue, running, starts, isGroup }: Limited,
  now: number,
): Body<{ readonly taken: number; readonly started: number }> {
  const taken = running === undefined ? 0 : countIn(yield query(isGroup ? GROUP_LEASES : QUEUE_LEASES, [queue]));
  if (starts === undefined) return { taken, started: 0 };
  return { taken, started: countIn(yield query(`${COUNT_STARTS} ${COUNTING}`, [queue, now - starts.perMs, now])) };
}

function* opensInMs(
  { queue, running = Infinity, starts }: Limited,
  { taken, started }: { readonly taken: number; readonly started: number },
  now: number,
): Body<number | undefined> {
  if (taken >= running) return undefined;
  if (starts === undefined || started < starts.count) return 0;
  // More jobs may have started than the limit allows now: it was higher then. Each row counts at least one of them.
  let left = started;
  const rows = yield query(`SELECT at, count FROM start ${COUNTING} ORDER BY at LIMIT ?4`, [
    ...[queue, now - starts.perMs, now, started - starts.count + 1],
  ]);
  for (const { at, count } of rows) {
    left -= Number(count);
    // After the end of this start, a job may be taken.
    if (left < starts.count) return Number(at) + starts.perMs - now;
  }
  return 0;
}

/** Returns the number in a row that counts: null for a sum of none. */
function countIn([row]: readonly Row[]): number {
  return Number(row?.n ?? 0);
}
