/**
 * The failures that a payload keeps, and the numbers of their attempts.
 *
 * @module
 */
import { readWireTime } from "./raw.ts";

/** A payload keeps at most this many failures, the latest. */
export const MAX_ERRORS = 10;

/** One failure in the `errors` of a payload. Sidekiq's own fields describe only the last failure. */
export interface PastError {
  /** The time, as on the wire: see `readWireTime`. */
  readonly at: number;
  readonly error_class: string;
  /** The message, at most 1,000 characters. */
  readonly error_message: string;
  /** The causes: at most 3 lines of at most 200 characters. Absent if there are none. */
  readonly causes?: readonly string[];
  /** The number of the attempt, from 1, including those before a retry by hand. Absent if an older version wrote it. */
  readonly try?: number;
  /** The ID of the worker, at most 200 characters. Absent if an older version wrote it. */
  readonly worker?: string;
  /** The duration of the attempt in milliseconds. Absent if it is unknown. */
  readonly ms?: number;
}

/** Returns the failures in the `errors` of a payload, earliest first, without invalid entries. */
export function readErrors(value: unknown): readonly PastError[] {
  return Array.isArray(value) ? value.filter(isPastError).slice(-MAX_ERRORS) : [];
}

/**
 * Returns the number of the attempt of each failure, earliest first; undefined if it is unknown.
 *
 * @param failures the number of failures by `retry_count`
 */
export function attemptNumbers(errors: readonly PastError[], failures: number): (number | undefined)[] {
  // A failure without a number counts from its position among the kept ones.
  const all = numberOf(errors.at(-1)) ?? Math.max(failures, errors.length);
  return errors.map((one, i) => numberOf(one) ?? all - (errors.length - 1 - i));
}

/** Returns the number of the attempt of a failure; undefined if it has none. Any program may have written it. */
export function numberOf(error: PastError | undefined): number | undefined {
  const number: unknown = error?.try;
  return Number.isSafeInteger(number) && number as number > 0 ? number as number : undefined;
}

function isPastError(value: unknown): value is PastError {
  if (typeof value !== "object" || value === null) return false;
  const { at, error_class, error_message } = value as Partial<Record<keyof PastError, unknown>>;
  return readWireTime(at) !== undefined && typeof error_class === "string" && typeof error_message === "string";
}
