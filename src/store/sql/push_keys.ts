/**
 * The keys that decide whether a push stores a job: unique locks, which end with their job, once keys, which outlive it until
 * they expire, and throttles, which count pushes. Each caller locks the names of the keys.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import type { OnceKey, Throttle, UniqueLock } from "../port/jobs.ts";
import { type Body, type Dialect, type Engine, query } from "./body.ts";
import { inTexts } from "./in_parts.ts";

/** Expired locks and counted pushes that each new one deletes at most. More are deleted than arrive. */
const MAX_SWEPT = 2;
/** Once keys are swept once per this many new ones. */
const KEYS_PER_SWEEP = 64;
/** Keys that a sweep reads per new one. With 4, the store has at most a third more keys than are valid. */
const SWEPT_PER_KEY = 4;
/** Counts the once keys that a store has stored since its last sweep. Begins at random: stores that push a single job sweep in their turn. */
export class UnsweptKeys {
  count = Math.floor(Math.random() * KEYS_PER_SWEEP);
}

/** The push that stored a job with a key. */
export interface FirstPush {
  readonly first: string;
  readonly differs?: true;
}

/** Takes the lock for a job. Returns the jid of the holder if another job has it. */
export function* lock({ key, ttlMs }: UniqueLock, jid: string, now: number): Body<string | undefined> {
  const [held] = yield query("SELECT jid FROM unique_lock WHERE key = ?1 AND expires > ?2", [key, now]);
  if (held !== undefined) return String(held.jid);
  yield query("DELETE FROM unique_lock WHERE key IN (SELECT key FROM unique_lock WHERE expires <= ?1 LIMIT ?2)", [
    now,
    MAX_SWEPT,
  ]);
  yield query(
    `INSERT INTO unique_lock (key, jid, expires) VALUES (?1, ?2, ?3)
     ON CONFLICT (key) DO UPDATE SET jid = ?2, expires = ?3`,
    [key, jid, Math.round(now + ttlMs)],
  );
  return undefined;
}

/** Holds a lock for its full time from now on. */
export function* renewLock({ key, ttlMs }: UniqueLock, now: number): Body<void> {
  yield query("UPDATE unique_lock SET expires = ?1 WHERE key = ?2", [Math.round(now + ttlMs), key]);
}

/** Returns whether a job has the lock. */
export function* isLocked(key: string, now: number): Body<boolean> {
  return (yield query("SELECT 1 FROM unique_lock WHERE key = ?1 AND expires > ?2", [key, now])).length > 0;
}

/** Releases a lock if the job `jid` has it; without a jid in any case. */
export function* unlock(key: string, jid: string | undefined): Body<void> {
  if (jid === undefined) yield query("DELETE FROM unique_lock WHERE key = ?1", [key]);
  else yield query("DELETE FROM unique_lock WHERE key = ?1 AND jid = ?2", [key, jid]);
}

/** Releases the locks that jobs have. */
export function* unlockAll(dialect: Dialect, locks: readonly (readonly [key: string, jid: string])[]): Body<void> {
  for (const { from, values } of dialect.given(["text", "text"], locks)) {
    const [keys, jids] = [1, 2].map((i) => dialect.isIn(`SELECT column${i} FROM ${from}`));
    // A job that has the key of another one of these has taken it over: it ends, too.
    yield query(`DELETE FROM unique_lock WHERE key ${keys} AND jid ${jids}`, values);
  }
}

/** The lock that a job has until it starts. */
export function lockUntilStart(payload: string): { readonly key: string; readonly jid: string } | undefined {
  if (!payload.includes('"unique_until":"start"') || getField(payload, "unique_until") !== "start") return undefined;
  const [key, jid] = [getField(payload, "unique_key"), getField(payload, "jid")];
  return typeof key === "string" && typeof jid === "string" ? { key, jid } : undefined;
}

/** Releases a job's lock. */
export function* unlockOf(jid: string | null): Body<void> {
  if (jid !== null) yield query("DELETE FROM unique_lock WHERE jid = ?1", [jid]);
}

