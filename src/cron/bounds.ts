/**
 * Bounds of a schedule: its first and last time, and a shift that spreads entries with the same schedule.
 *
 * @module
 */
import { formatDuration, parseDuration } from "../job/duration.ts";
import { type EntryFields, readInstant } from "./entry_fields.ts";
import { between, type Schedule } from "./schedule.ts";

/** Bounds of a schedule, in epoch milliseconds and milliseconds. Plain JSON. */
export interface ScheduleBounds {
  /** Times of the schedule before it don't count. */
  readonly start?: number;
  /** Times of the schedule after it don't count. */
  readonly end?: number;
  /** Each time is shifted by at most this. */
  readonly spreadMs?: number;
  /** The shift of this entry, which follows from its name. */
  readonly offsetMs?: number;
}

const MAX_SPREAD_MS = 24 * 3_600_000;
/** Maximum `count`: its times are computed when the entry is checked, some 2 µs each. */
const MAX_COUNT = 1_000;
/** The last of `count` runs is at most this much later than the start: each further year of a sparse rule is a search. */
const MAX_COUNT_YEARS = 100;
const YEAR_MS = 365.2425 * 24 * 3_600_000;

/** A schedule within bounds. */
export class BoundedSchedule implements Schedule {
  readonly #inner: Schedule;
  readonly #start: number;
  readonly #end: number;
  readonly #offset: number;

  constructor(inner: Schedule, { start = -Infinity, end = Infinity, offsetMs = 0 }: ScheduleBounds) {
    this.#inner = inner;
    this.#start = start;
    this.#end = end;
    this.#offset = offsetMs;
  }

  next(after: number): number | undefined {
    const time = this.#inner.next(Math.max(after - this.#offset, this.#start - 1));
    return time === undefined || time > this.#end ? undefined : time + this.#offset;
  }
}

/** Returns whether there are bounds. */
export function isBounded({ start, end, spreadMs }: ScheduleBounds): boolean {
  return start !== undefined || end !== undefined || spreadMs !== undefined;
}

/** Returns whether two bounds are the same. */
export function areSameBounds(one: ScheduleBounds, other: ScheduleBounds): boolean {
  return one.start === other.start && one.end === other.end && one.spreadMs === other.spreadMs &&
    one.offsetMs === other.offsetMs;
}

/** Returns whether the bounds of a stored schedule are valid. */
export function areValidBounds({ start, end, spreadMs, offsetMs }: Record<string, unknown>): boolean {
  return [start, end, spreadMs, offsetMs].every((value) => value === undefined || Number.isSafeInteger(value));
}

/**
 * Checks the bounds of an entry. `count` becomes the time of the last of these runs.
 *
 * @param schedule the schedule without bounds
 */
export function checkBounds(
  fields: EntryFields,
  { name, schedule, everyMs }: { readonly name: string; readonly schedule: Schedule; readonly everyMs?: number },
): ScheduleBounds {
  const start = readInstant(fields, "start");
  const end = readInstant(fields, "end");
  if (start !== undefined && end !== undefined && end < start) {
    fields.report(`"end" is before "start"; expected a later time`, "end");
  }
  const spreadMs = fields.duration("spread", 1_000);
  const maxMs = Math.min(MAX_SPREAD_MS, everyMs ?? Infinity);
  if (spreadMs !== undefined && spreadMs > maxMs) {
    fields.invalid("spread", `at most ${formatDuration(maxMs)}${maxMs === everyMs ? `, as "every"` : ""}`);
  }
  const last = checkCount(fields, schedule, start) ?? end;
  return {
    ...(start !== undefined && { start }),
    ...(last !== undefined && { end: last }),
    ...(spreadMs !== undefined && { spreadMs, offsetMs: offsetOf(name, spreadMs) }),
  };
}

/** Returns the time of the last of `count` runs. */
function checkCount(fields: EntryFields, schedule: Schedule, start: number | undefined): number | undefined {
  const isCount = (value: unknown): value is number =>
    Number.isInteger(value) && value as number > 0 && value as number <= MAX_COUNT;
  const count = fields.get("count", `a whole number from 1 to ${MAX_COUNT}`, isCount);
  if (count === undefined) return undefined;
  if (fields.raw("end") !== undefined) return fields.report(`both "count" and "end"; expected one of them`, "count");
  if (start === undefined) {
    if (fields.raw("start") !== undefined) return undefined;
    return fields.report(`"count" without "start"; expected the time from which runs are counted`, "count");
  }
  const times = between(schedule, start - 1, start + MAX_COUNT_YEARS * YEAR_MS, count);
  if (times.length === count) return times.at(-1);
  const most = `at most ${times.length}, as further runs are over ${MAX_COUNT_YEARS} years after "start"`;
  return fields.invalid("count", most);
}

/** Returns the shift of an entry: whole seconds from 0 to the spread, evenly distributed over names. */
export function offsetOf(name: string, spreadMs: number): number {
  // FNV-1a, then the finalizer of MurmurHash3: names that differ in their last digit get distant values.
  let hash = 0x811c9dc5;
  for (let index = 0; index < name.length; index++) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ hash >>> 16, 0x85ebca6b);
  hash = Math.imul(hash ^ hash >>> 13, 0xc2b2ae35);
  const share = ((hash ^ hash >>> 16) >>> 0) / 2 ** 32;
  return Math.floor(share * (Math.floor(spreadMs / 1_000) + 1)) * 1_000;
}

/** Returns bounds as an author writes them. */
export function boundsInput(
  { start, end, spreadMs }: ScheduleBounds,
): { start?: string; end?: string; spread?: string } {
  return {
    ...(start !== undefined && { start: isoText(start) }),
    ...(end !== undefined && { end: isoText(end) }),
    ...(spreadMs !== undefined && { spread: durationText(spreadMs) }),
  };
}

/** Returns bounds in plain words, to follow those of a schedule. */
export function describeBounds({ start, end, spreadMs }: ScheduleBounds): string {
  return [
    spreadMs === undefined ? "" : `, spread over ${formatDuration(spreadMs)}`,
    start === undefined ? "" : `, from ${isoText(start)}`,
    end === undefined ? "" : `, until ${isoText(end)}`,
  ].join("");
}

/** Returns a duration as an author writes it, without loss. */
export function durationText(ms: number): string {
  const text = formatDuration(ms);
  return parseDuration(text) === ms ? text : `${ms}ms`;
}

function isoText(ms: number): string {
  return Temporal.Instant.fromEpochMilliseconds(ms).toString();
}
