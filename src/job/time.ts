/**
 * The times of a job: when it runs (`in`, `at`), its durations (`timeout`, `result_ttl`, …), and whether it has expired.
 * Durations in a payload are seconds.
 *
 * @module
 */
import { boundOf, MAX_DURATION_MS, parseDuration } from "./duration.ts";
import { InvalidPayload } from "./errors.ts";
import type { Payload } from "./job.ts";
import { readWireTime } from "./raw.ts";
import { mayHaveSteps } from "./step.ts";

/** When a job runs: at an epoch time, or after a delay from the store's now, both in milliseconds. Without both: at once. */
export interface Moment {
  readonly at?: number;
  readonly delayMs?: number;
}

/** A smaller number means seconds from now, as in Sidekiq. */
const MAX_RELATIVE = 1e9;
/** A larger number means milliseconds. */
const MAX_SECONDS = 1e11;
/** The end of the year 9999, the last that ISO 8601 writes with four digits. */
const MAX_TIME_MS = 253_402_300_799_999;

const DURATION_EXPECTED = "seconds, or a duration such as 30s, 5m, 2h or 1d";
const AT_EXPECTED =
  "a Date, ISO 8601 text such as 2030-12-31T23:59:00Z or epoch seconds, at most the year 9999; or under 1000000000 seconds from now";
const ISO_8601 = /^(\d{4})-(\d\d)-(\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/**
 * Returns when a job runs.
 *
 * @param later `in`: seconds or a duration; 0 and less means at once
 * @param at `at`: a Date, ISO 8601 text (without a zone, in the zone of the machine), epoch seconds or milliseconds, or
 * seconds from now as a number under 1e9
 * @throws {InvalidPayload} if a value is invalid, or both are given
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
 * Rejects a text without a zone as the time of a job, where it comes from a program on another machine.
 *
 * @throws {InvalidPayload}
 */
export function requireZone(at: unknown, field = "at"): void {
  const match = typeof at === "string" ? ISO_8601.exec(at) : null;
  if (match === null || match[4] !== undefined) return;
  throw new InvalidPayload(
    field,
    at,
    "a time with its zone, such as 2030-12-31T23:59:00Z or 2030-12-31T23:59:00+01:00, or epoch seconds",
  );
}

/**
 * Returns the seconds of a number or of a duration.
 *
 * @throws {InvalidPayload} if the value is invalid
 */
function readSeconds(field: string, value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  try {
    if (typeof value === "string") return parseDuration(value) / 1_000;
  } catch {
    // Reported below, with the name of the field.
  }
  throw new InvalidPayload(field, value, `${DURATION_EXPECTED}${boundOf(value)}`);
}

/**
 * Returns the seconds of a number or of a duration. They are more than 0 and at most 1e9, because Sidekiq reads a larger
 * number as a point in time.
 *
 * @throws {InvalidPayload} if the value is invalid
 */
export function readSpan(field: string, value: unknown): number {
  const seconds = readSeconds(field, value);
  if (seconds > 0 && seconds <= MAX_RELATIVE) return seconds;
  throw new InvalidPayload(field, value, `${DURATION_EXPECTED}, more than 0 and at most 1000000000 seconds`);
}

/**
 * Returns a retention in seconds, from a number or a duration: 0 to keep nothing, -1 to keep while there is room.
 *
 * @throws {InvalidPayload} if the value is invalid
 */
export function readRetention(field: string, value: unknown): number {
  if (value === -1 || value === "-1") return -1;
  let seconds = NaN;
  try {
    seconds = readSeconds(field, value);
  } catch {
    // Reported below, with all valid values.
  }
  if (seconds >= 0 && seconds * 1_000 <= MAX_DURATION_MS) return seconds;
  throw new InvalidPayload(
    field,
    value,
    `${DURATION_EXPECTED}; 0 to keep nothing, -1 to keep it while there is room${boundOf(value)}`,
  );
}

/**
 * Returns a stored retention (`result_ttl`, `failure_ttl`) in milliseconds: Infinity for -1; undefined if it isn't set, or
 * another client has written an invalid value.
 */
export function retentionMs(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (value === -1 || value === "-1") return Infinity;
  try {
    return parseDuration(String(value));
  } catch {
    return undefined;
  }
}

/** The field of a payload that marks a job with `expires_in` that a worker returned after it had started. */
export const BEGUN_FIELD = "begun";

/**
 * Returns whether a job starts too late: more than `expires_in` seconds after it was enqueued or, if it was scheduled,
 * after its time. A retry never expires, because it has started before. Nor does a job with steps, nor one that was rescued or returned,
 * which may have started.
 *
 * @param now epoch milliseconds
 */
export function isExpired(payload: Payload, now: number): boolean {
  const { expires_in: seconds, retry_count: failures } = payload;
  if (typeof seconds !== "number" || failures !== undefined || payload[BEGUN_FIELD] === true) return false;
  if (mayHaveSteps(payload)) return false;
  const since = readWireTime(payload.enqueued_at) ?? readWireTime(payload.created_at);
  return since !== undefined && now - since > seconds * 1_000;
}

function delay(field: string, value: unknown, seconds: number): Moment {
  const delayMs = Math.round(seconds * 1_000);
  if (!(delayMs <= MAX_DURATION_MS)) {
    throw new InvalidPayload(field, value, field === "at" ? AT_EXPECTED : `${DURATION_EXPECTED}${boundOf(value)}`);
  }
  return delayMs > 0 ? { delayMs } : {};
}

function moment(value: unknown, ms: number): Moment {
  if (!(ms <= MAX_TIME_MS)) throw new InvalidPayload("at", value, AT_EXPECTED);
  return { at: Math.round(ms) };
}

/** Returns epoch milliseconds, or NaN. `Date.parse` alone accepts far more, and reads February 30 as March 2. */
function parseIso(text: string): number {
  const match = ISO_8601.exec(text);
  if (match === null) return NaN;
  const [year, month, day] = match.slice(1, 4).map(Number);
  if (day! > new Date(Date.UTC(year!, month!, 0)).getUTCDate()) return NaN;
  // Date.parse reads a date without a time in UTC, and a date with a time in the zone of the machine.
  return Date.parse(text.length === 10 ? `${text}T00:00` : text.replace(" ", "T").replace(",", "."));
}
