/**
 * The rows of steps, and their changes at the end of a job and of a wait.
 *
 * @module
 */
import { getField, setFields } from "../../job/raw.ts";
import { endedRecord, STEPS_FIELD, waitsUntil } from "../../job/step.ts";
import { BEGUN_FIELD } from "../../job/time.ts";
import type { ParentStep } from "../port/outcomes.ts";
import type { StepLease } from "../port/steps.ts";
import { type Body, type Dialect, hold, lock, query, type Statement } from "./body.ts";
import { inTexts } from "./in_parts.ts";
import { workerIn } from "./workers.ts";

/** The name of the row that prevents a running job from sleeping. */
const WAKE = "";

/** Returns the record of a step. */
export function* stepRecord(jid: string, name: string): Body<string | undefined> {
  const [row] = yield query("SELECT record FROM step WHERE jid = ?1 AND name = ?2", [jid, name]);
  return row?.record as string | undefined;
}

/** Reads the record of a step under the lease of its job: null if it has none. Undefined without that lease. */
export function* findStep(
  { worker, token, jid }: StepLease,
  name: string,
): Body<{ readonly record: string | null } | undefined> {
  const [row] = yield query(
    `SELECT record FROM lease LEFT JOIN step ON step.jid = ?4 AND step.name = ?5
     WHERE job = ?1 AND take = ?2 AND worker_id = ${workerIn("?3")}`,
    [...partsOf(token), worker, jid, name],
  );
  return row as { record: string | null } | undefined;
}

/** Returns the job and the take in a token; those of no lease if it isn't one. */
export function partsOf(token: string): [job: number, take: string] {
  const [, job = "-1", take = "-1"] = /^(\d{1,15})\.(\d{1,16})$/.exec(token) ?? [];
  return [Number(job), take];
}

/**
 * Marks the payload of a job that returns to its queue without an outcome: that it has steps, or that it has begun. A worker that
 * retries it, or lets it sleep, marks the payload that it stores.
 *
 * @param hasBegun whether it may have: then it doesn't expire
 */
export function* markReturned(job: number, hasBegun: boolean): Body<void> {
  const hasSteps = "EXISTS (SELECT 1 FROM step WHERE step.jid = job.jid)";
  const hasStream = "EXISTS (SELECT 1 FROM stream WHERE stream.jid = job.jid)";
  const expires = hasBegun ? `payload LIKE '%"expires_in"%'` : "1 = 0";
  const [row] = yield query(
    `SELECT payload, CASE WHEN ${hasSteps} OR ${hasStream} THEN 1 END AS steps FROM job
     WHERE id = ?1 AND (${hasSteps} OR ${hasStream} OR ${expires})`,
    [job],
  );
  if (row === undefined) return;
  const payload = String(row.payload);
  const marks = {
    ...(row.steps !== null && { [STEPS_FIELD]: "true" }),
    ...(hasBegun && typeof getField(payload, "expires_in") === "number" && { [BEGUN_FIELD]: "true" }),
  };
  if (Object.keys(marks).length === 0) return;
  yield query("UPDATE job SET payload = ?1 WHERE id = ?2", [setFields(payload, marks), job]);
}

/** A step that waits for a signal. */
interface WaitRow {
  readonly key: string;
  readonly jid: string;
  readonly name: string;
  /** When it times out, in epoch milliseconds. */
  readonly until: number;
}

/** Notes that a step waits for a key, once. */
export function* joinWaiting({ key, jid, name, until }: WaitRow): Body<void> {
  yield query(
    `INSERT INTO step_wait (key, jid, name, until) SELECT ?1, ?2, ?3, ?4
     WHERE NOT EXISTS (SELECT 1 FROM step_wait WHERE jid = ?2 AND name = ?3)`,
    [key, jid, name, until],
  );
}

/** Takes the oldest signal that is kept for a key. Returns its JSON text; undefined without one. Lock the key before. */
export function* takeKept(key: string, now: number): Body<string | undefined> {
  const [kept] = yield query(
    "DELETE FROM signal WHERE id = (SELECT min(id) FROM signal WHERE key = ?1 AND expires > ?2) RETURNING data",
    [key, now],
  );
  return kept?.data as string | undefined;
}

/** Jobs that are dead receive no signal. If they are retried, their waits join those of their keys again. */
export function* leaveWaiting(jids: readonly string[]): Body<void> {
  for (const { where, values } of inTexts(jids, "jid")) yield query(`DELETE FROM step_wait WHERE ${where}`, values);
}

/** The action by which an operator ended a job. */
export type EndedBy = "Deleted" | "Cancelled" | "Killed";

