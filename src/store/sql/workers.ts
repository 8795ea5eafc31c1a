/**
 * Workers: heartbeats, deaths, names, and which ones are offline.
 *
 * @module
 */
import { membersOf } from "../../job/event.ts";
import type { RunningSuspects } from "../../job/suspicion.ts";
import {
  CANCELLED_WORKER,
  type HeartbeatReply,
  type NameHolder,
  type WorkerInfo,
  type WorkerRecord,
  type WorkerStore,
} from "../port/workers.ts";
import { type Body, type Engine, lock, query } from "./body.ts";
import { withdraw } from "./declarations.ts";
import { record } from "./events.ts";
import { collect, send } from "./mailbox.ts";

/** A heartbeat that is later by less has overtaken this one: the clock wasn't set back. */
const CLOCK_SLACK_MS = 1_000;
/** The shortest time after which a heartbeat without an answer is lost. */
const MIN_REPLY_TIMEOUT_MS = 1_000;

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
  readonly heartbeat_at: number;
  /** Its heartbeat timeout; 0 if unknown. */
  readonly ttl: number;
  readonly has_leases: 0 | 1;
}

interface Rescuer {
  readonly heartbeat_at: number;
  readonly ttl: number;
  /** The first of its continuous heartbeats. */
  readonly since: number;
}

/** Returns whether a heartbeat now continues those before it. */
function isFresh(heartbeatAt: number, ttlMs: number, now: number): boolean {
  return heartbeatAt <= now && now - heartbeatAt < ttlMs / 2;
}

/** Returns SQL for the number by which leases name the worker whose ID is in `parameter`: null if it has no lease. */
export function workerIn(parameter: string): string {
  return `(SELECT id FROM lease_worker WHERE worker = ${parameter})`;
}

/** Returns the part. */
export function workersPart({ write, read, losses, returnLeases }: Engine): WorkerStore {
  return {
    get losses() {
      return losses();
    },
    heartbeat: (record, ttlMs) =>
      write((now) => heartbeat(record, ttlMs, now), {
        deferrable: true,
        // A connection that is dead must not take the worker offline.
        replyTimeoutMs: Math.max(MIN_REPLY_TIMEOUT_MS, ttlMs / 4),
      }),
    deregister: (worker) =>
      write(function* () {
        yield* returnLeases(worker);
        yield* forget(worker);
      }),
    list: () => read(list),
    note: (worker, what) => write(() => note(worker, what)),
    claim: (name, worker, ttlMs) => write((now) => claim(name, worker, ttlMs, now)),
    send: (to, message) => write((now) => send(to, message, now)),
    collect: (box) => write((now) => collect(box, now)),
  };
}

/** Returns the registered workers. */
export function* list(now: number): Body<WorkerInfo[]> {
  const rows = yield query("SELECT id, record, heartbeat_at, deadline FROM worker ORDER BY id");
  return rows.map((row) => ({
    ...readRecord(String(row.id), String(row.record)),
    heartbeatAt: Number(row.heartbeat_at),
    alive: Number(row.deadline) > now,
  }));
}

/**
 * Lets heartbeats of workers that are written now end, and those that come wait for this transaction. Otherwise one of them could say
 * that the worker is online, and the worker find its leases, while they are being given back.
 */
export function* holdHeartbeats(ids: readonly string[]): Body<void> {
  yield lock(...ids.map((id) => `worker:${id}`));
}

/** Returns the workers that `worker` may rescue now, by the rule of `JobStore.rescue`. */
export function* findOffline(worker: string, now: number): Body<Offline> {
  const lapsed = (yield query(
    `SELECT id, heartbeat_at, ttl,
            CASE WHEN EXISTS (SELECT 1 FROM lease WHERE worker_id = ${
      workerIn("worker.id")
    }) THEN 1 ELSE 0 END AS has_leases
       FROM worker WHERE deadline <= ?1
     UNION ALL
     SELECT worker,
            CASE WHEN worker = '${CANCELLED_WORKER}' THEN 0
                 ELSE (SELECT max(at) FROM lease WHERE worker_id = lease_worker.id) END, 0, 1
       FROM lease_worker
       WHERE worker NOT IN (SELECT id FROM worker) AND EXISTS (SELECT 1 FROM lease WHERE worker_id = lease_worker.id)`,
    [now],
  )) as unknown as readonly Lapsed[];
  if (lapsed.length === 0) return { workers: [], waits: false };
  const judge = yield* offlineFor(worker, now);
  const isOffline = (one: Lapsed) => one.id === CANCELLED_WORKER || judge(one);
  return {
    workers: lapsed.filter(isOffline).map(({ id }) => id),
    waits: lapsed.some((one) => one.has_leases === 1 && !isOffline(one)),
  };
}

/**
 * Returns what a dead worker was running when it died. Suspects without a lease had ended: they are dropped at the first call,
 * because the first steps of the rescue delete the leases of the others. That call records the event of the worker.
 *
 * @param stillLeased returns which of these leases the worker still has
 */
export function* lastMoments(
  worker: string,
  now: number,
  stillLeased: (worker: string, tokens: readonly string[]) => Body<readonly string[]>,
): Body<LastMoments> {
  const [row] = yield query("SELECT suspects, alone, judged, ended FROM worker WHERE id = ?1", [worker]);
  let tokens: readonly string[] = row?.suspects ? JSON.parse(String(row.suspects)) : [];
  if (!row?.judged) {
    tokens = yield* stillLeased(worker, tokens);
    const judged = yield query(
      "UPDATE worker SET suspects = ?1, judged = 1 WHERE id = ?2 AND judged = 0 RETURNING 1",
      [JSON.stringify(tokens), worker],
    );
    if (judged.length > 0) yield* record(membersOf({ type: "worker.offline", worker }), now);
  }
  return { tokens, alone: row?.alone === 1, ...(typeof row?.ended === "string" && { ended: row.ended }) };
}

