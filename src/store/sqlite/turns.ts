/**
 * Leases jobs from the groups of a queue in turn: see `port/groups.ts`. A take reads the groups in the order of their turns, and
 * writes the changes of all of them together: a statement per group would take three times as long.
 *
 * @module
 */
import { HEAD_START } from "../../job/priority.ts";
import { MAX_QUANTUM } from "../port/groups.ts";
import type { Context } from "./context.ts";
import { hasPauses, pausedFor } from "./group_pauses.ts";
import { advance, countReady, hasLimits, heal, highPriority, hold, limitOf, wakeDue } from "./groups.ts";
import { addLeases, arrayStatement, leaseOldest, type QueuedRow, readOldest, type Take } from "./leasing.ts";
import * as limits from "./limits.ts";

/** A take holds at most this many full groups beyond the jobs it may take: the next one continues. */
const MAX_HELD_AT_ONCE = 100;
/** Groups that are read together, with the oldest jobs of each: few at first, because the sizes of the jobs are unknown. */
const MIN_READ = 16;
const MAX_READ = 128;

/** A group that is ready. */
interface ReadyGroup {
  readonly id: number;
  /** Its name in the queue. */
  readonly key: string;
  /** Its virtual time. */
  tag: number;
  /** Jobs left. */
  size: number;
  /** The oldest jobs that this take has read and not leased. */
  oldest: readonly QueuedRow[];
  /** The last job that this take has leased. */
  last?: number;
  /** Jobs that this take has leased and not written yet. */
  unwritten: number;
}

/** Leases jobs of a queue that has groups. Jobs without a group count as one of them. Returns the number of jobs. */
export function leaseInTurn(
  context: Context,
  queue: { readonly id: number; readonly name: string },
  most: number,
  take: Take,
): number {
  const { sql, now } = context;
  wakeDue(context, queue.id);
  const mayBePaused = hasPauses(context, queue.id);
  const mayBeLimited = hasLimits(context, queue.id);
  const row = sql("SELECT size, tag, vtime FROM queue WHERE id = ?").get(queue.id)!;
  let { size, tag, vtime } = row as unknown as { size: number; tag: number; vtime: number };
  let count = 0;
  let ready = countReady(context, queue.id, Math.ceil(most / take.minTurn)) + (size > 0 ? 1 : 0);
  let looked = 0;
  let groups = new ReadyGroups(context, queue, most, take.minTurn);
  const changes = new Changes(context, take, mayBeLimited);
  while (count < most && !take.budget.isSpent && looked < most + MAX_HELD_AT_ONCE) {
    const group = groups.first();
    tag = Math.max(tag, vtime);
    const isUngrouped = size > 0 && (group === undefined || tag <= groups.turnOf(group));
    if (group === undefined && !isUngrouped) {
      if (count > 0 || !heal(context, queue.id)) break;
      groups = new ReadyGroups(context, queue, most, take.minTurn);
      looked += MAX_HELD_AT_ONCE;
      continue;
    }
    looked++;
    const quantum = Math.min(MAX_QUANTUM, Math.max(take.minTurn, Math.floor(most / Math.max(1, ready))));
    if (isUngrouped) {
      vtime = tag;
      const taken = leaseOldest(context, queue.id, queue.name, Math.min(most - count, quantum), take);
      size -= taken;
      tag += taken;
      count += taken;
      if (taken === 0) break;
      continue;
    }
    const { id, key } = group!;
    vtime = Math.max(vtime, groups.turnOf(group!));
    groups.removeFirst();
    const limit = limitOf(context, mayBeLimited ? queue.id : undefined, key);
    const limited = { queue: id, isGroup: true, ...limit };
    const isLimited = limit.running !== undefined || limit.starts !== undefined;
    let room = Math.min(most - count, Math.max(1, Math.floor(quantum * limit.weight)));
    if (isLimited || mayBePaused) {
      // The leases of an earlier turn count.
      if (group!.unwritten > 0) changes.write();
      limits.settle(context, limited);
      const pausedMs = mayBePaused ? pausedFor(context, queue.id, key) : 0;
      const opensInMs = limits.opensIn(context, limited);
      if (pausedMs > 0 || opensInMs !== 0) {
        const endMs = endOf(opensInMs, limit.until, now());
        hold(context, id, pausedMs === 0 ? endMs : pausedMs === Infinity ? undefined : pausedMs);
        ready--;
        continue;
      }
      room = Math.min(room, limits.room(context, limited));
    }
    const rows = groups.read(group!, room, take);
    if (rows.length === 0) break;
    addLeases(context, rows, { queue: queue.name, group: key }, take);
    limits.note(context, limited, rows.length);
    group!.tag = Math.max(vtime, group!.tag) + rows.length / limit.weight;
    changes.add(group!, rows);
    count += rows.length;
    if (group!.size > 0) groups.add(group!);
  }
  changes.write();
  advance(context, queue.id, { vtime, tag, grouped: changes.total, forget: 2 * (count + 1) });
  return count;
}

