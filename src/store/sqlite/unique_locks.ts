/**
 * Unique locks, which end with their job, and the keys of idempotent pushes, which outlive it. All of it inside transactions.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import type { OnceKey, UniqueLock } from "../port/jobs.ts";
import type { Context } from "./context.ts";
import { endLive } from "./cron.ts";

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

/** Returns the jid of the job that was stored with the key; undefined if none was, or the key has expired. */
export function firstWith(context: Context, key: string, now: number): string | undefined {
  return context.sql("SELECT jid FROM once_key WHERE key = ? AND expires > ?").get(key, now)?.jid?.toString();
}

/** Notes that a job is stored with the key. Returns the jid of the first job if one was stored with it before. */
export function remember(context: Context, { key, ttlMs }: OnceKey, jid: string, now: number): string | undefined {
  const { sql } = context;
  const { changes } = sql(
    "INSERT INTO once_key (key, jid, expires) VALUES (?1, ?2, ?3) ON CONFLICT (key) DO UPDATE " +
      "SET jid = ?2, expires = ?3 WHERE expires <= ?4",
  ).run(key, jid, Math.round(now + ttlMs), now);
  return Number(changes) === 0 ? firstWith(context, key, now) : undefined;
}

/** Keys are swept once per this many new ones. */
const KEYS_PER_SWEEP = 64;
/** Keys that a sweep reads per new one. With 4, the store has at most a third more keys than are valid. */
const SWEPT_PER_KEY = 4;
/** The keys stored since the last sweep. Begins at random, so that processes which push a single job sweep in their turn. */
const unswept = new WeakMap<Context, number>();

/**
 * Notes that keys were stored. From time to time reads the next keys in their order, from where the last sweep of any process
 * ended, and deletes those that have expired.
 */
export function forgetKeys(context: Context, count: number, now: number): void {
  const keys = (unswept.get(context) ?? Math.floor(Math.random() * KEYS_PER_SWEEP)) + count;
  unswept.set(context, keys < KEYS_PER_SWEEP ? keys : 0);
  if (keys < KEYS_PER_SWEEP) return;
  const { sql } = context;
  const from = String(sql("SELECT key FROM once_sweep").get()!.key);
  const most = SWEPT_PER_KEY * keys;
  const next = sql("SELECT key FROM once_key WHERE key >= ? ORDER BY key LIMIT 1 OFFSET ?").get(from, most)?.key;
  if (next === undefined) sql("DELETE FROM once_key WHERE key >= ? AND expires <= ?").run(from, now);
  else sql("DELETE FROM once_key WHERE key >= ? AND key < ? AND expires <= ?").run(from, next, now);
  // After the last key, the next sweep begins at the first one.
  sql("UPDATE once_sweep SET key = ?").run(next ?? "");
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
  endLive(context, jid);
}
