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
/** Groups that are read together, with the oldest job of each: few at first, because the sizes of the jobs are unknown. */
const FIRST_READ = 16;
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
  /** The oldest job, unless this take has leased it. */
  head?: QueuedRow;
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
  let ready = countReady(context, queue.id, most) + (size > 0 ? 1 : 0);
  let looked = 0;
  let groups = new ReadyGroups(context, queue, most);
  const changes = new Changes(context, take);
  while (count < most && !take.budget.isSpent && looked < most + MAX_HELD_AT_ONCE) {
    const group = groups.first();
    tag = Math.max(tag, vtime);
    const isUngrouped = size > 0 && (group === undefined || tag <= groups.turnOf(group));
    if (group === undefined && !isUngrouped) {
      if (count > 0 || !heal(context, queue.id)) break;
      groups = new ReadyGroups(context, queue, most);
      looked += MAX_HELD_AT_ONCE;
      continue;
    }
    looked++;
    const quantum = Math.min(MAX_QUANTUM, Math.max(1, Math.floor(most / Math.max(1, ready))));
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
  readonly #high: number | undefined;
  /** Those that are read, the next one last. */
  readonly #groups: ReadyGroup[] = [];
  /** The last group that was read. */
  #after: { readonly tag: number; readonly id: number } | undefined = { tag: -Infinity, id: 0 };
  #reads = 0;

  constructor(context: Context, queue: { readonly id: number; readonly name: string }, most: number) {
    this.#context = context;
    this.#queue = queue;
    this.#most = most;
    this.#high = highPriority(context, queue.name);
    if (this.#high !== undefined) this.#readHigh(this.#high);
  }

  /** Returns the group whose turn is next; undefined if none is ready. */
  first(): ReadyGroup | undefined {
    const first = this.#groups.at(-1);
    // A group that wasn't read comes after those that were.
    if (first !== undefined && (this.#after === undefined || !this.#isBefore(this.#after, first))) return first;
    if (this.#after === undefined) return undefined;
    this.#readMore();
    return this.#groups.at(-1);
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
    const { head } = group;
    if (most > 1 || head === undefined) return readOldest(this.#context, group.id, most, take, group.last);
    return take.budget.spend(head[1]) ? [head] : [];
  }

  #isBefore(one: { readonly id: number; readonly tag: number }, other: ReadyGroup): boolean {
    const difference = this.turnOf(one) - this.turnOf(other);
    if (difference !== 0) return difference < 0;
    // Of equals, that of high priority is last.
    return one.id !== this.#high && (other.id === this.#high || one.id < other.id);
  }

  #readMore(): void {
    const wanted = Math.min(this.#most, this.#reads++ === 0 ? FIRST_READ : MAX_READ);
    const { tag, id } = this.#after!;
    const rows = arrayStatement(
      this.#context,
      `SELECT ${GROUP_COLUMNS} FROM queue CROSS JOIN queued ON ${HEAD} CROSS JOIN job ON job.id = queued.job
       WHERE parent = ?1 AND state = 1 AND (tag, queue.id) > (?2, ?3) AND queue.id <> ?4 ORDER BY tag, queue.id LIMIT ?5`,
    ).all(this.#queue.id, tag, id, this.#high ?? -1, wanted) as unknown as GroupRow[];
    const groups = rows.map((row) => this.#groupOf(row));
    const last = groups.at(-1);
    this.#after = groups.length < wanted ? undefined : last && { tag: last.tag, id: last.id };
    for (const group of groups.reverse()) this.add(group);
  }

  #readHigh(id: number): void {
    const row = arrayStatement(
      this.#context,
      `SELECT ${GROUP_COLUMNS} FROM queue CROSS JOIN queued ON ${HEAD} CROSS JOIN job ON job.id = queued.job
       WHERE queue.id = ? AND state = 1`,
    ).get(id) as unknown as GroupRow | undefined;
    if (row !== undefined) this.#groups.push(this.#groupOf(row));
  }

  #groupOf([id, name, tag, size, job, payload]: GroupRow): ReadyGroup {
    const key = name.slice(this.#queue.name.length + 1);
    return { id, key, tag, size, head: [job, payload], unwritten: 0 };
  }
}

type GroupRow = [id: number, name: string, tag: number, size: number, job: number, payload: string];

const GROUP_COLUMNS = "queue.id, name, tag, size, job.id, payload";
/** Joins a group with its oldest job. */
const HEAD = "queued.queue = queue.id AND queued.job = (SELECT min(job) FROM queued AS one WHERE one.queue = queue.id)";

/** The changes of groups by one take. */
class Changes {
  readonly #context: Context;
  readonly #take: Take;
  #jobs: [job: number, group: number][] = [];
  #groups = new Set<ReadyGroup>();
  #total = 0;

  constructor(context: Context, take: Take) {
    this.#context = context;
    this.#take = take;
  }

  /** The number of jobs that were added. */
  get total(): number {
    return this.#total;
  }

  /** Adds jobs of a group that are leased. */
  add(group: ReadyGroup, rows: readonly QueuedRow[]): void {
    for (const [job] of rows) this.#jobs.push([job, group.id]);
    group.unwritten += rows.length;
    group.size -= rows.length;
    group.last = rows.at(-1)![0];
    delete group.head;
    this.#groups.add(group);
    this.#total += rows.length;
  }

  /** Writes the changes that aren't written. */
  write(): void {
    if (this.#jobs.length === 0) return;
    const { sql, now } = this.#context;
    const { worker, name } = this.#take;
    const jobs = JSON.stringify(this.#jobs);
    sql(
      `INSERT INTO lease (job, queue, owner, take, at, grouped)
       SELECT value ->> 0, value ->> 1, ?2, ?3, ?4, 1 FROM json_each(?1)`,
    ).run(jobs, worker, name, now());
    sql("DELETE FROM queued WHERE (job, queue) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))").run(jobs);
    // With its tag, so that no trigger writes the rest.
    sql(
      `UPDATE queue SET size = size - taken, tag = next, state = iif(size > taken, state, 0)
       FROM (SELECT value ->> 0 AS changed, value ->> 1 AS taken, value ->> 2 AS next FROM json_each(?)) WHERE id = changed`,
    ).run(JSON.stringify(Array.from(this.#groups, ({ id, unwritten, tag }) => [id, unwritten, tag])));
    for (const group of this.#groups) group.unwritten = 0;
    this.#jobs = [];
    this.#groups.clear();
  }
}

/** Returns the milliseconds until a held group becomes ready: its limit opens, or ends. Undefined: when one of its leases ends. */
function endOf(opensInMs: number | undefined, until: number | undefined, now: number): number | undefined {
  return until === undefined ? opensInMs : Math.min(opensInMs ?? Infinity, Math.max(0, until - now));
}
