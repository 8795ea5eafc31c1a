/**
 * Unique locks. They end with their job. All functions run inside transactions.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import type { UniqueLock } from "../port/jobs.ts";
import { runNow } from "../sql/body.ts";
import { endLive } from "../sql/cron.ts";
import type { Context } from "./context.ts";

/** Expired locks that each new one deletes at most. More are deleted than arrive. */
const MAX_SWEPT = 2;

/** Takes the lock for a job. Returns the jid of the holder if another job has it. */
export function take(context: Context, { key, ttlMs }: UniqueLock, jid: string, now: number): string | undefined {
  const { sql } = context;
  const holder = sql("SELECT jid FROM unique_lock WHERE key = ? AND expires > ?").get(key, now)?.jid;
  if (holder !== undefined) return String(holder);
  sql("DELETE FROM unique_lock WHERE key IN (SELECT key FROM unique_lock WHERE expires <= ? LIMIT ?)")
    .run(now, MAX_SWEPT);
  sql("INSERT OR REPLACE INTO unique_lock (key, jid, expires) VALUES (?, ?, ?)")
    .run(key, jid, Math.round(now + ttlMs));
  return undefined;
}

/** Holds a lock for its full time from now on. */
export function renew(context: Context, { key, ttlMs }: UniqueLock, now: number): void {
  context.sql("UPDATE unique_lock SET expires = ? WHERE key = ?").run(Math.round(now + ttlMs), key);
}

/** Returns whether a job has the lock. */
export function isTaken(context: Context, key: string, now: number): boolean {
  return context.sql("SELECT 1 FROM unique_lock WHERE key = ? AND expires > ?").get(key, now) !== undefined;
}

/** Releases a lock if the job `jid` has it; without a jid in any case. */
export function release(context: Context, key: string, jid: string | undefined): void {
  context.sql("DELETE FROM unique_lock WHERE key = ?1 AND (?2 IS NULL OR jid = ?2)").run(key, jid ?? null);
}

/** Releases the lock of a job that has it until it starts. */
export function releaseStarted(context: Context, payload: string): void {
  if (!payload.includes('"unique_until":"start"') || getField(payload, "unique_until") !== "start") return;
  const [key, jid] = [getField(payload, "unique_key"), getField(payload, "jid")];
  if (typeof key === "string" && typeof jid === "string") release(context, key, jid);
}

/** Releases a job's lock, and its place as the live job of a cron entry. */
export function releaseOf(context: Context, jid: string | null): void {
  if (jid === null) return;
  context.sql("DELETE FROM unique_lock WHERE jid = ?").run(jid);
  runNow(endLive(jid), context.sql);
}
