/**
 * Throttles: how many pushes with a key are accepted in a time. All functions run inside transactions.
 *
 * @module
 */
import type { RowPage, ThrottleRow } from "../admin/transfer.ts";
import type { Throttle } from "../port/jobs.ts";
import type { Context } from "./context.ts";

/** Each accepted push deletes at most this many expired rows: more than it adds. */
const MAX_SWEPT = 2;

/** Throttles of a page. */
const PAGE = 50;
/** A page ends with the throttle that reaches this many pushes. */
const MAX_PAGE_PUSHES = 1_000;

/** Returns whose place is free next, and in how many milliseconds; undefined if the throttle accepts a push now. */
export function refusal(
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
export function note({ sql }: Context, { key, perMs }: Throttle, jid: string, now: number): void {
  const expires = Math.ceil(now + perMs);
  sql("DELETE FROM throttled WHERE id IN (SELECT id FROM throttled WHERE expires <= ? LIMIT ?)").run(now, MAX_SWEPT);
  sql("INSERT INTO throttled (key, jid, at, expires) VALUES (?, ?, ?, ?)").run(key, jid, now, expires);
}

/** Returns a page of the throttles whose pushes count. */
export function page({ sql, now: clock }: Context, cursor = ""): RowPage<"throttle"> {
  const now = clock();
  const keys = sql("SELECT DISTINCT key FROM throttled WHERE key > ? AND expires > ? ORDER BY key LIMIT ?")
    .all(cursor, now, PAGE) as { key: string }[];
  const rows: ThrottleRow[] = [];
  let count = 0;
  for (const { key } of keys) {
    if (count >= MAX_PAGE_PUSHES) break;
    const all = sql("SELECT jid, at, expires FROM throttled WHERE key = ? AND expires > ? ORDER BY at DESC, id DESC")
      .all(key, now) as { jid: string; at: number; expires: number }[];
    const pushes = all.map(({ jid, at }) => ({ jid, agoMs: Math.max(0, now - at) }));
    rows.push({ key, perMs: all[0]!.expires - all[0]!.at, pushes });
    count += pushes.length;
  }
  const isLast = keys.length < PAGE && rows.length === keys.length;
  return { rows, ...(!isLast && { next: rows.at(-1)!.key }) };
}

/** Stores throttles of another store. One that counts pushes here already keeps them. */
export function importAll({ sql, now: clock }: Context, throttles: readonly ThrottleRow[]): void {
  const now = clock();
  for (const { key, perMs, pushes } of throttles) {
    if (sql("SELECT 1 FROM throttled WHERE key = ? AND expires > ?").get(key, now) !== undefined) continue;
    for (const { jid, agoMs } of pushes.toReversed()) {
      const at = Math.round(now - agoMs);
      sql("INSERT INTO throttled (key, jid, at, expires) VALUES (?, ?, ?, ?)").run(key, jid, at, Math.ceil(at + perMs));
    }
  }
}

/** Removes throttles. */
export function remove({ sql }: Context, keys: readonly string[]): void {
  sql("DELETE FROM throttled WHERE key IN (SELECT value FROM json_each(?))").run(JSON.stringify(keys));
}