/** Returns the push that stored a job with the key; undefined if none did, or the key has expired. */
export function* firstWith({ key, fingerprint }: OnceKey, now: number): Body<FirstPush | undefined> {
  const [row] = yield query("SELECT jid, fingerprint FROM once_key WHERE key = ?1 AND expires > ?2", [key, now]);
  if (row === undefined) return undefined;
  const differs = fingerprint !== undefined && row.fingerprint !== "" && row.fingerprint !== fingerprint;
  return { first: String(row.jid), ...(differs && { differs }) };
}

/** Notes that a job is stored with the key. Returns the first push if a job was stored with it before. */
export function* rememberOnce(once: OnceKey, jid: string, now: number): Body<FirstPush | undefined> {
  const { key, ttlMs, fingerprint = "" } = once;
  const [stored] = yield query(
    `INSERT INTO once_key (key, jid, expires, fingerprint) VALUES (?1, ?2, ?3, ?5) ON CONFLICT (key) DO UPDATE
     SET jid = ?2, expires = ?3, fingerprint = ?5 WHERE once_key.expires <= ?4 RETURNING 1`,
    [key, jid, Math.round(now + ttlMs), now, fingerprint],
  );
  return stored === undefined ? yield* firstWith(once, now) : undefined;
}

/** Remembers a push in place of the first one with its key. */
export function* replaceOnce(engine: Engine, once: OnceKey, id: string, now: number): Body<void> {
  yield* forgetOnce([once.key]);
  yield* rememberOnce(once, id, now);
  yield* sweepOnce(engine, 1, now);
}

/** Forgets once keys. */
export function* forgetOnce(keys: readonly string[]): Body<void> {
  for (const { where, values } of inTexts(keys, "key")) yield query(`DELETE FROM once_key WHERE ${where}`, values);
}

/**
 * Notes that once keys were stored. From time to time reads the next keys in their order, from where the last sweep of any
 * process ended, and deletes those that have expired.
 */
export function* sweepOnce({ unswept }: Engine, count: number, now: number): Body<void> {
  const keys = unswept.count + count;
  unswept.count = keys < KEYS_PER_SWEEP ? keys : 0;
  if (keys < KEYS_PER_SWEEP) return;
  const from = String((yield query("SELECT key FROM once_sweep"))[0]!.key);
  const most = SWEPT_PER_KEY * keys;
  const [next] = yield query("SELECT key FROM once_key WHERE key >= ?1 ORDER BY key LIMIT 1 OFFSET ?2", [from, most]);
  if (next === undefined) yield query("DELETE FROM once_key WHERE key >= ?1 AND expires <= ?2", [from, now]);
  else {
    yield query("DELETE FROM once_key WHERE key >= ?1 AND key < ?2 AND expires <= ?3", [from, String(next.key), now]);
  }
  // After the last key, the next sweep begins at the first one.
  yield query("UPDATE once_sweep SET key = ?1", [next === undefined ? "" : String(next.key)]);
}

/** Returns whose place is free next, and in how many milliseconds; undefined if the throttle accepts a push now. */
export function* throttled(
  { key, count, perMs }: Throttle,
  now: number,
): Body<{ readonly by: string; readonly freeInMs: number } | undefined> {
  // If the clock was set back, later times become now, so that the throttle is full for `perMs` at most.
  yield query("UPDATE throttled SET at = ?2 WHERE key = ?1 AND at > ?2", [key, now]);
  const [oldest] = yield query(
    "SELECT jid, at FROM throttled WHERE key = ?1 AND at > ?2 ORDER BY at DESC, id DESC LIMIT 1 OFFSET ?3",
    [key, now - perMs, count - 1],
  );
  return oldest && { by: String(oldest.jid), freeInMs: Number(oldest.at) + perMs - now };
}

/** Counts an accepted push. */
export function* noteThrottled({ key, perMs }: Throttle, jid: string, now: number): Body<void> {
  const expires = Math.ceil(now + perMs);
  yield query("DELETE FROM throttled WHERE id IN (SELECT id FROM throttled WHERE expires <= ?1 LIMIT ?2)", [
    now,
    MAX_SWEPT,
  ]);
  yield query("INSERT INTO throttled (key, jid, at, expires) VALUES (?1, ?2, ?3, ?4)", [key, jid, now, expires]);
}
