/**
 * The rows of steps, and their changes at the end of a job and of a wait. All of it inside transactions.
 *
 * @module
 */
import { getField, setFields } from "../../job/raw.ts";
import { endedRecord, STEPS_FIELD, waitsUntil } from "../../job/step.ts";
import type { ParentStep } from "../port/outcomes.ts";
import type { Context } from "./context.ts";
import * as jobRows from "./job_rows.ts";

/** The name of the row that prevents a running job from sleeping. */
const WAKE = "";

/** Returns the record of a step. */
export function stepRecord({ sql }: Context, jid: string, name: string): string | undefined {
  return sql("SELECT record FROM step WHERE jid = ? AND name = ?").get(jid, name)?.record as string | undefined;
}

/**
 * Marks the payload of a job that has steps, and returns to its queue without an outcome: a worker that retries it, or lets it
 * sleep, marks the payload that it stores.
 */
export function markSteps(context: Context, job: number): void {
  const hasSteps = "EXISTS (SELECT 1 FROM step WHERE step.jid = job.jid)";
  const row = context.sql(`SELECT payload FROM job WHERE id = ? AND ${hasSteps}`).get(job);
  if (row === undefined) return;
  jobRows.rewrite(context, job, setFields(row.payload as string, { [STEPS_FIELD]: "true" }));
}

/** Deletes the steps of jobs. */
export function forgetSteps({ sql }: Context, jids: readonly string[]): void {
  if (jids.length === 0) return;
  const all = JSON.stringify(jids);
  sql("DELETE FROM step WHERE jid IN (SELECT value FROM json_each(?))").run(all);
  sql("DELETE FROM step_wait WHERE jid IN (SELECT value FROM json_each(?))").run(all);
}

/** A job that is dead receives no signal. If it is retried, its wait joins those of its key again. */
export function leaveWaiting({ sql }: Context, jid: string | null): void {
  sql("DELETE FROM step_wait WHERE jid = ?").run(jid);
}

/** The action by which an operator ended a job. */
export type EndedBy = "Deleted" | "Cancelled" | "Killed";

/** Fails the step that waits for the end of a job that an operator has ended. */
export function failParentOf(context: Context, payload: string, how: EndedBy): void {
  const parent = payload.includes('"parent"') ? getField(payload, "parent") : undefined;
  const { jid, step } = (parent ?? {}) as { jid?: unknown; step?: unknown };
  if (typeof jid !== "string" || typeof step !== "string") return;
  const error = { class: how, message: "An operator ended the job" };
  const child = getField(payload, "jid");
  const of = { jid, step, ...(typeof child === "string" && { child }) };
  answerStep(context, { ...of, state: "failed", outcome: `"error":${JSON.stringify(error)},"final":true` });
}

/** Ends a wait that has not ended, and makes its job due. Returns false if it has ended. */
export function answerStep(context: Context, { jid, step, child, state, outcome }: ParentStep): boolean {
  const record = stepRecord(context, jid, step);
  if (record === undefined || waitsUntil(record) === undefined) return false;
  if (child !== undefined && (getField(record, "child") ?? child) !== child) return false;
  const now = context.now();
  endStep(context, jid, step, endedRecord(record, now, outcome, state));
  makeDue(context, jid, now);
  return true;
}

/** Writes the record of an ended wait. */
export function endStep({ sql }: Context, jid: string, name: string, record: string): void {
  sql("UPDATE step SET record = ? WHERE jid = ? AND name = ?").run(record, jid, name);
  sql("DELETE FROM step_wait WHERE jid = ? AND name = ?").run(jid, name);
}

/**
 * Makes a sleeping job due. A job elsewhere gets the row {@linkcode WAKE}, which prevents its next sleep: it may be running, or
 * about to be imported from another store.
 */
export function makeDue({ sql }: Context, jid: string, now: number): void {
  const { changes } = sql(
    "UPDATE member SET at = min(at, ?) WHERE place = 'scheduled' AND job IN (SELECT id FROM job WHERE jid = ?)",
  ).run(now, jid);
  if (Number(changes) > 0) return;
  sql("INSERT OR IGNORE INTO step (jid, name, record) VALUES (?, ?, '')").run(jid, WAKE);
}

/** Returns whether a wait of the job ended while the job ran, and deletes that note. */
export function takeWake({ sql }: Context, jid: string): boolean {
  return Number(sql("DELETE FROM step WHERE jid = ? AND name = ?").run(jid, WAKE).changes) > 0;
}
