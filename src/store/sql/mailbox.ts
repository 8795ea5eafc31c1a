/**
 * Commands to workers, and their replies.
 *
 * @module
 */
import type { Command, Mailbox } from "../port/workers.ts";
import { type Body, query } from "./body.ts";
import { parseRef } from "./refs.ts";
import { workerIn } from "./workers.ts";

/** A reply that isn't read is kept for this long. */
const REPLY_TTL_MS = 60_000;

/** See `WorkerStore.send`. */
export function* send(to: string, message: Command | string, now: number): Body<boolean> {
  if (typeof message === "string") {
    yield query("DELETE FROM reply WHERE expires <= ?1", [now]);
    yield query(
      `INSERT INTO reply (id, body, expires) VALUES (?1, ?2, ?3)
       ON CONFLICT (id) DO UPDATE SET body = ?2, expires = ?3`,
      [to, message, now + REPLY_TTL_MS],
    );
    return true;
  }
  const { ref, ...command } = message;
  const accepts = ref === undefined
    ? (yield query("SELECT 1 FROM worker WHERE id = ?1 AND deadline > ?2", [to, now])).length > 0
    : yield* cancelLease(to, ref);
  if (accepts) yield query("INSERT INTO command (worker, body) VALUES (?1, ?2)", [to, JSON.stringify(command)]);
  return accepts;
}

/** Marks a lease as cancelled. Returns false if the worker doesn't have it. */
function* cancelLease(worker: string, ref: string): Body<boolean> {
  const parts = parseRef(ref);
  if (parts === undefined) return false;
  const [marked] = yield query(
    `UPDATE lease SET cancelled = 1
     WHERE job = ?1 AND worker_id = ${workerIn("?2")} AND (SELECT jid FROM job WHERE id = ?1) IS NOT DISTINCT FROM ?3
     RETURNING 1`,
    [parts.id, worker, parts.jid],
  );
  return marked !== undefined;
}

/** Returns whether a mailbox has messages. */
export function* hasMail(box: Mailbox, now: number): Body<boolean> {
  const rows = "commandsTo" in box
    ? yield query("SELECT 1 FROM command WHERE worker = ?1 LIMIT 1", [box.commandsTo])
    : yield query("SELECT 1 FROM reply WHERE id = ?1 AND expires > ?2", [box.replyTo, now]);
  return rows.length > 0;
}

/** See `WorkerStore.collect`. */
export function* collect(box: Mailbox, now: number): Body<string[]> {
  const rows = "commandsTo" in box
    ? yield query("DELETE FROM command WHERE worker = ?1 RETURNING id, body", [box.commandsTo])
    : yield query("DELETE FROM reply WHERE id = ?1 AND expires > ?2 RETURNING id, body", [box.replyTo, now]);
  return [...rows].sort((a, b) => Number(a.id) - Number(b.id)).map(({ body }) => String(body));
}
