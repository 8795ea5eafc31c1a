/**
 * What a job may say about its steps, and how it is checked.
 *
 * @module
 */
import { InvalidPayload } from "../job/errors.ts";
import { MAX_STEP_NAME } from "../job/step.ts";
import { readSpan } from "../job/time.ts";
import { StepError } from "./errors.ts";

/** Options of one step. */
export interface StepOptions {
  /** Tells the steps of a loop apart: the step's name is then `NAME EACH`. */
  readonly each?: string | number;
  /**
   * How many more times the step is attempted after a failure, with a growing pause, and without using an attempt of the
   * job. Afterwards it has failed for good ({@linkcode StepFailed}). Default: a failure of the step is a failure of the
   * attempt, and the job's own retries attempt it again.
   */
  readonly retry?: number;
  /** The pause after the first failure: seconds or a duration; it doubles with each, up to an hour. Default 1s. */
  readonly backoff?: number | string;
  /** An attempt of the step fails after this time: seconds or a duration. Default: none. */
  readonly timeout?: number | string;
}

/** What a step's function receives. */
export interface StepRun {
  /** `JID:NAME`: the same in each attempt. For the `Idempotency-Key` of a request. */
  readonly idempotencyKey: string;
  /** 1 for the first attempt of the step. */
  readonly attempt: number;
  /** Aborts when the step times out or the job is to end. */
  readonly signal: AbortSignal;
}

/** Options of {@linkcode StepContext.waitFor}. */
export interface WaitOptions {
  /** The key of the signal: what `client.signal` and `jobs signal` name. */
  readonly key: string;
  /** Until when: seconds or a duration. */
  readonly timeout: number | string;
}

/** Options of {@linkcode StepContext.each}. */
export interface EachOptions<Item> {
  /** The cursor after an item: what the source receives to continue there. Default: the number of items done. */
  readonly cursor?: (item: Item) => unknown;
}

/** The longest pause between two attempts of a step. */
const MAX_BACKOFF_MS = 3_600_000;
/** Beyond it a double no longer doubles by much. */
const MAX_DOUBLINGS = 30;

/** The name of a step, checked. */
export function stepName(name: unknown, each?: unknown): string {
  return checkName("step name", each === undefined ? name : `${name} ${each}`);
}

/** The key of a signal, checked. */
export function signalKey(key: unknown): string {
  return checkName("key", key);
}

function checkName(what: string, full: unknown): string {
  if (
    typeof full === "string" && full !== "" && full.length <= MAX_STEP_NAME && full.isWellFormed() &&
    full !== "__proto__"
  ) return full;
  throw new StepError(
    `Invalid ${what} ${JSON.stringify(full)?.slice(0, 300)}: expected 1 to ${MAX_STEP_NAME} characters`,
  );
}

/** Milliseconds of a span, checked. */
export function spanMs(field: string, value: unknown): number {
  try {
    return Math.ceil(readSpan(field, value) * 1_000);
  } catch (error) {
    if (error instanceof InvalidPayload) throw new StepError(error.message);
    throw error;
  }
}

/** How many more attempts a step has, checked; undefined: as many as the job. */
export function retriesOf({ retry }: StepOptions): number | undefined {
  if (retry === undefined || (Number.isSafeInteger(retry) && retry >= 0)) return retry;
  throw new StepError(`Invalid retry ${JSON.stringify(retry)}: expected a whole number from 0`);
}

/** Milliseconds until the next attempt of a step that failed this many times. */
export function backoffMs({ backoff = 1 }: StepOptions, failures: number): number {
  return Math.min(MAX_BACKOFF_MS, spanMs("backoff", backoff) * 2 ** Math.min(MAX_DOUBLINGS, failures - 1));
}
