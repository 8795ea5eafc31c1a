/**
 * Commands to workers, and their replies.
 *
 * @module
 */
import type { Command } from "../port/workers.ts";
import type { Context } from "./context.ts";
import { workerIn } from "./lease_workers.ts";
import { parseRef } from "./refs.ts";

/** A reply that isn't read is kept for this long. */
const REPLY_TTL_MS = 60_000;

/** See `WorkerStore.send`. */
export function send(context: Context, worker: string, { ref, ...command }: Command): Promise<boolean> {
  return context.commit.run(() => {
    const { sql, now } = context;
    const accepts = ref === undefined
      ? sql("SELECT 1 FROM worker WHERE id = ? AND deadline > ?").get(worker, now()) !== undefined
      : cancelLease(context, worker, ref);
    if (!accepts) return false;
    sql("INSERT INTO command (worker, body) VALUES (?, ?)").run(worker, JSON.stringify(command));
    return true;
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

/** See `WorkerStore.receive`. */
export async function receive(context: Context, worker: string, signal: AbortSignal): Promise<Command[]> {
  const { sql, watch, commit } = context;
  const hasCommand = () => sql("SELECT 1 FROM command WHERE worker = ? LIMIT 1").get(worker) !== undefined;
  for (;;) {
    await watch.until(hasCommand, signal);
    if (signal.aborted || watch.isClosed) return [];
    const bodies = await commit.run(() => sql("DELETE FROM command WHERE worker = ? RETURNING id, body").all(worker));
    if (bodies.length === 0) continue;
    bodies.sort((a, b) => Number(a.id) - Number(b.id));
    return bodies.map((row) => JSON.parse(String(row.body)) as Command);
  }
}

/** See `WorkerStore.reply`. */
export function reply(context: Context, id: string, text: string): Promise<void> {
  return context.commit.run(() => {
    const { sql } = context;
    const now = context.now();
    sql("DELETE FROM reply WHERE expires <= ?").run(now);
    sql("INSERT OR REPLACE INTO reply (id, body, expires) VALUES (?, ?, ?)").run(id, text, now + REPLY_TTL_MS);
  });
}

/** See `WorkerStore.awaitReply`. */
export async function awaitReply(context: Context, id: string, signal: AbortSignal): Promise<string | undefined> {
  const { sql, now, watch, read } = context;
  const find = () => sql("SELECT body FROM reply WHERE id = ? AND expires > ?").get(id, now())?.body;
  await watch.until(() => find() !== undefined, signal);
  if (signal.aborted || watch.isClosed) return undefined;
  const body = await read(find);
  return body === undefined ? undefined : String(body);
}
