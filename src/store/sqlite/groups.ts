/**
 * The rows of groups: those that are ready, in the order of their turns, and those that are held. Triggers of the schema make
 * a group ready when jobs arrive or leases end (`schema.sql`).
 *
 * @module
 */
import { laneOf } from "../../job/priority.ts";
import type { ByteBudget } from "../port/batch_bytes.ts";
import { nameOf } from "../port/groups.ts";
import { runNow } from "../sql/body.ts";
import { groupIn } from "../sql/group_rows.ts";
import { limitOf, pausedFor, room, startNow } from "../sql/limits.ts";
import type { Context } from "./context.ts";
import { arrayStatement, type QueuedRow, readOldest } from "./queues.ts";
import type { Group, Place } from "../sql/turns.ts";

/** Groups that are read together, with the oldest jobs of each: few at first, because the sizes of the jobs are unknown. */
const MIN_READ = 16;
const MAX_READ = 128;
/** Not before any job of a queue. */
const LAST = Number.MAX_SAFE_INTEGER;
/** Maximum number of held groups that a take checks if it found no other job. A change of the clock may have left one behind. */
const MAX_HEALED = 5;
/** Maximum number of held groups that are checked for starts in the future. */
const MAX_CHECKED = 5;

/** A queue. */
export interface QueueName {
  readonly id: number;
  readonly name: string;
}

interface NamedRow {
  readonly id: number;
  /** `QUEUE|GROUP`. */
  readonly name: string;
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

/** Makes held groups ready that are due; all with a time if the clock was set back. Inside a transaction. */
export function wakeDue({ sql, now }: Context, queue: number): void {
  const early = earlyStarts(sql, queue, now());
  for (const group of early) runNow(startNow(group, now()), sql);
  sql(
    `UPDATE queue SET state = 1, due_at = NULL, tag = max(tag, (SELECT vtime FROM queue WHERE id = ?1))
     WHERE parent = ?1 AND due_at <= ?2`,
  ).run(queue, early.length > 0 ? LAST : now());
}

/**
 * Returns some of the held groups with starts in the future: the clock was set back, and the times at which groups are due are too
 * late. The groups that are due last are checked. Processes may differ by less than a second.
 */
function earlyStarts(sql: Context["sql"], queue: number, now: number): number[] {
  return sql(
    `SELECT DISTINCT queue FROM start WHERE at > ?2 + 1000 AND queue IN
       (SELECT id FROM queue WHERE parent = ?1 AND due_at > ?2 ORDER BY due_at DESC LIMIT ${MAX_CHECKED})`,
  ).all(queue, now).map((row) => Number(row.queue));
}

/** Holds a group that is at its limit; inside a transaction. @param opensInMs undefined: until one of its leases ends */
export function hold({ sql, now }: Context, group: number, opensInMs: number | undefined): void {
  sql("UPDATE queue SET state = 2, due_at = ? WHERE id = ?")
    .run(opensInMs === undefined ? null : Math.ceil(now() + opensInMs), group);
}

/** Makes a few held groups ready that have room, the longest held first. Returns whether one had; inside a transaction. */
export function heal(context: Context, queue: number): boolean {
  const { sql } = context;
  const now = context.now();
  const held = sql(
    "SELECT id, name FROM queue WHERE parent = ? AND state = 2 AND due_at IS NULL ORDER BY tag LIMIT ?",
  ).all(queue, MAX_HEALED) as unknown as NamedRow[];
  const open = held.filter(({ id, name }) => {
    const group = groupIn(name);
    if (runNow(pausedFor(queue, group, now), sql) > 0) return false;
    return runNow(room({ queue: id, isGroup: true, ...runNow(limitOf(queue, group, now), sql) }, now), sql) > 0;
  });
  for (const { id } of open) sql("UPDATE queue SET state = 1 WHERE id = ?").run(id);
  return open.length > 0;
}

/** Returns the milliseconds until a group may give jobs: 0 now, undefined if that takes another event than time. */
export function readyIn(context: Context, queue: number): number | undefined {
  const { sql, now } = context;
  if (countReady(context, queue, 1) > 0) return 0;
  const due = sql("SELECT min(due_at) AS at FROM queue WHERE parent = ? AND due_at IS NOT NULL").get(queue)!.at;
  if (due === null) return undefined;
  return earlyStarts(sql, queue, now()).length > 0 ? 0 : Math.max(0, Number(due) - now());
}

type GroupRow = [id: number, name: string, tag: number, size: number];

/** A group that is ready. */
export interface ReadyGroup extends Group {
  /** Its name in the queue. */
  readonly key: string;
  /** The oldest jobs that this take has read and not leased. */
  oldest: readonly QueuedRow[];
  /** The last job that this take has leased. */
  last?: number;
  /** Jobs that this take has leased and not written yet. */
  unwritten: number;
}

/** Reads the ready groups of a queue in the order of their turns, with their oldest jobs, as far as a take needs them. */
export class GroupReader {
  readonly #context: Context;
  readonly #queue: QueueName;
  readonly #most: number;
  readonly #minTurn: number;
  readonly #high: number | undefined;
  readonly #known = new Set<number>();
  /** Jobs that were read. */
  #jobs = 0;

