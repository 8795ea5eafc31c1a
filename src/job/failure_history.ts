/**
 * The latest failures of a job, in a payload's field of our own: `errors`. Sidekiq's own fields tell of the last one only.
 *
 * @module
 */
import { readWireTime, wireTime } from "./raw.ts";

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
