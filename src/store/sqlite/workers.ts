/**
 * Workers: heartbeats, deaths, names, and which ones are offline.
 *
 * @module
 */
import type { RunningSuspects } from "../../job/suspicion.ts";
import {
  CANCELLED_WORKER,
  type HeartbeatReply,
  type NameHolder,
  type WorkerInfo,
  type WorkerRecord,
} from "../port/workers.ts";
import type { Context } from "./context.ts";
import { workerIn } from "./lease_workers.ts";
import * as queues from "./queues.ts";

/** Workers past their heartbeat timeout. */
export interface Offline {
  /** Those that are offline. */
  readonly workers: readonly string[];
  /** Others are past their timeout and have leases, but may be alive. */
  readonly waits: boolean;
}

/** The jobs that a worker ran when it died, and how it ended. */
export interface LastMoments extends RunningSuspects {
  readonly ended?: string;
}

interface Lapsed {
  readonly id: string;
  /** Its last heartbeat; for one that isn't registered, its last take. */
  readonly heartbeatAt: number;
  /** Its heartbeat timeout; 0 if unknown. */
  readonly ttl: number;
  readonly hasLeases: 0 | 1;
}

interface Rescuer {
  readonly heartbeatAt: number;
  readonly ttl: number;
  /** The first of its continuous heartbeats. */
  readonly since: number;
}

/** Returns whether a heartbeat now continues those before it. */
function isFresh(heartbeatAt: number, ttlMs: number, now: number): boolean {
  return heartbeatAt <= now && now - heartbeatAt < ttlMs / 2;
}

/** Returns the rule of `JobStore.rescue`: whether a worker whose heartbeat has lapsed is offline, in the view of `worker`. */
export function offlineFor(
  { sql }: Context,
  worker: string,
  now: number,
): (lapsed: { readonly heartbeatAt: number; readonly ttl: number }) => boolean {
  const rescuer = sql("SELECT heartbeat_at AS heartbeatAt, ttl, since FROM worker WHERE id = ?").get(worker) as
    | Rescuer
    | undefined;
  return ({ heartbeatAt, ttl }) =>
    rescuer !== undefined && isFresh(rescuer.heartbeatAt, rescuer.ttl, now) &&
    now >= Math.max(heartbeatAt, rescuer.since) + Math.max(ttl, rescuer.ttl);
}

/** See `WorkerStore.heartbeat`. */
export function heartbeat(context: Context, record: WorkerRecord, ttlMs: number): Promise<HeartbeatReply> {
  return context.commit.run(() => {
    const now = context.now();
    const { sql } = context;
    const before = sql("SELECT deadline, heartbeat_at, since FROM worker WHERE id = ?").get(record.id);
    if (before === undefined || Number(before.heartbeat_at) > now) followClockBack(context, now);
    const isContinuous = before !== undefined && isFresh(Number(before.heartbeat_at), ttlMs, now);
    const since = isContinuous ? Number(before.since) : now;
    sql(
      `INSERT INTO worker (id, record, heartbeat_at, deadline, ttl, since) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
       ON CONFLICT (id) DO UPDATE
         SET record = ?2, heartbeat_at = ?3, deadline = ?4, ttl = ?5, since = ?6, judged = 0, ended = NULL`,
    ).run(record.id, JSON.stringify(record), now, Math.round(now + ttlMs), Math.round(ttlMs), since);
    // A worker without a row is new, or was found offline and removed.
    return { commands: [], lapsed: before === undefined || Number(before.deadline) <= now };
  }, { deferrable: true });
}

/** See `WorkerStore.deregister`. */
export function deregister(context: Context, worker: string): Promise<void> {
  return context.commit.run(() => {
    queues.returnLeases(context, worker);
    forget(context, worker);
  });
}

/** Returns the workers that `worker` may rescue now, by the rule of `JobStore.rescue`. */
export function findOffline(context: Context, worker: string): Offline {
  const { sql } = context;
  const now = context.now();
  const lapsed = sql(
    `SELECT id, heartbeat_at AS heartbeatAt, ttl,
            EXISTS (SELECT 1 FROM lease WHERE worker_id = ${workerIn("worker.id")}) AS hasLeases
       FROM worker WHERE deadline <= ?
     UNION ALL
     SELECT worker, iif(worker = '${CANCELLED_WORKER}', 0, max(at)), 0, 1 FROM lease_worker CROSS JOIN lease ON worker_id = lease_worker.id
       WHERE worker NOT IN (SELECT id FROM worker) GROUP BY worker`,
  ).all(now) as unknown as Lapsed[];
  if (lapsed.length === 0) return { workers: [], waits: false };
  const judge = offlineFor(context, worker, now);
  const isOffline = (one: Lapsed) => one.id === CANCELLED_WORKER || judge(one);
  return {
    workers: lapsed.filter(isOffline).map(({ id }) => id),
    waits: lapsed.some((one) => one.hasLeases === 1 && !isOffline(one)),
  };
}

