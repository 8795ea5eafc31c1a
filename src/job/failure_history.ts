/**
 * The latest failures of a job, in a payload's field of our own: `errors`. Sidekiq's own fields tell of the last one only.
 *
 * @module
 */
import { readWireTime, wireTime } from "./raw.ts";

/** So many are kept, the latest. */
const MOST_ERRORS = 10;
/** Of each message so many characters, that the payload stays small. */
const LONGEST_MESSAGE = 1_000;

/** One failure. */
export interface PastError {
  /** When, as on the wire: see `readWireTime`. */
  readonly at: number;
  /** The error's class. */
  readonly error_class: string;
  /** At most 1,000 characters. */
  readonly error_message: string;
}

/** The failures that a payload's `errors` has, the earliest first; what is none of ours is left out. */
export function readErrors(value: unknown): readonly PastError[] {
  return Array.isArray(value) ? value.filter(isPastError).slice(-MOST_ERRORS) : [];
}

/** The JSON text of `errors` with one more. */
export function addError(
  before: unknown,
  error: { readonly class: string; readonly message: string },
  now: number,
  wire: 7 | 8,
): string {
  const kept = readErrors(before).slice(1 - MOST_ERRORS)
    .map(({ at, error_class, error_message }) => errorText(readWireTime(at)!, error_class, error_message, wire));
  return `[${[...kept, errorText(now, error.class, error.message, wire)].join(",")}]`;
}

/** Sidekiq 8 takes a time without a fraction for milliseconds, and `JSON.stringify` would drop the one of `1.0`. */
function errorText(at: number, name: string, message: string, wire: 7 | 8): string {
  const cut = message.slice(0, LONGEST_MESSAGE).toWellFormed();
  return `{"at":${wireTime(at, wire)},"error_class":${JSON.stringify(name)},"error_message":${JSON.stringify(cut)}}`;
}

function isPastError(value: unknown): value is PastError {
  if (typeof value !== "object" || value === null) return false;
  const { at, error_class, error_message } = value as Partial<Record<keyof PastError, unknown>>;
  return readWireTime(at) !== undefined && typeof error_class === "string" && typeof error_message === "string";
}
