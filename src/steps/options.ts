/**
 * The options of steps, and their checks.
 *
 * @module
 */
import { InvalidPayload } from "../job/errors.ts";
import { stringifyLossless } from "../job/json.ts";
import { jobOption, meantName, optionNames } from "../job/option_names.ts";
import { MAX_EXAMPLE_CHARACTERS, MAX_STEP_NAME } from "../job/step.ts";
import { readSpan } from "../job/time.ts";
import { StepError } from "./errors.ts";

/** Options of one step. */
export interface StepOptions {
  /** Distinguishes the steps of a loop: the name of the step becomes `NAME EACH`. */
  readonly each?: string | number;
  /**
   * The number of retries of the step, with a growing pause, and without using an attempt of the job. After the last one
   * the step has failed permanently ({@linkcode StepFailed}). Default: a failure of the step fails the attempt, and the
   * retries of the job run the step again.
   */
  readonly retry?: number;
  /** The pause after the first failure: seconds or a duration; it doubles with each, up to an hour. Default 1s. */
  readonly backoff?: number | string;
  /** An attempt of the step fails after this time: seconds or a duration. Default: none. */
  readonly timeout?: number | string;
}

/** The argument of a step's function. */
export interface StepRun {
  /** `JID:NAME`, the same in each attempt. For the `Idempotency-Key` header of a request. */
  readonly idempotencyKey: string;
  /** 1 for the first attempt of the step. */
  readonly attempt: number;
  /** Aborts when the step times out or the job is to end. */
  readonly signal: AbortSignal;
}

/** Options of {@linkcode StepContext.waitFor}. */
export interface WaitOptions {
  /** The key of the signal, as in `client.signal` and `jobs signal`. */
  readonly key: string;
  /** The wait ends after this time: seconds or a duration. */
  readonly timeout: number | string;
  /** Data as the job expects it, such as `{ approved: true }`: the dashboard shows it where the signal is sent. */
  readonly example?: unknown;
}

/** Options of {@linkcode StepContext.each}. */
export interface EachOptions<Item> {
  /** Returns the cursor after an item. The source receives it to continue there. Default: the number of items done. */
  readonly cursor?: (item: Item) => unknown;
}

/** The longest pause between two attempts of a step. */
const MAX_BACKOFF_MS = 3_600_000;
/** Keeps the power of two finite. Longer pauses are cut to {@linkcode MAX_BACKOFF_MS} long before. */
const MAX_DOUBLINGS = 30;

/** Returns the full name of a step, checked. */
export function stepName(name: unknown, each?: unknown): string {
  return checkName("step name", each === undefined ? name : `${name} ${each}`);
}

/** Returns the key of a signal, checked. */
export function signalKey(key: unknown): string {
  return checkName("key", key);
}

function checkName(label: string, full: unknown): string {
  if (
    typeof full === "string" && full !== "" && full.length <= MAX_STEP_NAME && full.isWellFormed() &&
    !full.includes("\0") && full !== "__proto__"
  ) return full;
  throw new StepError(
    `Invalid ${label} ${
      JSON.stringify(full)?.slice(0, 300)
    }: expected 1 to ${MAX_STEP_NAME} characters, none of them NUL`,
  );
}

/** Returns the JSON text of the example of a wait, checked; undefined without one. */
export function exampleText(step: string, example: unknown): string | undefined {
  if (example === undefined) return undefined;
  const text = jsonOf(example);
  if (text !== undefined && text.length <= MAX_EXAMPLE_CHARACTERS) return text;
  throw new StepError(
    `Invalid example of step "${step}": expected JSON of at most ${MAX_EXAMPLE_CHARACTERS} characters`,
  );
}

/** Returns the JSON text of a value; undefined if it has none, such as a function or a cycle. */
function jsonOf(value: unknown): string | undefined {
  try {
    return stringifyLossless(value);
  } catch {
    return undefined;
  }
}

/** Returns a span in milliseconds, checked. */
export function spanMs(field: string, value: unknown): number {
  try {
    return Math.ceil(readSpan(field, value) * 1_000);
  } catch (error) {
    if (error instanceof InvalidPayload) throw new StepError(error.message);
    throw error;
  }
}

/** The options of each method, for those that JavaScript passes. */
const OPTIONS = {
  step: ["each", "retry", "backoff", "timeout"],
  waitFor: ["key", "timeout", "example"],
  each: ["cursor"],
} as const;

/** Throws if options have another name: it would be ignored. */
export function checkOptions(method: keyof typeof OPTIONS, step: string, options: object): void {
  const known: readonly string[] = OPTIONS[method];
  for (const name in options) {
    if (known.includes(name)) continue;
    throw unknownOption(step, name, meantName(name, known) ?? known);
  }
}

/** The options of `run`, with those of the child. */
const CHILD_OPTIONS = ["giveUpAfter", ...optionNames("push")];

/**
 * Throws if the name of an option of a child is close to a known one: it would have no effect. The payload of the child keeps any
 * other field.
 */
export function checkChildOptions(step: string, options: object): void {
  for (const name of Object.keys(options)) {
    const meant = jobOption(name) === undefined ? meantName(name, CHILD_OPTIONS) : undefined;
    if (meant !== undefined) throw unknownOption(step, name, meant);
  }
}

/** @param expected the name that is meant, or all known ones */
function unknownOption(step: string, name: string, expected: string | readonly string[]): StepError {
  const cure = typeof expected === "string" ? `did you mean "${expected}"?` : `expected ${expected.join(", ")}`;
  return new StepError(`Unknown option "${name.slice(0, 80)}" of step "${step}": ${cure}`);
}

/** Throws if the code of a step is missing, or in the place of its options. */
export function checkFunction(step: string, what: string, value: unknown): void {
  if (typeof value === "function") return;
  throw new StepError(
    `Step "${step}" has no ${what}: expected a function, got ${value === null ? value : typeof value}`,
  );
}

/** Returns the number of retries of a step, checked; undefined if the job's retries apply. */
export function retriesOf({ retry }: StepOptions): number | undefined {
  if (retry === undefined || (Number.isSafeInteger(retry) && retry >= 0)) return retry;
  throw new StepError(`Invalid retry ${JSON.stringify(retry)}: expected a whole number from 0`);
}

/** Returns the pause in milliseconds before the next attempt of a step that failed this many times. */
export function backoffMs({ backoff = 1 }: StepOptions, failures: number): number {
  return Math.min(MAX_BACKOFF_MS, spanMs("backoff", backoff) * 2 ** Math.min(MAX_DOUBLINGS, failures - 1));
}