/** Returns the step that waits for the end of the job with this payload. */
export function parentIn(payload: string): Pick<ParentStep, "jid" | "step"> | undefined {
  const parent = payload.includes('"parent"') ? getField(payload, "parent") : undefined;
  const { jid, step } = (parent ?? {}) as { jid?: unknown; step?: unknown };
  return typeof jid === "string" && typeof step === "string" ? { jid, step } : undefined;
}

/** Fails the step that waits for the end of a job that an operator has ended. */
export function* failParentOf(payload: string, how: EndedBy, now: number): Body<void> {
  const parent = parentIn(payload);
  if (parent === undefined) return;
  const error = { class: how, message: "An operator ended the job" };
  const child = getField(payload, "jid");
  const of = { ...parent, ...(typeof child === "string" && { child }) };
  yield* answerStep({ ...of, state: "failed", outcome: `"error":${JSON.stringify(error)},"final":true` }, now);
}

/** Ends a wait that has not ended, and makes its job due. Returns false if it has ended. The caller has the {@linkcode sleepLock}. */
export function* answerStep({ jid, step, child, state, outcome }: ParentStep, now: number): Body<boolean> {
  yield holdStep(jid, step);
  const record = yield* stepRecord(jid, step);
  if (record === undefined || waitsUntil(record) === undefined) return false;
  if (child !== undefined && (getField(record, "child") ?? child) !== child) return false;
  yield* endStep(jid, step, endedRecord(record, now, outcome, state));
  yield* makeDue(jid, now);
  return true;
}

/** Holds a step until the transaction ends. */
export function holdStep(jid: string, name: string): Statement {
  return hold("SELECT 1 FROM step WHERE jid = ?1 AND name = ?2 FOR UPDATE", [jid, name]);
}

/** Holds a lease until the transaction ends: its job doesn't end meanwhile. It belongs before all other rows. */
export function holdLease({ worker, token }: Omit<StepLease, "jid">): Statement {
  return hold(`SELECT 1 FROM lease WHERE job = ?1 AND take = ?2 AND worker_id = ${workerIn("?3")} FOR SHARE`, [
    ...[...partsOf(token), worker],
  ]);
}

/** Writes the record of an ended wait. */
export function* endStep(jid: string, name: string, record: string): Body<void> {
  yield query("UPDATE step SET record = ?1 WHERE jid = ?2 AND name = ?3", [record, jid, name]);
  yield query("DELETE FROM step_wait WHERE jid = ?1 AND name = ?2", [jid, name]);
}

/**
 * Makes a sleeping job due. A job elsewhere gets the row {@linkcode WAKE}, which prevents its next sleep: it may be running, or
 * about to be imported from another store.
 */
export function* makeDue(jid: string, now: number): Body<void> {
  yield lock(sleepLock(jid));
  const sleeping = yield query(
    `UPDATE member SET at = CASE WHEN at < ?1 THEN at ELSE ?1 END
     WHERE place = 'scheduled' AND job IN (SELECT id FROM job WHERE jid = ?2) RETURNING 1`,
    [now, jid],
  );
  if (sleeping.length > 0) return;
  yield query("INSERT INTO step (jid, name, record) VALUES (?1, ?2, '') ON CONFLICT DO NOTHING", [jid, WAKE]);
}

/**
 * Returns the name that is locked by the end of a wait, by a job that is about to sleep, and by the end of a job with steps: else each would
 * miss the other. It belongs before all rows.
 */
export function sleepLock(jid: string): string {
  return `sleep:${jid}`;
}

/** Returns the name that is locked by signals of a key, and by waits for it. It belongs before {@linkcode sleepLock}. */
export function signalLock(key: string): string {
  return `signal:${key}`;
}

/** Returns the jobs of which {@linkcode takeWake} would return true. */
export function* takeWakes(dialect: Dialect, jids: readonly string[]): Body<ReadonlySet<unknown>> {
  const awake = new Set<unknown>();
  for (const { from, values } of dialect.given(["text"], jids.map((jid) => [jid]))) {
    const theirs = `jid ${dialect.isIn(`SELECT column1 FROM ${from}`)}`;
    const notes = yield query(`DELETE FROM step WHERE ${theirs} AND name = '${WAKE}' RETURNING jid`, values);
    for (const { jid } of notes) awake.add(jid);
  }
  return awake;
}

/**
 * Returns whether a wait of the job ended while the job ran, and deletes that note. The caller has the {@linkcode sleepLock}.
 */
export function* takeWake(jid: string): Body<boolean> {
  return (yield query("DELETE FROM step WHERE jid = ?1 AND name = ?2 RETURNING 1", [jid, WAKE])).length > 0;
}
