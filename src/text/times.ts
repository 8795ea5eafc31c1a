/**
 * Times for people.
 *
 * @module
 */
import { formatDuration } from "../job/duration.ts";

/** Smaller differences are shown as "now". */
const NOW_MS = 500;

/** The last time that a `Date` can hold: payloads may contain any number. */
const LAST_TIME_MS = 8.64e15;
/** The last time that has a local time in every zone. */
const MAX_SHOWN_MS = LAST_TIME_MS - 2 * 86_400_000;

/** Returns a time in epoch milliseconds as ISO 8601 in UTC; undefined if it isn't a valid time. */
export function isoTime(at: number | undefined): string | undefined {
  return isTime(at) ? new Date(at).toISOString() : undefined;
}

/** Returns whether a `Date` can hold a value of a payload or a record. */
function isTime(at: unknown): at is number {
  return typeof at === "number" && Math.abs(at) <= LAST_TIME_MS;
}

/** Returns `in 5m`, `3s ago` or `now` for a time in epoch milliseconds; empty if it is unknown. */
export function relative(at: number | undefined, now: number): string {
  if (at === undefined || Number.isNaN(at)) return "";
  if (Math.abs(at - now) < NOW_MS) return "now";
  return at > now ? `in ${formatDuration(at - now)}` : `${formatDuration(now - at)} ago`;
}

/**
 * Returns a relative time, and the local time to the minute if it is more than an hour away: `in 4h (2026-11-22 06:00)`.
 *
 * @param zone an IANA name; default: the system's
 */
export function localTime(at: number | undefined, now: number, zone?: string): string {
  if (!isTime(at)) return "";
  const near = relative(at, now);
  return Math.abs(at - now) < 3_600_000 ? near : `${near} (${localMinute(at, zone)})`;
}

/**
 * Returns `2026-11-22 06:00` in a zone, by default the system's. The system's zone needn't have a name: `TZ` may be empty or a
 * path. A `Date` reads local times by the same rules. Empty for no number.
 *
 * @param zone a valid IANA name
 */
export function localMinute(at: number, zone?: string): string {
  if (Number.isNaN(at)) return "";
  const ms = Math.min(MAX_SHOWN_MS, Math.max(-MAX_SHOWN_MS, at));
  const offsetMs = zone === undefined ? -new Date(ms).getTimezoneOffset() * 60_000 : zoneOffsetMs(ms, zone);
  const [day, time] = new Date(ms + offsetMs).toISOString().split("T");
  return `${day} ${time!.slice(0, 5)}`;
}

function zoneOffsetMs(at: number, zone: string): number {
  if (zone === "UTC") return 0;
  return Temporal.Instant.fromEpochMilliseconds(Math.trunc(at)).toZonedDateTimeISO(zone).offsetNanoseconds / 1e6;
}