  /** @param high the group with the jobs of high priority */
  constructor(context: Context, queue: QueueName, high: number | undefined, most: number, minTurn: number) {
    this.#context = context;
    this.#queue = queue;
    this.#high = high;
    this.#most = most;
    this.#minTurn = minTurn;
  }

  /** Returns the group of high priority if it is ready. */
  high(): ReadyGroup[] {
    if (this.#high === undefined) return [];
    return this.#withOldest(
      this.#select("SELECT id, name, tag, size FROM queue WHERE id = ? AND state = 1", [this.#high]),
    );
  }

  /** Returns the groups that follow a place, and the last one that was read if others may follow. */
  after({ tag, id }: Place): [groups: readonly ReadyGroup[], last: Place | undefined] {
    // As many groups as the take needs if each gives the jobs of a turn. Some of them may be full.
    const needed = this.#jobs === 0 ? MIN_READ : Math.ceil((this.#most - this.#jobs) / this.#minTurn);
    const wanted = Math.min(this.#most, MAX_READ, Math.max(MIN_READ, needed));
    const rows = this.#select(
      `SELECT id, name, tag, size FROM queue WHERE parent = ?1 AND state = 1 AND (tag, id) > (?2, ?3) AND id <> ?4
       ORDER BY tag, id LIMIT ?5`,
      [this.#queue.id, tag, id, this.#high ?? -1, wanted],
    );
    const [lastId, , lastTag] = rows.at(-1) ?? [];
    return [
      // A group that has had a turn is further back once its change is written, and is read again there.
      this.#withOldest(rows.filter(([id]) => !this.#known.has(id))),
      rows.length < wanted ? undefined : { tag: lastTag!, id: lastId! },
    ];
  }

  #select(text: string, parameters: readonly number[]): GroupRow[] {
    return arrayStatement(this.#context, text).all(...parameters) as unknown as GroupRow[];
  }

  /**
   * Reads the oldest jobs of groups. The joins fix the order: by group as listed, then by job along the primary key. An `ORDER BY`
   * would sort all payloads. A group with no more jobs than a turn needs no bound.
   */
  #withOldest(rows: readonly GroupRow[]): ReadyGroup[] {
    const groups = rows.map(([id, name, tag, size]): ReadyGroup => {
      this.#known.add(id);
      return { id, key: name.slice(this.#queue.name.length + 1), tag, size, oldest: [], unwritten: 0 };
    });
    const oldest = arrayStatement(
      this.#context,
      `SELECT job.id, payload, queued.queue FROM json_each(?1) CROSS JOIN queued
         ON queued.queue = value ->> 0 AND queued.job <= iif(value ->> 1 <= ?2, ${LAST}, coalesce(
           (SELECT job FROM queued AS one WHERE one.queue = value ->> 0 ORDER BY job LIMIT 1 OFFSET ?2 - 1), ${LAST}))
         CROSS JOIN job ON job.id = queued.job`,
    ).all(JSON.stringify(groups.map(({ id, size }) => [id, size])), this.#minTurn) as unknown as QueuedRow[];
    this.#jobs += oldest.length;
    let from = 0;
    for (const group of groups) {
      let to = from;
      while (oldest[to]?.[2] === group.id) to++;
      group.oldest = oldest.slice(from, to);
      from = to;
    }
    return groups;
  }
}

/** Reads up to `most` jobs of a group, the oldest first, as far as the budget allows. */
export function readJobs(context: Context, group: ReadyGroup, most: number, budget: ByteBudget): readonly QueuedRow[] {
  const { id, oldest, size, last } = group;
  if (oldest.length < Math.min(most, size)) return readOldest(context, id, { limit: most, budget, after: last });
  let count = 0;
  while (count < most && count < oldest.length && budget.spend(oldest[count]![1])) count++;
  return oldest.slice(0, count);
}
