/**
 * The steps part of the port: the steps of jobs, and the signals that they wait for.
 *
 * @module
 */
import { endedRecord, isChild, isSleep, waitBegins, waitingRecord, waitsUntil } from "../../job/step.ts";
import {
  MAX_KEPT_SIGNALS,
  type NewWait,
  type Signal,
  type SignalResult,
  type StepLease,
  type StepStore,
  type StoredStep,
  tooManySignals,
  type Wait,
} from "../port/steps.ts";
import { type Body, type Engine, hold, lock, query } from "./body.ts";
import { readWaits } from "./step_waits.ts";
import {
  answerStep,
  endStep,
  findStep,
  holdLease,
  holdStep,
  joinWaiting,
  makeDue,
  signalLock,
  sleepLock,
  takeKept,
} from "./step_rows.ts";

/** Expired signals that each new one deletes at most. More are deleted than arrive. */
const MAX_SWEPT = 2;

/** Returns the part, without `remember`: each store writes the steps of one moment together. */
export function stepsPart({ write, read, storeJobs }: Engine): Omit<StepStore, "remember"> {
  return {
    read: (jid) => read(() => readSteps(jid)),
    wait: (lease, wait) => write((now) => waitFor(storeJobs, lease, wait, now)),
    waits: (request) => read(() => readWaits(request)),
    signal: (signal) => write((now) => send(signal, now)),
    clear: (jid, which) => write((now) => which === "waits" ? endWaits(jid, now) : clear(jid, which, now)),
  };
}

function* readSteps(jid: string): Body<StoredStep[]> {
  const rows = yield query("SELECT name, record FROM step WHERE jid = ?1 AND name <> '' ORDER BY id", [jid]);
  return rows as unknown as StoredStep[];
}

function* waitFor(
  storeJobs: Engine["storeJobs"],
  lease: StepLease,
  wait: NewWait,
  now: number,
): Body<Wait | undefined> {
  const { name } = wait;
  yield lock(`steps:${lease.jid}`, ...(wait.key === undefined ? [] : [signalLock(wait.key)]));
  yield holdLease(lease);
  yield holdStep(lease.jid, name);
  const held = yield* findStep(lease, name);
  if (held === undefined) return undefined;
  const { record: present } = held;
  if (present === null) return yield* begin(storeJobs, lease.jid, wait, now);
  const until = waitsUntil(present);
  if (until === undefined) return { record: present, leftMs: 0 };
  if (until > now) {
    // The job may have been dead, and was retried: a signal of that time is kept.
    if (wait.key !== undefined) {
      const kept = yield* takeKept(wait.key, now);
      if (kept !== undefined) {
        const record = endedRecord(present, now, `"value":${kept}`);
        yield* endStep(lease.jid, name, record);
        return { record, leftMs: 0 };
      }
      yield* joinWaiting({ key: wait.key, jid: lease.jid, name, until });
    }
    return { record: present, leftMs: until - now };
  }
  const record = passedRecord(present, now);
  yield* endStep(lease.jid, name, record);
  return { record, leftMs: 0 };
}

function* begin(
  storeJobs: Engine["storeJobs"],
  jid: string,
  { name, about, forMs, after, key, child }: NewWait,
  now: number,
): Body<Wait> {
  const until = Math.round(now + forMs);
  const waiting = waitingRecord(about, until, waitBegins(now, after));
  // The step of a child that has begun is gone: an operator has deleted it since the attempt read it, or since this call ran and its
  // reply was lost. Stored again, it would wait for a child that may have ended. The job is due, and begins another child.
  if (child === undefined ? isChild(waiting) : yield* isPushed(child.jid)) return { record: waiting, leftMs: forMs };
  const kept = key === undefined ? undefined : yield* takeKept(key, now);
  if (kept !== undefined) {
    const record = endedRecord(waiting, now, `"value":${kept}`);
    yield* put(jid, { name, record });
    return { record, leftMs: 0 };
  }
  yield* put(jid, { name, record: waiting });
  if (key !== undefined) yield* joinWaiting({ key, jid, name, until });
  if (child !== undefined) yield* storeJobs([child], now);
  return { record: waiting, leftMs: forMs };
}