/** See `WorkerStore.note`. A worker that was removed has no leases: nothing is noted. */
export function note(
  { sql, commit }: Context,
  worker: string,
  { running, ended }: { readonly running?: RunningSuspects; readonly ended?: string },
): Promise<void> {
  return commit.run(() => {
    if (running !== undefined) {
      sql("UPDATE worker SET suspects = ?, alone = ? WHERE id = ?")
        .run(JSON.stringify(running.tokens), running.alone ? 1 : 0, worker);
    }
    if (ended !== undefined) sql("UPDATE worker SET ended = ? WHERE id = ?").run(ended, worker);
  });
}

/** See `WorkerStore.claim`; inside a transaction. */
export function claim(context: Context, name: string, worker: string, ttlMs: number): NameHolder | undefined {
  const { sql } = context;
  const now = context.now();
  const held = sql(
    `SELECT id, deadline, heartbeat_at AS heartbeatAt, ttl FROM worker_name JOIN worker ON id = worker
     WHERE name = ? AND worker <> ? AND expires > ?`,
  ).get(name, worker, now) as (Pick<Lapsed, "id" | "heartbeatAt" | "ttl"> & { readonly deadline: number }) | undefined;
  const other = held && { worker: held.id, heartbeatUntil: held.deadline };
  if (ttlMs === 0) {
    sql("DELETE FROM worker_name WHERE name = ? AND worker = ?").run(name, worker);
    return other;
  }
  if (held && (held.deadline > now || !offlineFor(context, worker, now)(held))) return other;
  sql("INSERT OR REPLACE INTO worker_name (name, worker, expires) VALUES (?, ?, ?)")
    .run(name, worker, Math.round(now + ttlMs));
  const heartbeatUntil = Number(sql("SELECT deadline FROM worker WHERE id = ?").get(worker)?.deadline ?? 0);
  return { worker, heartbeatUntil };
}

/**
 * Returns what a dead worker was running when it died; inside a transaction. Suspects without a lease had ended: they are
 * dropped at the first call, because the first steps of the rescue delete the leases of the others.
 *
 * @param isLeased returns whether the worker still has a lease
 */
export function lastMoments(context: Context, worker: string, isLeased: (token: string) => boolean): LastMoments {
  const { sql } = context;
  const row = sql("SELECT suspects, alone, judged, ended FROM worker WHERE id = ?").get(worker);
  const noted: string[] = row?.suspects ? JSON.parse(String(row.suspects)) : [];
  const tokens = row?.judged ? noted : noted.filter(isLeased);
  if (!row?.judged) {
    sql("UPDATE worker SET suspects = ?, judged = 1 WHERE id = ?").run(JSON.stringify(tokens), worker);
  }
  return { tokens, alone: row?.alone === 1, ...(typeof row?.ended === "string" && { ended: row.ended }) };
}

/** Returns how many jobs a worker has leased. */
export function countLeases(context: Context, worker: string): number {
  return Number(
    context.sql(`SELECT count(*) AS count FROM lease WHERE worker_id = ${workerIn("?")}`).get(worker)!.count,
  );
}

/** Removes a worker with its commands; inside a transaction. */
export function forget(context: Context, worker: string): void {
  context.sql("DELETE FROM worker WHERE id = ?").run(worker);
  context.sql("DELETE FROM command WHERE worker = ?").run(worker);
}

/**
 * After the clock was set back, heartbeats in the future count from now: an offline worker would otherwise look alive until
 * the clock is there again. Inside a transaction.
 */
function followClockBack(context: Context, now: number): void {
  context.sql("UPDATE worker SET heartbeat_at = ?1, deadline = ?1 + ttl, since = ?1 WHERE heartbeat_at > ?1").run(now);
}

/** See `WorkerStore.list`. */
export function list(context: Context): WorkerInfo[] {
  const now = context.now();
  const rows = context.sql("SELECT id, record, heartbeat_at, deadline FROM worker ORDER BY id").all();
  return rows.map((row) => ({
    ...readRecord(String(row.id), String(row.record)),
    heartbeatAt: Number(row.heartbeat_at),
    alive: Number(row.deadline) > now,
  }));
}

/** Reads a record. Another program may have changed it: fields of another type are left out. */
function readRecord(id: string, text: string): WorkerRecord {
  const empty = {
    ...{
      id,
      hostname: "(unreadable)",
      pid: 0,
      tag: "",
      labels: [],
      queues: [],
      weights: {},
      concurrency: 0,
      version: "",
    },
    ...{ startedAt: 0, quiet: false, busy: 0, rss: 0, work: [] },
  };
  try {
    const like: Readonly<Record<string, unknown>> = { ...empty, stopping: true, blocked: {}, classes: [] };
    const fields = Object.entries(JSON.parse(text)).filter(([name, value]) =>
      value !== null && typeof value === typeof (like[name] ?? {}) && Array.isArray(value) === Array.isArray(like[name])
    );
    return { ...empty, ...Object.fromEntries(fields) };
  } catch {
    return empty;
  }
}
