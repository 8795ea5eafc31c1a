/**
 * The record of a step: what the store keeps of one named part of a job, as JSON text that begins with the state. The
 * stores and their scripts rely on this layout; they splice values in without parsing them, so that no digit is lost.
 *
 * @module
 */
import { parseLossless } from "./json.ts";

/** What a step is: a function's result, a sleep, a wait for a signal, a child job, or an iteration with a cursor. */
export type StepKind = "step" | "sleep" | "wait" | "child" | "each";

/**
 * - `done`: ended; its value never changes again.
 * - `failed`: its last attempt failed. With `final`, it is not attempted again.
 * - `running`: an iteration that has stored a cursor.
 * - `waiting`: a sleep, a wait or a child that has not ended.
 */
export type StepState = "done" | "failed" | "running" | "waiting";

/** A step, as read from its record. Times are epoch milliseconds. */
export interface Step {
  /** Names it within its job. */
  readonly name: string;
  /** How far it is. */
  readonly state: StepState;
  /** What made it. */
  readonly kind: StepKind;
  /** When it began: its last attempt, the sleep, the wait. */
  readonly since: number;
  /** When it was done, failed, or stored its cursor. */
  readonly ended?: number;
  /** `waiting`: when the sleep ends, or the wait gives up. By the store's clock. */
  readonly until?: number;
  /** How many attempts it took, or how many failed. */
  readonly attempts?: number;
  /** `wait`: the key of the signal. */
  readonly key?: string;
  /** `child`: the jid of the child. */
  readonly child?: string;
  /** `each`: items done. */
  readonly count?: number;
  /** `each`: the cursor to continue from. */
  readonly cursor?: unknown;
  /** `failed`: the error. */
  readonly error?: { readonly class: string; readonly message: string };
  /** `failed`: no attempt follows. */
  readonly final?: boolean;
  /** `done`: the time passed without a signal, or without an end of the child. */
  readonly timedOut?: boolean;
  /** `done`: the result. Absent if there was none. */
  readonly value?: unknown;
}

/** A job may have this many steps. */
export const MAX_STEPS = 1_000;
/** A step's name, and a signal's key, may have this many characters. */
export const MAX_STEP_NAME = 200;
/** A step's result, or a signal's data, may have this many characters of JSON. */
export const MAX_STEP_CHARACTERS = 1024 * 1024;
/** All steps of a job may have this many characters. */
export const MAX_STEPS_CHARACTERS = 16 * 1024 * 1024;
/** The field of a payload that marks a job with steps: whoever ends the job deletes them. */
export const STEPS_FIELD = "has_steps";

const DONE = `{"state":"done",`;
const WAITING = /^\{"state":"waiting","until":(\d+),"since":(\d+),(.*)\}$/s;

/** Returns whether a record's value is final. */
export function isDone(record: string): boolean {
  return record.startsWith(DONE);
}

/** Returns when a waiting record gives up; undefined for a record in another state. */
export function waitsUntil(record: string): number | undefined {
  const match = WAITING.exec(record);
  return match === null ? undefined : Number(match[1]);
}

/**
 * Returns the record of a step that waits.
 *
 * @param about JSON members that stay with it: `"kind":"wait","key":"order:42"`
 */
export function waitingRecord(about: string, until: number, since: number): string {
  return `{"state":"waiting","until":${until},"since":${since},${about}}`;
}

/**
 * Returns the record that follows a waiting one.
 *
 * @param outcome JSON members: `"value":…`, `"timedOut":true`, or none
 */
export function endedRecord(waiting: string, now: number, outcome: string, state: StepState = "done"): string {
  const [, , since, about] = WAITING.exec(waiting)!;
  return `{"state":"${state}","since":${since},"ended":${now},${about}${outcome === "" ? "" : `,${outcome}`}}`;
}

/** Reads a record. */
export function readStep(name: string, record: string): Step {
  return { name, ...parseLossless(record) as Omit<Step, "name"> };
}

/** Reads a record, without its value or cursor if the record is longer than `most` characters. */
export function readStepHead(name: string, record: string, most: number): Step {
  if (record.length <= most) return readStep(name, record);
  // The last member of a record; in the texts before it, quotation marks are escaped.
  const [end] = [record.indexOf(`,"value":`), record.indexOf(`,"cursor":`)].filter((at) => at >= 0).sort((a, b) =>
    a - b
  );
  return readStep(name, end === undefined ? record : `${record.slice(0, end)}}`);
}

/** Whether a job may have steps in the store: it is marked, or its worker died while it may have written the first. */
export function mayHaveSteps(payload: Readonly<Record<string, unknown>>): boolean {
  return payload[STEPS_FIELD] === true || payload.suspected !== undefined || payload.rescues !== undefined;
}
