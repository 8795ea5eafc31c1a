/**
 * A failure as the payload keeps it: the error with its causes and stack, the times, the count, and the history of earlier
 * failures. Every other byte of the payload stays as it is.
 *
 * @module
 */
import { deflateSync, inflateSync } from "node:zlib";
import type { Described } from "./errors.ts";
import { failureCount, type Job } from "./job.ts";
import { readWireTime, setFields, wireTime } from "./raw.ts";

/** A failure, and how the payload keeps it. */
export interface FailureFacts {
  readonly error: Described;
  /** The queue the job was taken from. */
  readonly queue: string;
  readonly now: number;
  readonly wire: 7 | 8;
  /** The class's queue for retries; the payload's wins. Default: `queue`. */
  readonly retryQueue?: string | undefined;
  /** How many lines of the stack are kept; `true` for all. */
  readonly backtrace?: boolean | number | undefined;
}

/** Returns the payload's text with the failure in it, and without `enqueued_at`. */
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
    error_causes: error.causes.length > 0 ? JSON.stringify(error.causes) : undefined,
    retry_count: String(count),
    // Sidekiq's pages show the first where the count is 0, the second where it is not.
    ...((count === 0 || payload.failed_at === undefined) && { failed_at: time }),
    ...(count > 0 && { retried_at: time }),
    ...(lines.length > 0 && { error_backtrace: JSON.stringify(encodeBacktrace(lines.map(harmless))) }),
    errors: addError(payload.errors, { ...error, class: errorClass }, count, now, wire),
    enqueued_at: undefined,
    // It ended by itself, so it did not kill its worker.
    suspected: undefined,
  });
}

function lineCount(backtrace: boolean | number | undefined): number {
  return typeof backtrace === "number" && backtrace > 0 ? Math.floor(backtrace) : 0;
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" && value !== "" ? value : otherwise;
}

/** Replaces angle brackets: Sidekiq's pages show class names and stacks unescaped. */
function harmless(text: string): string {
  return text.replaceAll("<", "‹").replaceAll(">", "›");
}

/** How many failures a payload keeps: the latest. */
const MAX_ERRORS = 10;
/** How many characters of each message, and of each cause, and how many causes, so that payloads stay small. */
const MAX_MESSAGE = 1_000;
const MAX_CAUSE = 200;
const MAX_CAUSES = 3;

/** One failure in a payload's `errors`, a field of ours: Sidekiq's fields describe the last failure only. */
export interface PastError {
  /** When, as on the wire: see `readWireTime`. */
  readonly at: number;
  /** The error's class. */
  readonly error_class: string;
  /** At most 1,000 characters. */
  readonly error_message: string;
  /** What led to it: at most 3 lines of at most 200 characters; absent if nothing did. */
  readonly causes?: readonly string[];
  /** The number of the attempt, from 1, including those before a retry by hand; absent in what older versions wrote. */
  readonly try?: number;
}

/** Returns the failures in a payload's `errors`, the earliest first, without entries that this library didn't write. */
export function readErrors(value: unknown): readonly PastError[] {
  return Array.isArray(value) ? value.filter(isPastError).slice(-MAX_ERRORS) : [];
}

/**
 * Returns the JSON text of `errors` with one more failure.
 *
 * @param failures how many there were before, by `retry_count`, which a retry by hand resets
 */
export function addError(
  before: unknown,
  error: { readonly class: string; readonly message: string; readonly causes?: readonly string[] },
  failures: number,
  now: number,
  wire: 7 | 8,
): string {
  const errors = readErrors(before);
  const number = (tryOf(errors.at(-1)) ?? Math.max(errors.length, failures)) + 1;
  const kept = errors.slice(1 - MAX_ERRORS).map((one) =>
    errorText({ ...one, at: readWireTime(one.at)! }, tryOf(one), wire)
  );
  const last = { at: now, error_class: error.class, error_message: error.message, causes: error.causes ?? [] };
  return `[${[...kept, errorText(last, number, wire)].join(",")}]`;
}

/**
 * Returns the number of the attempt of each failure, the earliest first; undefined where it is unknown.
 *
 * @param failures how many there were, by `retry_count`
 */
export function tryNumbers(errors: readonly PastError[], failures: number): (number | undefined)[] {
  // A failure without a number has at least its place among those that are kept.
  const all = tryOf(errors.at(-1)) ?? Math.max(failures, errors.length);
  return errors.map((one, i) => tryOf(one) ?? all - (errors.length - 1 - i));
}

function tryOf(error: PastError | undefined): number | undefined {
  const number: unknown = error?.try;
  return Number.isSafeInteger(number) && number as number > 0 ? number as number : undefined;
}

/** The time is written by hand: Sidekiq 8 reads one without a fraction as milliseconds, and JSON drops that of `1.0`. */
function errorText(
  { at, error_class, error_message, causes }: PastError,
  number: number | undefined,
  wire: 7 | 8,
): string {
  const fields = {
    error_class,
    error_message: error_message.slice(0, MAX_MESSAGE).toWellFormed(),
    ...(isTexts(causes) && causes.length > 0 &&
      { causes: causes.slice(0, MAX_CAUSES).map((cause) => cause.slice(0, MAX_CAUSE).toWellFormed()) }),
    ...(number !== undefined && { try: number }),
  };
  return `{"at":${wireTime(at, wire)},${JSON.stringify(fields).slice(1)}`;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/** Returns the lines of what led to an error, as a payload has them; empty if it has none that can be read. */
export function readCauses(value: unknown): readonly string[] {
  return isTexts(value) ? value.slice(0, 10) : [];
}

function isPastError(value: unknown): value is PastError {
  if (typeof value !== "object" || value === null) return false;
  const { at, error_class, error_message } = value as Partial<Record<keyof PastError, unknown>>;
  return readWireTime(at) !== undefined && typeof error_class === "string" && typeof error_message === "string";
}

/** A text that unpacks to more was made to fill memory. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Packs the lines of a stack as Sidekiq does: a JSON array, deflated, in base64. */
export function encodeBacktrace(lines: readonly string[]): string {
  return deflateSync(JSON.stringify(lines)).toString("base64");
}

/** Unpacks a payload's `error_backtrace`, also with the line breaks of Sidekiq 6; undefined if it is invalid. */
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