function* isPushed(jid: string): Body<boolean> {
  return (yield query("SELECT 1 AS one FROM job WHERE jid = ?1", [jid])).length > 0;
}

function* send({ key, data, ttlMs }: Signal, now: number): Body<SignalResult> {
  yield lock(signalLock(key));
  for (;;) {
    const [first] = yield query("SELECT id, jid, name FROM step_wait WHERE key = ?1 ORDER BY id LIMIT 1", [key]);
    if (first === undefined) break;
    const jid = first.jid as string;
    yield lock(sleepLock(jid));
    const parent = { jid, step: first.name as string, state: "succeeded", outcome: `"value":${data}` } as const;
    if (yield* answerStep(parent, now)) return { reached: jid };
    // Its job has ended, or its wait.
    yield query("DELETE FROM step_wait WHERE id = ?1", [Number(first.id)]);
  }
  if (ttlMs === 0) return {};
  yield query(
    "DELETE FROM signal WHERE id IN (SELECT id FROM signal WHERE expires <= ?1 LIMIT ?2)",
    [now, MAX_SWEPT],
  );
  const [kept] = yield query("SELECT count(*) AS count FROM signal WHERE key = ?1 AND expires > ?2", [key, now]);
  if (Number(kept!.count) >= MAX_KEPT_SIGNALS) throw tooManySignals(key);
  yield query(
    "INSERT INTO signal (key, data, expires) VALUES (?1, ?2, ?3)",
    [key, data, Math.round(now + ttlMs)],
  );
  return {};
}

/** Deletes steps. A job whose wait is deleted becomes due: nothing else would end the wait. */
function* clear(jid: string, names: readonly string[] | undefined, now: number): Body<number> {
  yield lock(sleepLock(jid));
  const cleared: string[] = [];
  if (names === undefined) {
    yield query("DELETE FROM step_wait WHERE jid = ?1", [jid]);
    const rows = yield query("DELETE FROM step WHERE jid = ?1 AND name <> '' RETURNING record", [jid]);
    cleared.push(...rows.map(({ record }) => record as string));
  }
  for (const name of names ?? []) {
    yield query("DELETE FROM step_wait WHERE jid = ?1 AND name = ?2", [jid, name]);
    const rows = yield query(
      "DELETE FROM step WHERE jid = ?1 AND name <> '' AND name = ?2 RETURNING record",
      [jid, name],
    );
    cleared.push(...rows.map(({ record }) => record as string));
  }
  if (cleared.some((record) => waitsUntil(record) !== undefined)) yield* makeDue(jid, now);
  return cleared.length;
}

/** Ends the sleeps and waits of a job, and makes it due. Returns how many it ended. */
function* endWaits(jid: string, now: number): Body<number> {
  yield lock(sleepLock(jid));
  yield hold("SELECT 1 FROM step WHERE jid = ?1 ORDER BY id FOR UPDATE", [jid]);
  const rows = yield query(
    `SELECT name, record FROM step WHERE jid = ?1 AND name <> '' AND record LIKE '{"state":"waiting"%'`,
    [jid],
  );
  for (const { name, record } of rows) yield* endStep(jid, name as string, passedRecord(record as string, now));
  if (rows.length > 0) yield* makeDue(jid, now);
  return rows.length;
}

function* put(jid: string, { name, record }: StoredStep): Body<void> {
  yield query(
    `INSERT INTO step (jid, name, record) VALUES (?1, ?2, ?3)
     ON CONFLICT (jid, name) DO UPDATE SET record = excluded.record`,
    [jid, name, record],
  );
}

/** Returns the record of a wait whose time has passed. A sleep ends without a timeout. */
function passedRecord(waiting: string, now: number): string {
  return endedRecord(waiting, now, isSleep(waiting) ? "" : `"timedOut":true`);
}
