/**
 * What a failed job's payload says afterwards: the error, the times, the count. Everything else stays byte for byte.
 *
 * @module
 */
import { deflateSync, inflateSync } from "node:zlib";
import type { Described } from "./errors.ts";
import { failureCount, type Job } from "./job.ts";
import { readWireTime, setFields, wireTime } from "./raw.ts";

/** What happened. */
export interface FailureFacts {
  readonly error: Described;
  /** The queue the job was taken from. */
  readonly queue: string;
  readonly now: number;
  readonly wire: 7 | 8;
  /** Where retries go, if not to that queue; what the payload says comes first. */
  readonly retryQueue?: string | undefined;
  /** Lines of the stack to keep; `true` for all. */
  readonly backtrace?: boolean | number | undefined;
}

/** The payload's text with the failure in it, and without `enqueued_at`. */
export function failedPayload(job: Job, facts: FailureFacts): string {
  const { payload, raw } = job;
  const { error, now, wire } = facts;
  const count = failureCount(payload);
  const time = wireTime(now, wire);
  const errorClass = harmless(error.class.toWellFormed());
  const lines = facts.backtrace === true ? error.stack : error.stack.slice(0, lineCount(facts.backtrace));
  return setFields(raw, {
    queue: JSON.stringify(textOr(payload.retry_queue, facts.retryQueue ?? facts.queue)),
    error_class: JSON.stringify(errorClass),
    error_message: JSON.stringify(error.message),
    retry_count: String(count),
    // Sidekiq's pages want the first where the count is 0, the second where it is not.
    ...((count === 0 || payload.failed_at === undefined) && { failed_at: time }),
    ...(count > 0 && { retried_at: time }),
    ...(lines.length > 0 && { error_backtrace: JSON.stringify(encodeBacktrace(lines.map(harmless))) }),
    errors: addError(payload.errors, { class: errorClass, message: error.message }, count, now, wire),
    enqueued_at: undefined,
    // It has ended by itself.
    suspected: undefined,
  });
}

function lineCount(backtrace: boolean | number | undefined): number {
  return typeof backtrace === "number" && backtrace > 0 ? Math.floor(backtrace) : 0;
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" && value !== "" ? value : otherwise;
}

/** Sidekiq's pages show class names and stacks unescaped. */
function harmless(text: string): string {
  return text.replaceAll("<", "‹").replaceAll(">", "›");
}

/** So many are kept, the latest. */
const MAX_ERRORS = 10;
/** Of each message so many characters, that the payload stays small. */
const MAX_MESSAGE = 1_000;

/** One failure. */
export interface PastError {
  /** When, as on the wire: see `readWireTime`. */
  readonly at: number;
  /** The error's class. */
  readonly error_class: string;
  /** At most 1,000 characters. */
  readonly error_message: string;
  /** Which try it was, from 1, those before a retry by hand included; absent in what older versions wrote. */
  readonly try?: number;
}

/** The failures that a payload's `errors` has, the earliest first; what is none of ours is left out. */
export function readErrors(value: unknown): readonly PastError[] {
  return Array.isArray(value) ? value.filter(isPastError).slice(-MAX_ERRORS) : [];
}

/**
 * The JSON text of `errors` with one more.
 *
 * @param failures how many there were before, as `retry_count` says: a retry by hand begins to count anew
 */
export function addError(
  before: unknown,
  error: { readonly class: string; readonly message: string },
  failures: number,
  now: number,
  wire: 7 | 8,
): string {
  const errors = readErrors(before);
  const number = (tryOf(errors.at(-1)) ?? Math.max(errors.length, failures)) + 1;
  const kept = errors.slice(1 - MAX_ERRORS).map((one) =>
    errorText(readWireTime(one.at)!, one.error_class, one.error_message, tryOf(one), wire)
  );
  return `[${[...kept, errorText(now, error.class, error.message, number, wire)].join(",")}]`;
}

/**
 * Which try each of these was, the earliest first; undefined where that is not known.
 *
 * @param failures how many there were, as `retry_count` says
 */
export function tryNumbers(errors: readonly PastError[], failures: number): (number | undefined)[] {
  // What does not say has at least its place among those that are kept.
  const all = tryOf(errors.at(-1)) ?? Math.max(failures, errors.length);
  return errors.map((one, i) => tryOf(one) ?? all - (errors.length - 1 - i));
}

function tryOf(error: PastError | undefined): number | undefined {
  const number: unknown = error?.try;
  return Number.isSafeInteger(number) && number as number > 0 ? number as number : undefined;
}

/** Sidekiq 8 takes a time without a fraction for milliseconds, and `JSON.stringify` would drop the one of `1.0`. */
function errorText(at: number, name: string, message: string, number: number | undefined, wire: 7 | 8): string {
  const cut = message.slice(0, MAX_MESSAGE).toWellFormed();
  const which = number === undefined ? "" : `,"try":${number}`;
  const error = `"error_class":${JSON.stringify(name)},"error_message":${JSON.stringify(cut)}`;
  return `{"at":${wireTime(at, wire)},${error}${which}}`;
}

function isPastError(value: unknown): value is PastError {
  if (typeof value !== "object" || value === null) return false;
  const { at, error_class, error_message } = value as Partial<Record<keyof PastError, unknown>>;
  return readWireTime(at) !== undefined && typeof error_class === "string" && typeof error_message === "string";
}

/** No stack is larger; what unpacks to more was made to fill memory. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Packs the lines of a stack. */
export function encodeBacktrace(lines: readonly string[]): string {
  return deflateSync(JSON.stringify(lines)).toString("base64");
}

/** Unpacks a payload's `error_backtrace`, also with the line breaks of Sidekiq 6; undefined when it is none. */
export function decodeBacktrace(text: unknown): string[] | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const packed = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    const lines: unknown = JSON.parse(inflateSync(packed, { maxOutputLength: MAX_BYTES }).toString());
    return Array.isArray(lines) && lines.every((line) => typeof line === "string") ? lines : undefined;
  } catch {
    return undefined;
  }
}
