/**
 * Unique worker names: each is held by at most one live worker.
 *
 * @module
 */
import type { NameHolder } from "../port/workers.ts";
import type { Context } from "./context.ts";
import { offlineFor } from "./workers.ts";

interface NameRow {
  readonly worker: string;
  readonly expires: number;
}

/** Claims a name; inside a transaction. Returns false if another worker holds it that is not offline. */
export function claimName(context: Context, name: string, worker: string, ttlMs: number): boolean {
  const { sql, now } = context;
  const row = rowOf(context, name);
  if (row !== undefined && row.worker !== worker && !isFree(context, row, worker)) return false;
  sql("INSERT OR REPLACE INTO worker_name (name, worker, expires) VALUES (?, ?, ?)")
    .run(name, worker, Math.round(now() + ttlMs));
  return true;
}

/** Returns the live holder of a name. */
export function nameHolder(context: Context, name: string): NameHolder | undefined {
  const row = rowOf(context, name);
  return row && holderIn(context, row);
}

/** Releases a name that `worker` holds; inside a transaction. */
export function releaseName({ sql }: Context, name: string, worker: string): void {
  sql("DELETE FROM worker_name WHERE name = ? AND worker = ?").run(name, worker);
}

function rowOf({ sql }: Context, name: string): NameRow | undefined {
  return sql("SELECT worker, expires FROM worker_name WHERE name = ?").get(name) as NameRow | undefined;
}

/** Returns whether `claimant` may take over a name: its holder no longer exists, or is offline by the rule of `JobStore.rescue`. */
function isFree(context: Context, { worker, expires }: NameRow, claimant: string): boolean {
  const now = context.now();
  const holder = context.sql("SELECT deadline, heartbeat_at AS heartbeatAt, ttl FROM worker WHERE id = ?").get(
    worker,
  ) as
    | { readonly deadline: number; readonly heartbeatAt: number; readonly ttl: number }
    | undefined;
  if (holder === undefined || expires <= now) return true;
  return holder.deadline <= now && offlineFor(context, claimant, now)(holder);
}

function holderIn({ sql, now }: Context, { worker, expires }: NameRow): NameHolder | undefined {
  const holder = sql("SELECT deadline FROM worker WHERE id = ?").get(worker);
  if (holder === undefined) return undefined;
  const heartbeatUntil = Number(holder.deadline);
  const freeInMs = Math.min(heartbeatUntil, expires) - now();
  return freeInMs > 0 ? { worker, heartbeatUntil, freeInMs } : undefined;
}
