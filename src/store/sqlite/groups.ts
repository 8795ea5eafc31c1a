/**
 * Groups of queues: their turns and their limits. Triggers of the schema make them ready when jobs arrive or leases end
 * (`schema.sql`).
 *
 * @module
 */
import { laneOf, PRIORITY_WEIGHTS, priorityIn } from "../../job/priority.ts";
import { type GroupLimit, nameOf } from "../port/groups.ts";
import type { Context } from "./context.ts";
import { pausedFor, setPause } from "./group_pauses.ts";
import { limitIn } from "./limits.ts";
import * as limits from "./limits.ts";

/** Maximum number of idle groups that one take deletes: more than it can leave behind. */
const MAX_DELETED_GROUPS = 200;
/** Maximum number of held groups that a take checks if it found no other job. A change of the clock may have left one behind. */
const MAX_HEALED = 5;

/** The limit that applies to a group. */
export interface AppliedLimit extends GroupLimit {
  readonly weight: number;
  readonly isOwn: boolean;
  /** Just the weight is separate. */
  readonly sharesLimit?: true;
  /** When it ends, by the store's clock. */
  readonly until?: number;
}

interface GroupRow {
  readonly id: number;
  /** `QUEUE|GROUP`. */
  readonly name: string;
}

interface LimitRow {
  readonly name: string;
  readonly most_running: number | null;
  readonly most_starts: number | null;
  readonly starts_per: number | null;
  readonly weight: number | null;
  readonly until: number | null;
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

/** Returns the ID of the group of a queue with the jobs of high priority; undefined if it has none. */
export function highPriority({ sql }: Context, queue: string): number | undefined {
  return sql("SELECT id FROM queue WHERE name = ?").get(nameOf(queue, laneOf("high")))?.id as number | undefined;
}

/** Returns the number of ready groups, counted up to `most`. */
export function countReady({ sql }: Context, queue: number, most: number): number {
  return Number(
    sql("SELECT count(*) AS n FROM (SELECT 1 FROM queue WHERE parent = ? AND state = 1 LIMIT ?)").get(queue, most)!.n,
  );
}

/** Makes held groups ready that are due; inside a transaction. */
export function wakeDue({ sql, now }: Context, queue: number): void {
  sql(
    `UPDATE queue SET state = 1, due_at = NULL, tag = max(tag, (SELECT vtime FROM queue WHERE id = ?1))
     WHERE parent = ?1 AND due_at <= ?2`,
  ).run(queue, now());
}

/** Holds a group that is at its limit; inside a transaction. @param opensInMs undefined: until one of its leases ends */
export function hold({ sql, now }: Context, group: number, opensInMs: number | undefined): void {
  sql("UPDATE queue SET state = 2, due_at = ? WHERE id = ?")
    .run(opensInMs === undefined ? null : Math.ceil(now() + opensInMs), group);
}

/** Makes a few held groups ready that have room, the longest held first. Returns whether one had; inside a transaction. */
export function heal(context: Context, queue: number): boolean {
  const { sql } = context;
  const held = sql(
    "SELECT id, name FROM queue WHERE parent = ? AND state = 2 AND due_at IS NULL ORDER BY tag LIMIT ?",
  ).all(queue, MAX_HEALED) as unknown as GroupRow[];
  const open = held.filter(({ id, name }) =>
    pausedFor(context, queue, groupIn(name)) === 0 &&
    limits.room(context, { queue: id, isGroup: true, ...limitOf(context, queue, groupIn(name)) }) > 0
  );
  for (const { id } of open) sql("UPDATE queue SET state = 1 WHERE id = ?").run(id);
  return open.length > 0;
}

/** Returns the milliseconds until a group may give jobs: 0 now, undefined if that takes another event than time. */
export function readyIn(context: Context, queue: number): number | undefined {
  const { sql, now } = context;
  if (countReady(context, queue, 1) > 0) return 0;
  const due = sql("SELECT min(due_at) AS at FROM queue WHERE parent = ? AND due_at IS NOT NULL").get(queue)!.at;
  return due === null ? undefined : Math.max(0, Number(due) - now());
}

/** The state of a queue's turns after a take. */
interface Turns {
  readonly vtime: number;
  /** The virtual time of the jobs without a group. */
  readonly tag: number;
  /** Jobs that were taken from groups. */
  readonly grouped: number;
  /** Maximum number of groups to delete. */
  readonly forget: number;
}

/**
 * Stores the state of a queue's turns, and deletes idle groups without state: their tag isn't ahead of the queue's virtual
 * time, and neither a lease nor a counted start names them. Inside a transaction.
 */
export function advance(context: Context, queue: number, { vtime, tag, grouped, forget }: Turns): void {
  const { sql, now } = context;
  sql(
    `UPDATE queue SET grouped = grouped - ?4, tag = ?2, vtime = CASE WHEN grouped = ?4 AND size = 0 THEN
       max(?1, coalesce((SELECT max(tag) FROM queue WHERE parent = ?3), 0)) ELSE ?1 END WHERE id = ?3`,
  ).run(vtime, tag, queue, grouped);
  const idle = sql(
    `SELECT id, name FROM queue WHERE parent = ?1 AND state = 0 AND tag <= (SELECT vtime FROM queue WHERE id = ?1)
       AND id NOT IN (SELECT queue FROM lease WHERE from_group > 0) LIMIT ?2`,
  ).all(queue, Math.min(MAX_DELETED_GROUPS, forget)) as unknown as GroupRow[];
  if (idle.length === 0) return;
  const mayBeLimited = hasLimits(context, queue);
  for (const { id, name } of idle) {
    if (mayBeLimited) {
      const { starts } = limitOf(context, queue, groupIn(name));
      sql("DELETE FROM start WHERE queue = ? AND at <= ?").run(id, starts ? now() - starts.perMs : now());
    } else sql("DELETE FROM start WHERE queue = ?").run(id);
    sql("DELETE FROM queue WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM start WHERE queue = ?1)").run(id);
  }
}

/** Limits a group, or with the name "" each without a separate limit; inside a transaction. */
export function setLimit(context: Context, queue: number, name: string, limit: GroupLimit): void {
  const { sql, now } = context;
  const { running, starts, weight, forMs } = limit;
  if (!hasLimits(context, queue)) limits.countGroups(context, queue);
  if (running === undefined && starts === undefined && weight === undefined) {
    sql("DELETE FROM group_limit WHERE queue = ? AND name = ?").run(queue, name);
  } else {
    sql("INSERT OR REPLACE INTO group_limit VALUES (?, ?, ?, ?, ?, ?, ?)").run(
      ...[queue, name, running ?? null, starts?.count ?? null, starts?.perMs ?? null, weight ?? null],
      forMs === undefined ? null : Math.round(now() + forMs),
    );
  }
  wake(context, queue, name);
}

/** Pauses a group, or resumes it; inside a transaction. @param until see `setPause` */
export function pauseGroup(context: Context, queue: number, group: string, until: number | null | undefined): void {
  setPause(context, queue, group, until);
  wake(context, queue, group);
}

/**
 * Makes a held group ready, or with the name "" each of them. Groups that are full or paused are held again at their next
 * turn; inside a transaction.
 */
function wake(context: Context, queue: number, group: string): void {
  context.sql(
    `UPDATE queue SET state = 1, due_at = NULL, tag = max(tag, (SELECT vtime FROM queue WHERE id = ?1))
     WHERE parent = ?1 AND state = 2 AND (?2 = '' OR name = ?3)`,
  ).run(queue, group, nameOf(nameOfQueue(context, queue), group));
}

/** Returns the group in `QUEUE|GROUP`. */
export function groupIn(name: string): string {
  return name.slice(name.indexOf("|") + 1);
}

function nameOfQueue({ sql }: Context, id: number): string {
  return String(sql("SELECT name FROM queue WHERE id = ?").get(id)!.name);
}

/** Returns a name that was read as bytes: the driver cuts a text at a NUL. */
export function wholeName({ name }: Readonly<Record<string, unknown>>): string {
  return new TextDecoder().decode(name as Uint8Array);
}
