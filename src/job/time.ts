/**
 * When a job is to run, as callers say it: `in` and `at`. And the durations of a payload, which are seconds.
 *
 * @module
 */
import { parseDuration } from "./duration.ts";
import { InvalidPayload } from "./errors.ts";

/** When, as the store is told: at a moment, or so many milliseconds from its now. Neither: at once. */
export interface Moment {
  readonly at?: number;
  readonly delayMs?: number;
}

/** A number under it is seconds from now, as in Sidekiq. */
const MAX_RELATIVE = 1e9;
/** A number over it can only be milliseconds. */
const MAX_SECONDS = 1e11;
/** The end of the calendar. */
const LAST_MS = 8.64e15;

const DURATION_WANTED = "seconds, or a duration such as 30s, 5m, 2h or 1d";
const AT_WANTED =
  "a Date, ISO 8601 text such as 2030-12-31T23:59:00Z, epoch seconds, or under 1000000000 seconds from now";
const ISO_8601 = /^(\d{4})-(\d\d)-(\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;

/**
 * When a job is to run.
 *
 * @param later `in`: seconds or a duration; not more than 0 is at once
 * @param at `at`: a Date, ISO 8601 text (without a zone: the machine's), epoch seconds or milliseconds, or a number
 * under 1e9, which is seconds from now
 * @throws {InvalidPayload}
 */
export function readMoment(later: unknown, at: unknown): Moment {
  if (later !== undefined && at !== undefined) throw new InvalidPayload("in", later, 'either "in" or "at", not both');
  if (later !== undefined) return delay("in", later, readSeconds("in", later));
  if (at === undefined) return {};
  if (typeof at === "number") {
    if (at < MAX_RELATIVE) return delay("at", at, at);
    return moment(at, at > MAX_SECONDS ? at : at * 1_000);
  }
  return moment(at, at instanceof Date ? at.getTime() : typeof at === "string" ? parseIso(at) : NaN);
}

/**
 * Seconds of a number or a duration's text.
 *
 * @throws {InvalidPayload}
 */
function readSeconds(field: string, value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  try {
    if (typeof value === "string") return parseDuration(value) / 1_000;
  } catch {
    // Said below, with the field's name.
  }
  throw new InvalidPayload(field, value, DURATION_WANTED);
}

/**
 * The same, more than 0 and at most 1e9: Sidekiq takes a larger number for a point in time.
 *
 * @throws {InvalidPayload}
 */
export function readSpan(field: string, value: unknown): number {
  const seconds = readSeconds(field, value);
  if (seconds > 0 && seconds <= MAX_RELATIVE) return seconds;
  throw new InvalidPayload(field, value, `${DURATION_WANTED}, more than 0 and at most 1000000000 seconds`);
}

/**
 * How long something is kept: seconds of a number or a duration's text; 0 is not at all, -1 as long as there is room.
 *
 * @throws {InvalidPayload}
 */
export function readKeeping(field: string, value: unknown): number {
  const wanted = `${DURATION_WANTED}; 0 for not at all, -1 for as long as there is room`;
  if (value === -1 || value === "-1") return -1;
  let seconds = NaN;
  try {
    seconds = readSeconds(field, value);
  } catch {
    // Said below, with all that is wanted.
  }
  if (seconds >= 0) return seconds;
  throw new InvalidPayload(field, value, wanted);
}

function delay(field: string, value: unknown, seconds: number): Moment {
  const delayMs = Math.round(seconds * 1_000);
  if (!(delayMs <= LAST_MS)) throw new InvalidPayload(field, value, field === "at" ? AT_WANTED : DURATION_WANTED);
  return delayMs > 0 ? { delayMs } : {};
}

function moment(value: unknown, ms: number): Moment {
  if (!(ms <= LAST_MS)) throw new InvalidPayload("at", value, AT_WANTED);
  return { at: Math.round(ms) };
}

/** Epoch milliseconds, or NaN. `Date.parse` takes much more for a date, and February 30 for March 2. */
function parseIso(text: string): number {
  const match = ISO_8601.exec(text);
  if (match === null) return NaN;
  const [, year, month, day] = match.map(Number);
  if (day! > new Date(Date.UTC(year!, month!, 0)).getUTCDate()) return NaN;
  // A date alone would be midnight in Greenwich, while a date with a time is local.
  return Date.parse(text.length === 10 ? `${text}T00:00` : text.replace(" ", "T").replace(",", "."));
}
