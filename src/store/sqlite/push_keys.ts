/**
 * The keys that decide whether a push stores a job: unique locks, which end with their job, once keys, which outlive it until
 * they expire, and throttles, which count pushes. All functions run inside transactions.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import type { OnceKey, Throttle, UniqueLock } from "../port/jobs.ts";
import { runNow } from "../sql/body.ts";
import { endLive } from "../sql/cron.ts";
import type { Context } from "./context.ts";

/** Expired locks and counted pushes that each new one deletes at most. More are deleted than arrive. */
const MAX_SWEPT = 2;
/** Once keys are swept once per this many new ones. */
const KEYS_PER_SWEEP = 64;
/** Keys that a sweep reads per new one. With 4, the store has at most a third more keys than are valid. */
const SWEPT_PER_KEY = 4;
/** The keys stored since the last sweep. Begins at random, so that processes which push a single job sweep in their turn. */
const unswept = new WeakMap<Context, number>();

/** The push that stored a job with a key. */
export interface FirstPush {
  readonly first: string;
  readonly differs?: true;
}

/** Takes the lock for a job. Returns the jid of the holder if another job has it. */
export function lock(context: Context, { key, ttlMs }: UniqueLock, jid: string, now: number): string | undefined {
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
export function renewLock(context: Context, { key, ttlMs }: UniqueLock, now: number): void {
  context.sql("UPDATE unique_lock SET expires = ? WHERE key = ?").run(Math.round(now + ttlMs), key);
}

/** Returns whether a job has the lock. */
export function isLocked(context: Context, key: string, now: number): boolean {
  return context.sql("SELECT 1 FROM unique_lock WHERE key = ? AND expires > ?").get(key, now) !== undefined;
}

/** Releases a lock if the job `jid` has it; without a jid in any case. */
export function unlock(context: Context, key: string, jid: string | undefined): void {
  context.sql("DELETE FROM unique_lock WHERE key = ?1 AND (?2 IS NULL OR jid = ?2)").run(key, jid ?? null);
}

/** Releases the lock of a job that has it until it starts. */
export function unlockStarted(context: Context, payload: string): void {
  if (!payload.includes('"unique_until":"start"') || getField(payload, "unique_until") !== "start") return;
  const [key, jid] = [getField(payload, "unique_key"), getField(payload, "jid")];
  if (typeof key === "string" && typeof jid === "string") unlock(context, key, jid);
}

/** Releases a job's lock, and its place as the live job of a cron entry. */
export function unlockOf(context: Context, jid: string | null): void {
  if (jid === null) return;
  context.sql("DELETE FROM unique_lock WHERE jid = ?").run(jid);
  runNow(endLive(jid), context.sql);
}

/** Returns the push that stored a job with the key; undefined if none did, or the key has expired. */
export function firstWith(context: Context, { key, fingerprint }: OnceKey, now: number): FirstPush | undefined {
  const row = context.sql("SELECT jid, fingerprint FROM once_key WHERE key = ? AND expires > ?").get(key, now);
  if (row === undefined) return undefined;
  const differs = fingerprint !== undefined && row.fingerprint !== "" && row.fingerprint !== fingerprint;
  return { first: String(row.jid), ...(differs && { differs }) };
}

/** Notes that a job is stored with the key. Returns the first push if a job was stored with it before. */
export function rememberOnce(context: Context, once: OnceKey, jid: string, now: number): FirstPush | undefined {
  const { sql } = context;
  const { key, ttlMs, fingerprint = "" } = once;
  const { changes } = sql(
    "INSERT INTO once_key (key, jid, expires, fingerprint) VALUES (?1, ?2, ?3, ?5) ON CONFLICT (key) DO UPDATE " +
      "SET jid = ?2, expires = ?3, fingerprint = ?5 WHERE expires <= ?4",
  ).run(key, jid, Math.round(now + ttlMs), now, fingerprint);
  return Number(changes) === 0 ? firstWith(context, once, now) : undefined;
}

/** Remembers a push in place of the first one with its key. */
export function replaceOnce(context: Context, once: OnceKey, id: string, now: number): void {
  forgetOnce(context, [once.key]);
  rememberOnce(context, once, id, now);
  sweepOnce(context, 1, now);
}

/** Forgets once keys. */
export function forgetOnce({ sql }: Context, keys: readonly string[]): void {
  sql("DELETE FROM once_key WHERE key IN (SELECT value FROM json_each(?))").run(JSON.stringify(keys));
}

/**
 * Notes that once keys were stored. From time to time reads the next keys in their order, from where the last sweep of any
 * process ended, and deletes those that have expired.
 */
export function sweepOnce(context: Context, count: number, now: number): void {
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

/** Returns whose place is free next, and in how many milliseconds; undefined if the throttle accepts a push now. */
export function throttled(
  { sql }: Context,
  { key, count, perMs }: Throttle,
  now: number,
): { readonly by: string; readonly freeInMs: number } | undefined {
  // If the clock was set back, later times become now, so that the throttle is full for `perMs` at most.
  sql("UPDATE throttled SET at = ?2 WHERE key = ?1 AND at > ?2").run(key, now);
  const oldest = sql(
    "SELECT jid, at FROM throttled WHERE key = ? AND at > ? ORDER BY at DESC, id DESC LIMIT 1 OFFSET ?",
  ).get(key, now - perMs, count - 1);
  return oldest && { by: String(oldest.jid), freeInMs: Number(oldest.at) + perMs - now };
}

/** Counts an accepted push. */
export function noteThrottled({ sql }: Context, { key, perMs }: Throttle, jid: string, now: number): void {
  const expires = Math.ceil(now + perMs);
  sql("DELETE FROM throttled WHERE id IN (SELECT id FROM throttled WHERE expires <= ? LIMIT ?)").run(now, MAX_SWEPT);
  sql("INSERT INTO throttled (key, jid, at, expires) VALUES (?, ?, ?, ?)").run(key, jid, now, expires);
}
