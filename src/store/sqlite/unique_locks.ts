/**
 * Locks on "a job like this is already there".
 *
 * @module
 */
import type { UniqueLock } from "../port/jobs.ts";
import type { Context } from "./context.ts";
import { endLive } from "./cron.ts";

/** Expired locks are cleared away a few at a time, more than come in with each. */
const SWEPT = 2;

/** Keeps the unique locks. All of it inside transactions. */
export class UniqueLocks {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Takes the lock for a job; returns the jid of the one that has it, if another has. */
  take({ key, ttlMs }: UniqueLock, jid: string, now: number): string | undefined {
    const { sql } = this.#context;
    const holder = sql("SELECT jid FROM unique_lock WHERE key = ? AND expires > ?").get(key, now)?.jid;
    if (holder !== undefined) return String(holder);
    sql("DELETE FROM unique_lock WHERE key IN (SELECT key FROM unique_lock WHERE expires <= ? LIMIT ?)")
      .run(now, SWEPT);
    sql("INSERT OR REPLACE INTO unique_lock (key, jid, expires) VALUES (?, ?, ?)")
      .run(key, jid, Math.round(now + ttlMs));
    return undefined;
  }

  /** Whether a job has the lock. */
  isTaken(key: string, now: number): boolean {
    return this.#context.sql("SELECT 1 FROM unique_lock WHERE key = ? AND expires > ?").get(key, now) !== undefined;
  }

  /** Lets go of a lock, if that job has it; without a jid, whoever has it. */
  release(key: string, jid: string | undefined): void {
    this.#context.sql("DELETE FROM unique_lock WHERE key = ?1 AND (?2 IS NULL OR jid = ?2)").run(key, jid ?? null);
  }

  /** Lets go of whatever a job has: its lock, and its place as the live job of a crontab entry. */
  releaseOf(jid: string | null): void {
    if (jid === null) return;
    this.#context.sql("DELETE FROM unique_lock WHERE jid = ?").run(jid);
    endLive(this.#context, jid);
  }
}
