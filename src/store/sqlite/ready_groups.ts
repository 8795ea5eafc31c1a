/**
 * The ready groups of a queue in the order of their turns, as far as a take has read them, with their oldest jobs: see
 * `turns.ts`.
 *
 * @module
 */
import { HEAD_START } from "../../job/priority.ts";
import type { Context } from "./context.ts";
import { highPriority } from "./groups.ts";
import { arrayStatement, type QueuedRow, readOldest, type Take } from "./leasing.ts";

/** Groups that are read together, with the oldest jobs of each: few at first, because the sizes of the jobs are unknown. */
const MIN_READ = 16;
const MAX_READ = 128;
/** Not before any job of a queue. */
const LAST = Number.MAX_SAFE_INTEGER;

type GroupRow = [id: number, name: string, tag: number, size: number];

/** A group that is ready. */
export interface ReadyGroup {
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

/** The ready groups of a queue in the order of their turns. */
export class ReadyGroups {
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
