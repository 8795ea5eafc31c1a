/**
 * Writes a failure into a payload: the error with its causes and stack, the times, the count, and the history of earlier
 * failures. Every other byte of the payload stays unchanged.
 *
 * @module
 */
import { zlib } from "../std/zlib.ts";
import type { DiedBy } from "./backoff.ts";
import type { Described } from "./describe_error.ts";
import { attemptOf, failureCount, type Job } from "./job.ts";
import { MAX_ERRORS, numberOf, type PastError, readErrors } from "./past_errors.ts";
import { readWireTime, setFields, wireTime } from "./raw.ts";

export interface FailureFacts {
  readonly error: Described;
  /** The queue that the job was taken from. */
  readonly queue: string;
  readonly now: number;
  readonly wire: 7 | 8;
  /** The retry queue of the class. That of the payload takes precedence. Default: `queue`. */
  readonly retryQueue?: string | undefined;
  /** The number of stack lines to keep; `true` for all. */
  readonly backtrace?: boolean | number | undefined;
  /** The last lines that a failed program printed, or a handler logged. */
  readonly output?: readonly string[] | undefined;
  /** Why the job is dead, if it is. */
  readonly diedBy?: DiedBy | undefined;
  /** The worker of the attempt, and the duration if it is known. */
  readonly attempt?: AttemptFacts | undefined;
}

export interface AttemptFacts {
  readonly worker: string;
  /** The duration in milliseconds; absent if the worker went offline. */
  readonly ms?: number;
}

/** Returns the text of the payload with the failure, and without `enqueued_at`. */
export function failedPayload(job: Job, facts: FailureFacts): string {
  const { payload, raw } = job;
  const { error, now, wire } = facts;
  const count = failureCount(payload);
  const time = wireTime(now, wire);
  const errorClass = withoutMarkup(error.class.toWellFormed());
  const lines = facts.backtrace === true ? error.stack : error.stack.slice(0, lineCount(facts.backtrace));
  return setFields(raw, {
    queue: JSON.stringify(textOr(payload.retry_queue, facts.retryQueue ?? facts.queue)),
    error_class: JSON.stringify(errorClass),
    error_message: JSON.stringify(error.message),
    error_causes: error.causes.length > 0 ? JSON.stringify(error.causes) : undefined,
    retry_count: String(count),
    // Sidekiq's pages show `failed_at` if the count is 0, and otherwise `retried_at`.
    ...((count === 0 || payload.failed_at === undefined) && { failed_at: time }),
    ...(count > 0 && { retried_at: time }),
    ...(lines.length > 0 && { error_backtrace: JSON.stringify(encodeBacktrace(lines.map(withoutMarkup))) }),
    error_output: facts.output ? JSON.stringify(encodeBacktrace(lastOf(facts.output))) : undefined,
    errors: addError(payload.errors, { ...error, ...facts.attempt, class: errorClass }, attemptOf(payload), now, wire),
    enqueued_at: undefined,
    died_by: facts.diedBy && JSON.stringify(facts.diedBy),
    // The attempt ended, so the job did not kill its worker.
    suspected: undefined,
  });
}

/** A payload keeps this much of the end of a failed program's output, in characters; its record keeps all. */
const MAX_OUTPUT = 16 * 1024;

/** Returns the last lines. */
function lastOf(output: readonly string[]): string[] {
  let first = output.length;
  for (let left = MAX_OUTPUT; first > 0 && (left -= output[first - 1]!.length + 1) >= 0;) first--;
  return first < output.length ? output.slice(first) : [(output.at(-1) ?? "").slice(-MAX_OUTPUT).toWellFormed()];
}

function lineCount(backtrace: boolean | number | undefined): number {
  return typeof backtrace === "number" && backtrace > 0 ? Math.floor(backtrace) : 0;
}

function textOr(value: unknown, fallback: string): string {
  return typeof value === "string" && value !== "" ? value : fallback;
}

/** Replaces angle brackets, because Sidekiq's pages show class names and stacks unescaped. */
function withoutMarkup(text: string): string {
  return text.replaceAll("<", "‹").replaceAll(">", "›");
}

/** Limits for each kept failure, which keep payloads small. In characters, and in causes. */
const MAX_MESSAGE = 1_000;
const MAX_CAUSE = 200;
const MAX_CAUSES = 3;
const MAX_WORKER = 200;

/**
 * Returns the JSON text of `errors` with one more failure.
 *
 * @param number the number of its attempt
 */
function addError(
  before: unknown,
  error:
    & { readonly class: string; readonly message: string; readonly causes?: readonly string[] }
    & Partial<AttemptFacts>,
  number: number,
  now: number,
  wire: 7 | 8,
): string {
  const errors = readErrors(before);
  const kept = errors.slice(1 - MAX_ERRORS).map((one) =>
    errorText({ ...one, at: readWireTime(one.at)! }, numberOf(one), wire)
  );
  const { class: error_class, message: error_message, causes = [], worker, ms } = error;
  const attempt = { ...(worker !== undefined && { worker }), ...(ms !== undefined && { ms }) };
  const last = { at: now, error_class, error_message, causes, ...attempt };
  return `[${[...kept, errorText(last, number, wire)].join(",")}]`;
}

/** Returns the text of one failure. `JSON.stringify` drops the fraction of `1.0`, which Sidekiq 8 then reads as milliseconds: hence `wireTime`. */
function errorText(
  { at, error_class, error_message, causes, worker, ms }: PastError,
  number: number | undefined,
  wire: 7 | 8,
): string {
  const fields = {
    error_class,
    error_message: error_message.slice(0, MAX_MESSAGE).toWellFormed(),
    ...(isTexts(causes) && causes.length > 0 &&
      { causes: causes.slice(0, MAX_CAUSES).map((cause) => cause.slice(0, MAX_CAUSE).toWellFormed()) }),
    ...(number !== undefined && { try: number }),
    ...(typeof worker === "string" && { worker: worker.slice(0, MAX_WORKER).toWellFormed() }),
    ...(isDuration(ms) && { ms: Math.round(ms) }),
  };
  return `{"at":${wireTime(at, wire)},${JSON.stringify(fields).slice(1)}`;
}

/** Returns whether a value is a duration in milliseconds. Any program may have written it. */
export function isDuration(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < 1e15;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/** Returns the causes in a payload, at most 10 lines; empty if they are absent or invalid. */
export function readCauses(value: unknown): readonly string[] {
  return isTexts(value) ? value.slice(0, 10) : [];
}

/** A larger unpacked stack is rejected: it was made to fill memory. */
const MAX_BACKTRACE_BYTES = 4 * 1024 * 1024;

/** Packs the lines of a stack as Sidekiq does: a JSON array, deflated, in base64. */
export function encodeBacktrace(lines: readonly string[]): string {
  return zlib().deflateSync(JSON.stringify(lines)).toString("base64");
}

/** Unpacks a payload's `error_backtrace`, also with the line breaks of Sidekiq 6; undefined if it is invalid. */
export function decodeBacktrace(text: unknown): string[] | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const packed = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    const lines: unknown = JSON.parse(zlib().inflateSync(packed, { maxOutputLength: MAX_BACKTRACE_BYTES }).toString());
    return Array.isArray(lines) && lines.every((line) => typeof line === "string") ? lines : undefined;
  } catch {
    return undefined;
  }
}