/** The ready groups of a queue in the order of their turns. */
class ReadyGroups {
  readonly #context: Context;
  readonly #queue: { readonly id: number; readonly name: string };
  readonly #most: number;
  readonly #minTurn: number;
  readonly #high: number | undefined;
  /** Those that are read and ready, the next one last. */
  readonly #groups: ReadyGroup[] = [];
  /** The IDs of those that were read. */
  readonly #known = new Set<number>();
  /** The last group that was read. */
  #after: { readonly tag: number; readonly id: number } | undefined = { tag: -Infinity, id: 0 };
  /** Jobs that were read. */
  #jobs = 0;

  constructor(
    context: Context,
    queue: { readonly id: number; readonly name: string },
    most: number,
    minTurn: number,
  ) {
    this.#context = context;
    this.#queue = queue;
    this.#most = most;
    this.#minTurn = minTurn;
    this.#high = highPriority(context, queue.name);
    if (this.#high !== undefined) this.#readHigh(this.#high);
  }

  /** Returns the group whose turn is next; undefined if none is ready. */
  first(): ReadyGroup | undefined {
    for (;;) {
      const first = this.#groups.at(-1);
      if (this.#after === undefined) return first;
      // A group that wasn't read comes after those that were.
      if (first !== undefined && !this.#isBefore(this.#after, first)) return first;
      this.#readMore();
    }
  }

  /** Returns the virtual time of a group's turn. */
  turnOf({ id, tag }: { readonly id: number; readonly tag: number }): number {
    return id === this.#high ? tag - HEAD_START : tag;
  }

  removeFirst(): void {
    this.#groups.pop();
  }

  /** Adds a group that has had its turn, and has jobs left. */
  add(group: ReadyGroup): void {
    let [from, to] = [0, this.#groups.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#isBefore(group, this.#groups[middle]!)) from = middle + 1;
      else to = middle;
    }
    this.#groups.splice(from, 0, group);
  }

  /** Reads up to `most` jobs of a group, the oldest first. */
  read(group: ReadyGroup, most: number, take: Take): readonly QueuedRow[] {
    const { oldest } = group;
    if (oldest.length < Math.min(most, group.size)) {
      return readOldest(this.#context, group.id, most, take, group.last);
    }
    let count = 0;
    while (count < most && count < oldest.length && take.budget.spend(oldest[count]![1])) count++;
    return oldest.slice(0, count);
  }

  #isBefore(one: { readonly id: number; readonly tag: number }, other: ReadyGroup): boolean {
    const difference = this.turnOf(one) - this.turnOf(other);
    if (difference !== 0) return difference < 0;
    // Of equals, that of high priority is last.
    return one.id !== this.#high && (other.id === this.#high || one.id < other.id);
  }

  #readMore(): void {
    // As many groups as the take needs if each gives the jobs of a turn. Some of them may be full.
    const needed = this.#jobs === 0 ? MIN_READ : Math.ceil((this.#most - this.#jobs) / this.#minTurn);
    const wanted = Math.min(this.#most, MAX_READ, Math.max(MIN_READ, needed));
    const { tag, id } = this.#after!;
    const rows = this.#select(
      `SELECT id, name, tag, size FROM queue WHERE parent = ?1 AND state = 1 AND (tag, id) > (?2, ?3) AND id <> ?4
       ORDER BY tag, id LIMIT ?5`,
      [this.#queue.id, tag, id, this.#high ?? -1, wanted],
    );
    const [lastId, , lastTag] = rows.at(-1) ?? [];
    this.#after = rows.length < wanted ? undefined : { tag: lastTag!, id: lastId! };
    // A group that has had a turn is further back once its change is written, and is read again there.
    const groups = this.#withOldest(rows.filter(([id]) => !this.#known.has(id)));
    for (const group of groups.reverse()) this.add(group);
  }

  #readHigh(id: number): void {
    const rows = this.#select("SELECT id, name, tag, size FROM queue WHERE id = ? AND state = 1", [id]);
    this.#groups.push(...this.#withOldest(rows));
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

type GroupRow = [id: number, name: string, tag: number, size: number];

/** Not before any job of a queue. */
const LAST = Number.MAX_SAFE_INTEGER;

/** The changes of groups by one take. */
class Changes {
  readonly #context: Context;
  readonly #take: Take;
  readonly #fromGroup: number;
  #groups = new Set<ReadyGroup>();
  #total = 0;

  /** @param isCounted the queue may have limits of groups */
  constructor(context: Context, take: Take, isCounted: boolean) {
    this.#context = context;
    this.#take = take;
    this.#fromGroup = isCounted ? limits.COUNTED : limits.UNCOUNTED;
  }

  /** The number of jobs that were added. */
  get total(): number {
    return this.#total;
  }

  /** Adds jobs of a group that are leased. */
  add(group: ReadyGroup, rows: readonly QueuedRow[]): void {
    group.unwritten += rows.length;
    group.size -= rows.length;
    group.last = rows.at(-1)![0];
    group.oldest = group.oldest.slice(rows.length);
    this.#groups.add(group);
    this.#total += rows.length;
  }

  /** Writes the changes that aren't written. */
  write(): void {
    if (this.#groups.size === 0) return;
    const { sql, now } = this.#context;
    const { worker, name } = this.#take;
    const groups = JSON.stringify(
      Array.from(this.#groups, ({ id, last, unwritten, tag }) => [id, last, unwritten, tag]),
    );
    sql(
      `INSERT INTO lease (job, queue, worker, take, at, from_group)
       SELECT job, queue, ?2, ?3, ?4, ?5 FROM json_each(?1) CROSS JOIN queued ON queue = value ->> 0 AND job <= value ->> 1
       ORDER BY job`,
    ).run(groups, worker, name, now(), this.#fromGroup);
    const remove = sql("DELETE FROM queued WHERE queue = ? AND job <= ?");
    for (const { id, last } of this.#groups) remove.run(id, last!);
    // With its tag, so that no trigger writes the rest.
    sql(
      `UPDATE queue SET size = size - taken, tag = next, state = iif(size > taken, state, 0)
       FROM (SELECT value ->> 0 AS changed, value ->> 2 AS taken, value ->> 3 AS next FROM json_each(?)) WHERE id = changed`,
    ).run(groups);
    for (const group of this.#groups) group.unwritten = 0;
    this.#groups.clear();
  }
}

/** Returns the milliseconds until a held group becomes ready: its limit opens, or ends. Undefined: when one of its leases ends. */
function endOf(opensInMs: number | undefined, until: number | undefined, now: number): number | undefined {
  return until === undefined ? opensInMs : Math.min(opensInMs ?? Infinity, Math.max(0, until - now));
}
