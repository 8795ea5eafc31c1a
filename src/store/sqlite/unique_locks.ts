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

/** Takes the lock for a job; returns the jid of the one that has it, if another has. */
export function take(context: Context, { key, ttlMs }: UniqueLock, jid: string, now: number): string | undefined {
  const { sql } = context;
  const holder = sql("SELECT jid FROM unique_lock WHERE key = ? AND expires > ?").get(key, now)?.jid;
  if (holder !== undefined) return String(holder);
  sql("DELETE FROM unique_lock WHERE key IN (SELECT key FROM unique_lock WHERE expires <= ? LIMIT ?)")
    .run(now, SWEPT);
  sql("INSERT OR REPLACE INTO unique_lock (key, jid, expires) VALUES (?, ?, ?)")
    .run(key, jid, Math.round(now + ttlMs));
  return undefined;
}

/** Returns the jid of the job that was stored with the key; undefined if none was, or it is forgotten. */
export function firstWith(context: Context, key: string, now: number): string | undefined {
  return context.sql("SELECT jid FROM once_key WHERE key = ? AND expires > ?").get(key, now)?.jid?.toString();
}

/** Remembers that a job is stored with the key, unless one was: then returns its jid. */
export function remember(context: Context, { key, ttlMs }: OnceKey, jid: string, now: number): string | undefined {
  const { sql } = context;
  const { changes } = sql(
    "INSERT INTO once_key (key, jid, expires) VALUES (?1, ?2, ?3) ON CONFLICT (key) DO UPDATE " +
      "SET jid = ?2, expires = ?3 WHERE expires <= ?4",
  ).run(key, jid, Math.round(now + ttlMs), now);
  return Number(changes) === 0 ? firstWith(context, key, now) : undefined;
}

/** Deletes expired keys: at most twice as many as jobs come in. */
export function forgetKeys(context: Context, count: number, now: number): void {
  context.sql("DELETE FROM once_key WHERE key IN (SELECT key FROM once_key WHERE expires <= ? LIMIT ?)")
    .run(now, SWEPT * count);
}

/** Whether a job has the lock. */
export function isTaken(context: Context, key: string, now: number): boolean {
  return context.sql("SELECT 1 FROM unique_lock WHERE key = ? AND expires > ?").get(key, now) !== undefined;
}

/** Lets go of a lock, if that job has it; without a jid, whoever has it. */
export function release(context: Context, key: string, jid: string | undefined): void {
  context.sql("DELETE FROM unique_lock WHERE key = ?1 AND (?2 IS NULL OR jid = ?2)").run(key, jid ?? null);
}

/** Lets go of whatever a job has: its lock, and its place as the live job of a crontab entry. */
export function releaseOf(context: Context, jid: string | null): void {
  if (jid === null) return;
  context.sql("DELETE FROM unique_lock WHERE jid = ?").run(jid);
  endLive(context, jid);
}