/** Returns how many jobs a worker has leased. */
export function* countLeases(worker: string): Body<number> {
  const [row] = yield query(`SELECT count(*) AS count FROM lease WHERE worker_id = ${workerIn("?1")}`, [worker]);
  return Number(row!.count);
}

/** Removes a worker with its commands and declarations. */
export function* forget(worker: string): Body<void> {
  yield* withdraw(worker);
  yield query("DELETE FROM worker WHERE id = ?1", [worker]);
  yield query("DELETE FROM command WHERE worker = ?1", [worker]);
}

/** Returns the rule of `JobStore.rescue`: whether a worker whose heartbeat has lapsed is offline, in the view of `worker`. */
function* offlineFor(
  worker: string,
  now: number,
): Body<(lapsed: Pick<Lapsed, "heartbeat_at" | "ttl">) => boolean> {
  const [rescuer] = (yield query("SELECT heartbeat_at, ttl, since FROM worker WHERE id = ?1", [
    worker,
  ])) as unknown as readonly Rescuer[];
  return ({ heartbeat_at: heartbeatAt, ttl }) =>
    rescuer !== undefined && isFresh(rescuer.heartbeat_at, rescuer.ttl, now) &&
    now >= Math.max(heartbeatAt, rescuer.since) + Math.max(ttl, rescuer.ttl);
}

function* heartbeat(record: WorkerRecord, ttlMs: number, now: number): Body<HeartbeatReply> {
  yield* holdHeartbeats([record.id]);
  const [before] = yield query("SELECT deadline, heartbeat_at, since FROM worker WHERE id = ?1", [record.id]);
  if (before === undefined || Number(before.heartbeat_at) > now) yield* followClockBack(now);
  const isContinuous = before !== undefined && isFresh(Number(before.heartbeat_at), ttlMs, now);
  const since = isContinuous ? Number(before.since) : now;
  yield query(
    `INSERT INTO worker (id, record, heartbeat_at, deadline, ttl, since) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
     ON CONFLICT (id) DO UPDATE
       SET record = ?2, heartbeat_at = ?3, deadline = ?4, ttl = ?5, since = ?6, judged = 0, ended = NULL`,
    [record.id, JSON.stringify(record), now, Math.round(now + ttlMs), Math.round(ttlMs), since],
  );
  // A worker without a row is new, or was found offline and removed.
  return { commands: [], lapsed: before === undefined || Number(before.deadline) <= now };
}

/**
 * After the clock was set back, heartbeats in the future count from now: an offline worker would otherwise look alive until
 * the clock is there again.
 */
function* followClockBack(now: number): Body<void> {
  yield query(
    "UPDATE worker SET heartbeat_at = ?1, deadline = ?1 + ttl, since = ?1 WHERE heartbeat_at > ?2",
    [now, now + CLOCK_SLACK_MS],
  );
}

/** A worker that was removed has no leases: nothing is noted. */
function* note(
  worker: string,
  { running, ended }: { readonly running?: RunningSuspects; readonly ended?: string },
): Body<void> {
  if (running !== undefined) {
    const { tokens, alone } = running;
    yield query(
      "UPDATE worker SET suspects = ?1, alone = ?2 WHERE id = ?3",
      [JSON.stringify(tokens), alone ? 1 : 0, worker],
    );
  }
  if (ended !== undefined) yield query("UPDATE worker SET ended = ?1 WHERE id = ?2", [ended, worker]);
}

function* claim(name: string, worker: string, ttlMs: number, now: number): Body<NameHolder | undefined> {
  yield lock(`name:${name}`);
  const [held] = (yield query(
    `SELECT id, deadline, heartbeat_at, ttl FROM worker_name JOIN worker ON worker.id = worker_name.worker
     WHERE name = ?1 AND worker_name.worker <> ?2 AND expires > ?3`,
    [name, worker, now],
  )) as unknown as readonly (Lapsed & { readonly deadline: number })[];
  const other = held && { worker: held.id, heartbeatUntil: held.deadline };
  if (ttlMs === 0) {
    yield query("DELETE FROM worker_name WHERE name = ?1 AND worker = ?2", [name, worker]);
    return other;
  }
  if (held && (held.deadline > now || !(yield* offlineFor(worker, now))(held))) return other;
  yield query("DELETE FROM worker_name WHERE expires <= ?1", [now]);
  yield query(
    `INSERT INTO worker_name (name, worker, expires) VALUES (?1, ?2, ?3)
     ON CONFLICT (name) DO UPDATE SET worker = ?2, expires = ?3`,
    [name, worker, Math.round(now + ttlMs)],
  );
  const [row] = yield query("SELECT deadline FROM worker WHERE id = ?1", [worker]);
  return { worker, heartbeatUntil: Number(row?.deadline ?? 0) };
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
    const like: Readonly<Record<string, unknown>> = {
      ...empty,
      processKey: "",
      owner: "",
      program: true,
      quietSince: 0,
      heartbeatMs: 0,
      clockAt: 0,
      stopping: true,
      blocked: {},
      circuits: [],
      classes: [],
    };
    const fields = Object.entries(JSON.parse(text)).filter(([name, value]) =>
      value !== null && typeof value === typeof (like[name] ?? {}) && Array.isArray(value) === Array.isArray(like[name])
    );
    return { ...empty, ...Object.fromEntries(fields) };
  } catch {
    return empty;
  }
}
