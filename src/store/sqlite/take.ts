/**
 * Queues: jobs wait in them, and are taken.
 *
 * @module
 */
import type { StatementSync } from "node:sqlite";
import type { QueuePause } from "../admin/admin.ts";
import type { QueueLimit } from "../port/limits.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import { ALL_QUEUES } from "../port/paused_queues.ts";
import { type GroupLimit, type GroupPage, type GroupRequest, MAX_QUANTUM, splitName } from "../port/groups.ts";
import type { Lease, TakeRequest } from "../port/jobs.ts";
import { readBounded } from "./bounded_read.ts";
import type { Context } from "./context.ts";
import {
  advance,
  countReady,
  heal,
  hold,
  limitOf,
  nextGroup,
  readGroups,
  readyIn,
  setLimit,
  wakeDue,
} from "./groups.ts";
import { LIMIT_COLUMNS, type Limited, limitIn, Limits } from "./limits.ts";

/** A queue that has jobs and is not paused. */
interface Open {
  readonly id: number;
  readonly limit: Limited | undefined;
  /** Whether it has jobs in groups. */
  readonly isGrouped: boolean;
  /** Whether it has jobs without a group. */
  readonly hasUngrouped: boolean;
}

/** One taking, as far as it has come. */
interface Taking {
  readonly owner: string;
  readonly name: string;
  readonly budget: ByteBudget;
  readonly leases: Lease[];
}

/** What time alone brings is looked at closely for the last of it: it costs a reading of all starts that count. */
const SOON_MS = 1_000;

/** A take holds at most this many full groups beyond the jobs it may take: the next one continues. */
const MAX_HELD_AT_ONCE = 100;

type QueuedRow = [id: number, payload: string];

/** Not in the types yet. */
type ArrayStatement = StatementSync & { setReturnArrays(on: boolean): void };

/** Keeps the queues. */
export class Queues {
  readonly #context: Context;
  readonly #limits: Limits;
  /** Names of takings begin with it, so that no two connections use the same. */
  readonly #nonce = crypto.randomUUID().slice(-12);
  #takings = 0;

  constructor(context: Context) {
    this.#context = context;
    this.#limits = new Limits(context);
  }

