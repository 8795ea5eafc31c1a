/**
 * Processes: who is alive, and who says good-bye.
 *
 * @module
 */
import type { ProcessInfo } from "../admin.ts";
import type { Beat, ProcessRecord } from "../store.ts";
import type { Context } from "./context.ts";
import type { Queues } from "./queues.ts";

/** Registers processes. */
export class Processes {
  readonly #context: Context;
  readonly #queues: Queues;

  constructor(context: Context, queues: Queues) {
    this.#context = context;
    this.#queues = queues;
  }

  /** See `Store.beat`. */
  beat(process: ProcessRecord, ttlMs: number): Promise<Beat> {
    return this.#context.commit.run(() => {
      const now = this.#context.now();
      const { sql } = this.#context;
      const before = sql("SELECT deadline FROM process WHERE identity = ?").get(process.identity);
      sql(
        `INSERT INTO process (identity, record, beat_at, deadline) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (identity) DO UPDATE SET record = ?2, beat_at = ?3, deadline = ?4`,
      ).run(process.identity, JSON.stringify(process), now, Math.round(now + ttlMs));
      // One that is on no list was found dead and forgotten.
      return { commands: [], lapsed: before === undefined || Number(before.deadline) <= now };
    });
  }

  /** See `Store.deregister`. */
  deregister(identity: string): Promise<void> {
    return this.#context.commit.run(() => {
      this.#queues.giveBackAll(identity);
      this.forget(identity);
    });
  }

  /** Those whose time is over, and those who have leases and are on no list; inside a transaction or not. */
  findDead(): string[] {
    const { sql, now } = this.#context;
    const rows = sql(
      `SELECT identity FROM process WHERE deadline <= ?
       UNION ALL
       SELECT DISTINCT owner FROM lease WHERE owner NOT IN (SELECT identity FROM process)`,
    ).all(now());
    return rows.map((row) => String(row.identity));
  }

  /** Takes a process off the list, with what it was asked; inside a transaction. */
  forget(identity: string): void {
    this.#context.sql("DELETE FROM process WHERE identity = ?").run(identity);
    this.#context.sql("DELETE FROM command WHERE identity = ?").run(identity);
  }

  /** See `StoreAdmin.processes`. */
  list(): ProcessInfo[] {
    const now = this.#context.now();
    const rows = this.#context.sql("SELECT record, beat_at, deadline FROM process ORDER BY identity").all();
    return rows.map((row) => ({
      ...JSON.parse(String(row.record)) as ProcessRecord,
      beatAt: Number(row.beat_at),
      alive: Number(row.deadline) > now,
    }));
  }
}
