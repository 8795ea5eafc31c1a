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
import type { Lease, TakeRequest } from "../port/jobs.ts";
import { readBounded } from "./bounded_read.ts";
import type { Context } from "./context.ts";
import { LIMIT_COLUMNS, type Limited, limitIn, Limits } from "./limits.ts";

/** A queue that has jobs and is not paused. */
interface Open {
  readonly id: number;
  readonly limit: Limited | undefined;
}

/** What time alone brings is looked at closely for the last of it: it costs a reading of all starts that count. */
const SOON_MS = 1_000;

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
    const { commit, sql, now } = this.#context;
    return commit.run(() => {
      const leases: Lease[] = [];
      if (this.#allPaused()) return leases;
      const take = `${this.#nonce}-${++this.#takings}`;
      const budget = new ByteBudget();
      for (const name of queues) {
        const left = limit - leases.length;
        if (left <= 0 || budget.isSpent) break;
        const open = this.#withWork(name);
        if (open === undefined) continue;
        const { id: queue, limit: limited } = open;
        if (limited) this.#limits.settle(limited);
        const most = limited ? Math.min(left, this.#limits.room(limited)) : left;
        const rows = readBounded(
          { limit: most, budget },
          (count, after: QueuedRow | undefined) => this.#oldest(queue, after?.[0] ?? Number.MIN_SAFE_INTEGER, count),
          ([, payload]) => payload,
        );
        if (rows.length === 0) continue;
        const [last] = rows.at(-1)!;
        sql(
          `INSERT INTO lease (job, queue, owner, take, at)
           SELECT job, queue, ?, ?, ? FROM queued WHERE queue = ? AND job <= ?`,
        ).run(owner, take, now(), queue, last);
        sql("DELETE FROM queued WHERE queue = ? AND job <= ?").run(queue, last);
        this.#grow(queue, -rows.length);
        if (limited) this.#limits.note(limited, rows.length);
        for (const [id, payload] of rows) leases.push({ token: `${id}.${take}`, queue: name, payload });
      }
      return leases;
    }, limit);
  }

  /** Whether a queue has jobs that may be taken; "soon" when time alone is in the way, and is to be looked at closely. */
  hasWork(name: string): boolean | "soon" {
    const open = this.#withWork(name);
    if (open === undefined || this.#allPaused()) return false;
    const opensInMs = open.limit === undefined ? 0 : this.#limits.opensIn(open.limit);
    return opensInMs === 0 || opensInMs !== undefined && opensInMs <= SOON_MS && "soon";
  }

  /** See `JobStore.hasQueuedJobs`. */
  hasQueuedJobs(names: readonly string[]): boolean {
    return !this.#allPaused() && names.some((name) => this.#withWork(name) !== undefined);
  }

  /** See `AdminStore.limit`. */
  limit(name: string, limit: QueueLimit): Promise<void> {
    return this.#context.commit.run(() => this.#limits.set(this.idOf(name), limit));
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
    return commit.run(() =>
      Number(
        sql(
          `DELETE FROM queue WHERE name = ? AND size = 0 AND (paused = 0 OR paused_until <= ?)
           AND most_running IS NULL AND most_starts IS NULL
           AND NOT EXISTS (SELECT 1 FROM lease WHERE lease.queue = queue.id)`,
        ).run(name, now()).changes,
      ) > 0
    );
  }

  /** The queue's number, given to it if it has none; inside a transaction. */
  idOf(name: string): number {
    const { sql } = this.#context;
    const known = sql("SELECT id FROM queue WHERE name = ?").get(name);
    return Number(known ? known.id : sql("INSERT INTO queue (name) VALUES (?)").run(name).lastInsertRowid);
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
      `SELECT ${LIMIT_COLUMNS} FROM queue WHERE name = ? AND (paused = 0 OR paused_until <= ?) AND size > 0`,
    ).get(name, now());
    return row && { id: Number(row.id), limit: limitIn(row) };
  }

  #grow(queue: number, by: number): void {
    this.#context.sql("UPDATE queue SET size = size + ? WHERE id = ?").run(by, queue);
  }
}