  /** See `JobStore.take`. */
  take({ queues, limit, owner }: TakeRequest): Promise<Lease[]> {
    const { commit } = this.#context;
    return commit.run(() => {
      const taking: Taking = {
        owner,
        name: `${this.#nonce}-${++this.#takings}`,
        budget: new ByteBudget(),
        leases: [],
      };
      if (this.#allPaused()) return taking.leases;
      for (const name of queues) {
        const left = limit - taking.leases.length;
        if (left <= 0 || taking.budget.isSpent) break;
        const open = this.#withWork(name);
        if (open === undefined) continue;
        const { id: queue, limit: limited } = open;
        if (limited) this.#limits.settle(limited);
        const most = limited ? Math.min(left, this.#limits.room(limited)) : left;
        const count = open.isGrouped
          ? this.#takeTurns(queue, name, most, taking)
          : this.#takeFrom(queue, { queue: name }, most, taking);
        if (limited && count > 0) this.#limits.note(limited, count);
      }
      return taking.leases;
    }, { rows: limit, deferrable: true });
  }

  /** Takes the oldest jobs of a queue or a group. Returns how many. */
  #takeFrom(id: number, from: Pick<Lease, "queue" | "group">, most: number, taking: Taking): number {
    const { sql, now } = this.#context;
    const { owner, name, budget, leases } = taking;
    const rows = readBounded(
      { limit: most, budget },
      (count, after: QueuedRow | undefined) => this.#oldest(id, after?.[0] ?? Number.MIN_SAFE_INTEGER, count),
      ([, payload]) => payload,
    );
    if (rows.length === 0) return 0;
    const [last] = rows.at(-1)!;
    sql(
      `INSERT INTO lease (job, queue, owner, take, at, grouped)
       SELECT job, queue, ?, ?, ?, ? FROM queued WHERE queue = ? AND job <= ?`,
    ).run(owner, name, now(), from.group === undefined ? 0 : 1, id, last);
    sql("DELETE FROM queued WHERE queue = ? AND job <= ?").run(id, last);
    this.#grow(id, -rows.length);
    for (const [job, payload] of rows) leases.push({ token: `${job}.${name}`, ...from, payload });
    return rows.length;
  }

  /** Takes from the groups of a queue in turn, its jobs without a group being one of them. Returns how many. */
  #takeTurns(queue: number, name: string, most: number, taking: Taking): number {
    const { sql } = this.#context;
    wakeDue(this.#context, queue);
    const row = sql("SELECT size, tag, vtime FROM queue WHERE id = ?").get(queue)!;
    let { size, tag, vtime } = row as unknown as { size: number; tag: number; vtime: number };
    let count = 0;
    let ready = countReady(this.#context, queue, most) + (size > 0 ? 1 : 0);
    let looked = 0;
    while (count < most && !taking.budget.isSpent && looked < most + MAX_HELD_AT_ONCE) {
      const group = nextGroup(this.#context, queue);
      tag = Math.max(tag, vtime);
      const isUngrouped = size > 0 && (group === undefined || tag <= group.tag);
      if (group === undefined && !isUngrouped) {
        if (count > 0 || !heal(this.#context, this.#limits, queue)) break;
        looked += MAX_HELD_AT_ONCE;
        continue;
      }
      looked++;
      const quantum = Math.min(MAX_QUANTUM, Math.max(1, Math.floor(most / Math.max(1, ready))));
      if (isUngrouped) {
        vtime = tag;
        const taken = this.#takeFrom(queue, { queue: name }, Math.min(most - count, quantum), taking);
        size -= taken;
        tag += taken;
        count += taken;
        if (taken === 0) break;
        continue;
      }
      const { id } = group!;
      const key = group!.name.slice(name.length + 1);
      const limit = limitOf(this.#context, queue, key);
      const limited = { queue: id, ...limit };
      vtime = Math.max(vtime, group!.tag);
      this.#limits.settle(limited);
      const opensInMs = this.#limits.opensIn(limited);
      if (opensInMs !== 0) {
        hold(this.#context, id, endOf(opensInMs, limit.until, this.#context.now()));
        ready--;
        continue;
      }
      const room = Math.min(most - count, this.#limits.room(limited), quantum * limit.weight);
      const taken = this.#takeFrom(id, { queue: name, group: key }, room, taking);
      if (taken === 0) break;
      this.#limits.note(limited, taken);
      sql("UPDATE queue SET tag = ? WHERE id = ?").run(vtime + taken / limit.weight, id);
      count += taken;
    }
    advance(this.#context, queue, { vtime, tag, forget: 2 * (count + 1) });
    return count;
  }

  /** Whether a queue has jobs that may be taken; "soon" when time alone is in the way, and is to be looked at closely. */
  hasWork(name: string): boolean | "soon" {
    const open = this.#withWork(name);
    if (open === undefined || this.#allPaused()) return false;
    const opensInMs = open.limit === undefined ? 0 : this.#limits.opensIn(open.limit);
    const readyInMs = open.isGrouped && !open.hasUngrouped ? readyIn(this.#context, open.id) : 0;
    const inMs = opensInMs === undefined || readyInMs === undefined ? undefined : Math.max(opensInMs, readyInMs);
    return inMs === 0 || inMs !== undefined && inMs <= SOON_MS && "soon";
  }

  /** See `JobStore.hasQueuedJobs`. */
  hasQueuedJobs(names: readonly string[]): boolean {
    return !this.#allPaused() && names.some((name) => this.#withWork(name) !== undefined);
  }

  /** See `AdminStore.limit`. */
  limit(name: string, limit: QueueLimit): Promise<void> {
    return this.#context.commit.run(() => this.#limits.set(this.idOf(name), limit));
  }

  /** See `AdminStore.limitGroup`. */
  limitGroup(name: string, group: string | undefined, limit: GroupLimit): Promise<void> {
    return this.#context.commit.run(() => setLimit(this.#context, this.idOf(name), group, limit));
  }

  /** See `AdminStore.groups`. */
  groups(name: string, request: GroupRequest = {}): Promise<GroupPage> {
    return this.#context.read(() => readGroups(this.#context, this.#limits, name, request));
  }

  /** See `AdminStore.pause`. */
  pause(name: string, forMs?: number): Promise<void> {
    const { commit, sql, now } = this.#context;
    return commit.run(() => {
      if (forMs !== undefined && forMs <= 0) return void sql("UPDATE queue SET paused = 0 WHERE name = ?").run(name);
      const until = forMs === undefined ? null : Math.round(now() + forMs);
      sql("UPDATE queue SET paused = 1, paused_until = ? WHERE id = ?").run(until, this.idOf(name));
    });
  }

  /** See `AdminStore.pausedQueues`. */
  pauses(names: readonly string[]): QueuePause[] {
    const { sql, now } = this.#context;
    return names.flatMap((name) => {
      const row = sql("SELECT paused_until AS until FROM queue WHERE name = ? AND paused = 1").get(name);
      if (row === undefined) return [];
      const leftMs = row.until === null ? undefined : Number(row.until) - now();
      return leftMs !== undefined && leftMs <= 0
        ? []
        : [{ name, paused: true, ...(leftMs && { pausedForMs: leftMs }) }];
    });
  }

  /** See `AdminStore.forgetQueue`. A queue of which a job is leased stays: the lease names its row. */
  forget(name: string): Promise<boolean> {
    const { commit, sql, now } = this.#context;
    return commit.run(() => {
      const known = sql("SELECT id, vtime, tag FROM queue WHERE name = ? AND grouped = 0").get(name);
      if (known) {
        const { id, vtime, tag } = known as unknown as { id: number; vtime: number; tag: number };
        advance(this.#context, id, { vtime, tag, forget: Infinity });
      }
      return Number(
        sql(
          `DELETE FROM queue WHERE name = ? AND parent IS NULL AND size = 0 AND (paused = 0 OR paused_until <= ?)
           AND most_running IS NULL AND most_starts IS NULL
           AND NOT EXISTS (SELECT 1 FROM lease WHERE lease.queue = queue.id)
           AND NOT EXISTS (SELECT 1 FROM queue AS one WHERE one.parent = queue.id)
           AND NOT EXISTS (SELECT 1 FROM group_limit WHERE group_limit.queue = queue.id)`,
        ).run(name, now()).changes,
      ) > 0;
    });
  }

  /** The queue's number, given to it if it has none; inside a transaction. */
  idOf(name: string): number {
    const { sql } = this.#context;
    const known = sql("SELECT id FROM queue WHERE name = ?").get(name);
    if (known) return Number(known.id);
    const { queue, group } = splitName(name);
    const parent = group === undefined ? null : this.idOf(queue);
    return Number(sql("INSERT INTO queue (name, parent) VALUES (?, ?)").run(name, parent).lastInsertRowid);
  }

  /** Puts jobs that have just been created, by their first and last number, at the back; inside a transaction. */
  append(queue: number, first: number, last: number): void {
    this.#context.sql("INSERT INTO queued (queue, job) SELECT ?, id FROM job WHERE id BETWEEN ? AND ?")
      .run(queue, first, last);
    this.#grow(queue, last - first + 1);
  }

  /** Puts a job back where its number says; inside a transaction. */
  giveBack(queue: number, job: number): void {
    this.#context.sql("INSERT INTO queued (queue, job) VALUES (?, ?)").run(queue, job);
    this.#grow(queue, 1);
  }

  /** Puts all that an owner has back where their numbers say, and ends those leases; inside a transaction. */
  giveBackAll(owner: string): void {
    const { sql } = this.#context;
    for (
      const { queue, count } of sql("SELECT queue, count(*) AS count FROM lease WHERE owner = ? GROUP BY queue").all(
        owner,
      )
    ) {
      this.#grow(queue as number, count as number);
    }
    sql("INSERT INTO queued (queue, job) SELECT queue, job FROM lease WHERE owner = ?").run(owner);
    sql("DELETE FROM lease WHERE owner = ?").run(owner);
  }

  /** Takes one job out, wherever in its queue it is; inside a transaction. */
  remove(queue: number, job: number): void {
    this.#context.sql("DELETE FROM queued WHERE queue = ? AND job = ?").run(queue, job);
    this.#grow(queue, -1);
  }

  /** Reads the oldest jobs of a queue after one. Arrays, because objects with names take twice as long. */
  #oldest(queue: number, after: number, count: number): QueuedRow[] {
    const oldest = this.#context.sql(
      `SELECT job.id, payload FROM queued CROSS JOIN job ON job.id = queued.job
       WHERE queued.queue = ? AND queued.job > ? ORDER BY queued.job LIMIT ?`,
    ) as ArrayStatement;
    oldest.setReturnArrays(true);
    return oldest.all(queue, after, count) as unknown as QueuedRow[];
  }

  #allPaused(): boolean {
    const { sql, now } = this.#context;
    const paused = sql("SELECT paused_until FROM queue WHERE name = ? AND paused = 1").get(ALL_QUEUES);
    return paused !== undefined && (paused.paused_until === null || Number(paused.paused_until) > now());
  }

  /** The queue, if it has jobs and is not paused. */
  #withWork(name: string): Open | undefined {
    const { sql, now } = this.#context;
    const row = sql(
      `SELECT ${LIMIT_COLUMNS}, size, grouped FROM queue
       WHERE name = ? AND (paused = 0 OR paused_until <= ?) AND (size > 0 OR grouped > 0)`,
    ).get(name, now());
    return row && {
      id: Number(row.id),
      limit: limitIn(row),
      isGrouped: Number(row.grouped) > 0,
      hasUngrouped: Number(row.size) > 0,
    };
  }

  #grow(queue: number, by: number): void {
    this.#context.sql("UPDATE queue SET size = size + ? WHERE id = ?").run(by, queue);
  }
}

/** When a held group is looked at again: its limit opens, or ends. Undefined: when one of its leases ends. */
function endOf(opensInMs: number | undefined, until: number | undefined, now: number): number | undefined {
  return until === undefined ? opensInMs : Math.min(opensInMs ?? Infinity, Math.max(0, until - now));
}
