/**
 * Queues: jobs come in, and are taken.
 *
 * @module
 */
import { wireTime } from "../../job/raw.ts";
import type { EnqueueResult, Lease, NewJob, TakeRequest } from "../store.ts";
import { type Context, PLACE } from "./context.ts";
import type { Locks } from "./locks.ts";

/** Puts jobs into queues and takes them out. */
export class Queues {
  readonly #context: Context;
  readonly #locks: Locks;
  /** Queues known to be in the table. */
  readonly #known = new Set<string>();
  /** Numbers of takings: begun at random, so that no two connections use the same. */
  #take = crypto.getRandomValues(new Uint32Array(1))[0]! * 2 ** 20;

  constructor(context: Context, locks: Locks) {
    this.#context = context;
    this.#locks = locks;
  }

  /** See `Store.enqueue`. */
  enqueue(jobs: readonly NewJob[]): Promise<EnqueueResult[]> {
    return this.#context.commit.run(() => jobs.map((job) => this.insert(job)), jobs.length);
  }

  /** See `Store.take`. */
  take({ queues, limit, owner }: TakeRequest): Promise<Lease[]> {
    return this.#context.commit.run(() => {
      const leases: Lease[] = [];
      const take = ++this.#take;
      const now = this.#context.clock.now();
      for (const queue of queues) {
        if (leases.length >= limit) break;
        if (!this.isPaused(queue)) this.#takeFrom(queue, limit - leases.length, owner, take, now, leases);
      }
      return leases;
    }, limit);
  }

  /** Whether a queue has jobs that may be taken. */
  hasWork(queue: string): boolean {
    return this.#context.sql(`SELECT 1 FROM job WHERE place = 0 AND queue = ? LIMIT 1`).get(queue) !== undefined &&
      !this.isPaused(queue);
  }

  /** Whether nothing may be taken from a queue. */
  isPaused(queue: string): boolean {
    return this.#context.sql("SELECT 1 FROM queue WHERE name = ? AND paused = 1").get(queue) !== undefined;
  }

  /** Makes sure that a queue is on the list. */
  register(queue: string): void {
    if (this.#known.has(queue)) return;
    this.#context.sql("INSERT OR IGNORE INTO queue (name) VALUES (?)").run(queue);
    // Not added here: this transaction may yet be rolled back. The second time finds it in the table.
    if (this.#isCommitted(queue)) this.#known.add(queue);
  }

  /** See `StoreAdmin.pause` and `resume`. */
  setPaused(queue: string, paused: boolean): Promise<void> {
    return this.#context.commit.run(() => {
      this.#context.sql(
        "INSERT INTO queue (name, paused) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET paused = ?2",
      ).run(queue, paused ? 1 : 0);
    });
  }

  #isCommitted(queue: string): boolean {
    return this.#context.sql("SELECT 1 FROM job WHERE place = 0 AND queue = ? LIMIT 1").get(queue) !== undefined;
  }

  /** Stores one job; inside a transaction. */
  insert({ jid, queue, payload, at, delayMs, unique }: NewJob): EnqueueResult {
    const now = this.#context.clock.now();
    if (unique !== undefined) {
      const holder = this.#locks.take(unique, jid, now);
      if (holder !== undefined) return { stored: false, holder };
    }
    this.register(queue);
    const due = delayMs === undefined ? at : now + delayMs;
    const insert = this.#context.sql("INSERT INTO job (place, queue, jid, at, payload) VALUES (?, ?, ?, ?, ?)");
    if (due !== undefined && due > now) {
      insert.run(PLACE.scheduled, queue, jid, Math.round(due), payload);
    } else {
      const text = `${payload.slice(0, -1)},"enqueued_at":${wireTime(now, this.#context.wire)}}`;
      insert.run(PLACE.queue, queue, jid, null, text);
    }
    return { stored: true };
  }

  #takeFrom(queue: string, limit: number, owner: string, take: number, now: number, leases: Lease[]): void {
    const rows = this.#context.sql(
      `UPDATE job SET place = 1, owner = ?, take = ?, at = ?
       WHERE id IN (SELECT id FROM job INDEXED BY job_queued WHERE place = 0 AND queue = ? ORDER BY id LIMIT ?)
       RETURNING id, payload`,
    ).all(owner, take, Math.round(now), queue, limit) as unknown as { id: number; payload: string }[];
    // RETURNING promises no order.
    rows.sort((a, b) => a.id - b.id);
    for (const { id, payload } of rows) leases.push({ token: `${id}.${take}`, queue, payload });
  }
}
