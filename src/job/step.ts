/**
 * The record of a step, as the store keeps it: JSON text that begins with the state. The stores and their scripts rely on
 * this layout. They splice values in without parsing them, so that no digit is lost.
 *
 * A sleep has no kind: until it ends, its record has at most 64 characters, and Redis stores the steps of a job in its first
 * sleep in half the space.
 *
 * @module
 */
import { describeError } from "./describe_error.ts";
import { parseLossless } from "./json.ts";

/** A function with a result, a sleep, a wait for a signal, a child job, or an iteration with a cursor. */
export type StepKind = "step" | "sleep" | "wait" | "child" | "each";

/**
 * - `succeeded`: ended, a wait perhaps by its timeout. The value never changes again.
 * - `failed`: the last attempt failed. With `final`, no attempt follows.
 * - `running`: an iteration that has stored a cursor.
 * - `waiting`: a sleep, a wait or a child that has not ended.
 * - `unreadable`: another program has written the record. Only shown steps have this state.
 */
export type StepState = "succeeded" | "failed" | "running" | "waiting" | "unreadable";

/** A step, as read from its record. Times are epoch milliseconds. */
export interface Step {
  /** The name of the step, unique within its job. */
  readonly name: string;
  /** The state of the step. */
  readonly state: StepState;
  /** The kind of the step. */
  readonly kind: StepKind;
  /** When the last attempt, the sleep or the wait began. Steps of a job that begin in one millisecond differ by microseconds. */
  readonly since: number;
  /** When the step succeeded, failed, or stored its cursor. */
  readonly ended?: number;
  /** `waiting`: when the sleep ends, or the wait times out, by the store's clock. */
  readonly until?: number;
  /** The number of attempts so far. */
  readonly attempts?: number;
  /** `wait`: the key of the signal. */
  readonly key?: string;
  /** `wait`: JSON text of data that the job expects. */
  readonly example?: string;
  /** `child`: the jid of the child. */
  readonly child?: string;
  /** `each`: the number of items done. */
  readonly count?: number;
  /** `each`: the cursor to continue from. */
  readonly cursor?: unknown;
  /** `failed`: the error. */
  readonly error?: { readonly class: string; readonly message: string };
  /** `failed`: whether no attempt follows. */
  readonly final?: boolean;
  /** `succeeded`: whether the wait timed out. */
  readonly timedOut?: boolean;
  /** `succeeded`: the result. Absent if the function returned none. */
  readonly value?: unknown;
}

/** A job has at most this many steps. */
export const MAX_STEPS = 1_000;
/** The name of a step and the key of a signal have at most this many characters. */
export const MAX_STEP_NAME = 200;
/** The example of a signal's data has at most this many characters of JSON: the record of a wait stays short. */
export const MAX_EXAMPLE_CHARACTERS = 500;
/** The result of a step and the data of a signal have at most this many characters of JSON. */
export const MAX_STEP_CHARACTERS = 1024 * 1024;
/** The records of a job have at most this many characters together. */
export const MAX_STEPS_CHARACTERS = 16 * 1024 * 1024;
/** The field of a payload that marks a job with steps. The step that ends the job deletes them. */
export const STEPS_FIELD = "has_steps";

const SUCCEEDED = `{"state":"succeeded",`;
const WAITING = /^\{"state":"waiting","until":(\d+),"since":(\d+)(.*)\}$/s;

/** Returns whether the step of a record has succeeded. */
export function hasSucceeded(record: string): boolean {
  return record.startsWith(SUCCEEDED);
}

/** Returns when the wait of a record ends; undefined for a record in another state. */
export function waitsUntil(record: string): number | undefined {
  const match = WAITING.exec(record);
  return match === null ? undefined : Number(match[1]);
}

/** Returns when a wait begins: now, or after the job's last step if that began later, by the clock of its worker. */
export function waitBegins(now: number, after = 0): number {
  return Math.max(now, Math.floor(after) + 1);
}

/**
 * Returns the record of a step that waits.
 *
 * @param about JSON members that the record keeps: `"kind":"wait","key":"order:42"`; empty for a sleep
 */
export function waitingRecord(about: string, until: number, since: number): string {
  return `{"state":"waiting","until":${until},"since":${since}${about === "" ? "" : `,${about}`}}`;
}

/**
 * Returns the record that follows a waiting one.
 *
 * @param outcome JSON members: `"value":…`, `"timedOut":true`, or none
 */
export function endedRecord(waiting: string, now: number, outcome: string, state: StepState = "succeeded"): string {
  const [, , since, about] = WAITING.exec(waiting)!;
  return `{"state":"${state}","since":${since},"ended":${now}${about}${outcome === "" ? "" : `,${outcome}`}}`;
}

/** Returns whether a waiting record is that of a sleep. Those of earlier versions have a kind. */
export function isSleep(record: string): boolean {
  return !record.includes(`,"kind":"`) || record.includes(`,"kind":"sleep"`);
}

/** Returns whether a waiting record is that of a step that runs a child job. */
export function isChild(record: string): boolean {
  return record.includes(`,"kind":"child"`);
}

export function readStep(name: string, record: string): Step {
  return { name, kind: "sleep", ...parseLossless(record) as Omit<Step, "name" | "kind"> };
}

/**
 * Reads a record to show it, without its value or cursor if the record is longer than `maxLength` characters. Never throws: any
 * program may have written it.
 */
export function readStepHead(name: string, record: string, maxLength: number): Step {
  if (record.length <= maxLength) return readShownStep(name, record);
  // Value or cursor is the last member. Quotation marks in the texts before it are escaped.
  const [end] = [record.indexOf(`,"value":`), record.indexOf(`,"cursor":`)].filter((at) => at >= 0).sort((a, b) =>
    a - b
  );
  return readShownStep(name, end === undefined ? record : `${record.slice(0, end)}}`);
}

const STATES: ReadonlySet<unknown> = new Set(["succeeded", "failed", "running", "waiting"] satisfies StepState[]);
/** The types of the fields that are shown. */
const FIELD_TYPES: Readonly<Record<string, string>> = {
  ...{ kind: "string", key: "string", example: "string", child: "string", final: "boolean", timedOut: "boolean" },
  ...{ since: "number", ended: "number", until: "number", attempts: "number", count: "number" },
};

function readShownStep(name: string, record: string): Step {
  try {
    const step = readStep(name, record);
    const fields = step as unknown as Readonly<Record<string, unknown>>;
    const isRight = Object.entries(FIELD_TYPES).every(([field, type]) =>
      fields[field] === undefined || typeof fields[field] === type
    );
    const { state, since, error } = step;
    const hasError = error === undefined || typeof error?.class === "string" && typeof error.message === "string";
    if (isRight && hasError && STATES.has(state) && since !== undefined) return { ...step, name };
  } catch {
    // It isn't JSON.
  }
  return { name, kind: "step", state: "unreadable", since: NaN };
}

/** Returns whether a job may have steps in the store: it is marked, or a worker died while it ran the job. */
export function mayHaveSteps(payload: Readonly<Record<string, unknown>>): boolean {
  return payload[STEPS_FIELD] === true || payload.suspected !== undefined || payload.rescues !== undefined;
}

/** Returns the class and message of a thrown value, for the record of a step. */
export function errorOf(thrown: unknown): { readonly class: string; readonly message: string } {
  const { class: name, message } = describeError(thrown);
  return { class: name, message: message.slice(0, 2_000).toWellFormed() };
}
