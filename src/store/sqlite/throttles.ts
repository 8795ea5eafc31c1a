/**
 * Throttles: how many pushes with a key are accepted in a time. All functions run inside transactions.
 *
 * @module
 */
import type { Throttle } from "../port/jobs.ts";
import type { Context } from "./context.ts";

/** Each accepted push deletes at most this many expired rows: more than it adds. */
const MAX_SWEPT = 2;

/** Returns whose place is free next, and in how many milliseconds; undefined if the throttle accepts a push now. */
export function refusal(
  { sql }: Context,
  { key, count, perMs }: Throttle,
  now: number,
): { readonly throttled: string; readonly freeInMs: number } | undefined {
  // If the clock was set back, later times become now, so that the throttle is full for `perMs` at most.
  sql("UPDATE throttled SET at = ?2 WHERE key = ?1 AND at > ?2").run(key, now);
  const oldest = sql(
    "SELECT jid, at FROM throttled WHERE key = ? AND at > ? ORDER BY at DESC, id DESC LIMIT 1 OFFSET ?",
  ).get(key, now - perMs, count - 1);
  return oldest && { throttled: String(oldest.jid), freeInMs: Number(oldest.at) + perMs - now };
}

/** Counts an accepted push. */
export function note({ sql }: Context, { key, perMs }: Throttle, jid: string, now: number): void {
  const expires = Math.ceil(now + perMs);
  sql("DELETE FROM throttled WHERE id IN (SELECT id FROM throttled WHERE expires <= ? LIMIT ?)").run(now, MAX_SWEPT);
  sql("INSERT INTO throttled (key, jid, at, expires) VALUES (?, ?, ?, ?)").run(key, jid, now, expires);
}
