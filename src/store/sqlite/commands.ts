/**
 * Commands to workers, and their replies.
 *
 * @module
 */
import type { Command, Mailbox } from "../port/workers.ts";
import type { Context } from "./context.ts";
import { workerIn } from "./lease_workers.ts";
import { parseRef } from "./refs.ts";

/** A reply that isn't read is kept for this long. */
const REPLY_TTL_MS = 60_000;

/** See `WorkerStore.send`. */
export function send(context: Context, to: string, message: Command | string): Promise<boolean> {
  return context.commit.run(() => {
    const { sql } = context;
    const now = context.now();
    if (typeof message === "string") {
      sql("DELETE FROM reply WHERE expires <= ?").run(now);
      sql("INSERT OR REPLACE INTO reply (id, body, expires) VALUES (?, ?, ?)").run(to, message, now + REPLY_TTL_MS);
      return true;
    }
    const { ref, ...command } = message;
    const accepts = ref === undefined
      ? sql("SELECT 1 FROM worker WHERE id = ? AND deadline > ?").get(to, now) !== undefined
      : cancelLease(context, to, ref);
    if (accepts) sql("INSERT INTO command (worker, body) VALUES (?, ?)").run(to, JSON.stringify(command));
    return accepts;
  });
}

/** Marks a lease as cancelled. Returns false if the worker doesn't have it. Inside a transaction. */
function cancelLease({ sql }: Context, worker: string, ref: string): boolean {
  const parts = parseRef(ref);
  if (parts === undefined) return false;
  return sql(
    `UPDATE lease SET cancelled = 1
     WHERE job = ?1 AND worker_id = ${workerIn("?2")} AND (SELECT jid FROM job WHERE id = ?1) IS ?3`,
  ).run(parts.id, worker, parts.jid).changes > 0;
}

/** Returns whether a mailbox has messages. */
export function hasMail({ sql, now }: Context, box: Mailbox): boolean {
  const row = "commandsTo" in box
    ? sql("SELECT 1 FROM command WHERE worker = ? LIMIT 1").get(box.commandsTo)
    : sql("SELECT 1 FROM reply WHERE id = ? AND expires > ?").get(box.replyTo, now());
  return row !== undefined;
}

/** See `WorkerStore.collect`. */
export async function collect({ sql, now, commit }: Context, box: Mailbox): Promise<string[]> {
  const rows = await commit.run(() =>
    "commandsTo" in box
      ? sql("DELETE FROM command WHERE worker = ? RETURNING id, body").all(box.commandsTo)
      : sql("DELETE FROM reply WHERE id = ? AND expires > ? RETURNING id, body").all(box.replyTo, now())
  );
  return rows.sort((a, b) => Number(a.id) - Number(b.id)).map(({ body }) => String(body));
}
