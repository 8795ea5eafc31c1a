/**
 * Once keys, which make pushes idempotent. They outlive their job, until they expire. All functions run inside transactions.
 *
 * @module
 */
import type { OnceRow, RowPage } from "../admin/transfer.ts";
import type { OnceKey } from "../port/jobs.ts";
import type { Context } from "./context.ts";
import { wholeName } from "./groups.ts";

/** The push that stored a job with a key. */
export interface FirstPush {
  readonly first: string;
  readonly differs?: true;
}

/** Returns the push that stored a job with the key; undefined if none did, or the key has expired. */
export function firstWith(context: Context, { key, fingerprint }: OnceKey, now: number): FirstPush | undefined {
  const row = context.sql("SELECT jid, fingerprint FROM once_key WHERE key = ? AND expires > ?").get(key, now);
  if (row === undefined) return undefined;
  const differs = fingerprint !== undefined && row.fingerprint !== "" && row.fingerprint !== fingerprint;
  return { first: String(row.jid), ...(differs && { differs }) };
}

/** Notes that a job is stored with the key. Returns the first push if a job was stored with it before. */
export function remember(context: Context, once: OnceKey, jid: string, now: number): FirstPush | undefined {
  const { sql } = context;
  const { key, ttlMs, fingerprint = "" } = once;
  const { changes } = sql(
    "INSERT INTO once_key (key, jid, expires, fingerprint) VALUES (?1, ?2, ?3, ?5) ON CONFLICT (key) DO UPDATE " +
      "SET jid = ?2, expires = ?3, fingerprint = ?5 WHERE expires <= ?4",
  ).run(key, jid, Math.round(now + ttlMs), now, fingerprint);
  return Number(changes) === 0 ? firstWith(context, once, now) : undefined;
}

/** Keys of a page. */
const PAGE = 500;

/** Returns a page of the keys that are remembered. */
export function page({ sql, now: clock }: Context, cursor = ""): RowPage<"once"> {
  const now = clock();
  const found = sql(
    "SELECT CAST(key AS BLOB) AS name, jid, expires, fingerprint FROM once_key WHERE key > ? AND expires > ? ORDER BY key LIMIT ?",
  ).all(cursor, now, PAGE) as { name: Uint8Array; jid: string; expires: number; fingerprint: string }[];
  const rows = found.map((row) => {
    const { jid, expires, fingerprint } = row;
    return { key: wholeName(row), jid, leftMs: expires - now, fingerprint };
  });
  return { rows, ...(found.length === PAGE && { next: rows.at(-1)!.key }) };
}

/** Stores keys of another store, except those that are remembered here. */
export function importAll(context: Context, keys: readonly OnceRow[]): void {
  const now = context.now();
  for (const { key, jid, leftMs, fingerprint } of keys) {
    remember(context, { key, ttlMs: leftMs, fingerprint }, jid, now);
  }
}

/** Forgets keys. */
export function remove({ sql }: Context, keys: readonly string[]): void {
  sql("DELETE FROM once_key WHERE key IN (SELECT value FROM json_each(?))").run(JSON.stringify(keys));
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
export function sweep(context: Context, count: number, now: number): void {
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
