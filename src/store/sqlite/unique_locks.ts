/**
 * Unique locks, which end with their job; and the keys of idempotent pushes, which outlive it.
 *
 * @module
 */
import type { OnceKey, UniqueLock } from "../port/jobs.ts";
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

  /** Returns the jid of the job that was stored with the key; undefined if none was, or it is forgotten. */
  firstWith(key: string, now: number): string | undefined {
    return this.#context.sql("SELECT jid FROM once_key WHERE key = ? AND expires > ?").get(key, now)?.jid?.toString();
  }

  /** Remembers that a job is stored with the key, unless one was: then returns its jid. */
  remember({ key, ttlMs }: OnceKey, jid: string, now: number): string | undefined {
    const { sql } = this.#context;
    const { changes } = sql(
      "INSERT INTO once_key (key, jid, expires) VALUES (?1, ?2, ?3) ON CONFLICT (key) DO UPDATE " +
        "SET jid = ?2, expires = ?3 WHERE expires <= ?4",
    ).run(key, jid, Math.round(now + ttlMs), now);
    return Number(changes) === 0 ? this.firstWith(key, now) : undefined;
  }

  /** Deletes expired keys: at most twice as many as jobs come in. */
  forgetKeys(count: number, now: number): void {
    this.#context.sql("DELETE FROM once_key WHERE key IN (SELECT key FROM once_key WHERE expires <= ? LIMIT ?)")
      .run(now, SWEPT * count);
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
