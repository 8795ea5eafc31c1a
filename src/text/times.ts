/**
 * Moments, as people are told of them.
 *
 * @module
 */
import { formatDuration } from "../job/duration.ts";

/** Nobody tells less apart. */
const NOW_MS = 500;

/** Times outside it are no times, whatever a payload says. */
const LAST_TIME_MS = 8.64e15;

/** ISO 8601; undefined for what is no time. */
export function isoTime(at: number | undefined): string | undefined {
  return at !== undefined && Math.abs(at) <= LAST_TIME_MS ? new Date(at).toISOString() : undefined;
}

/** `in 5m`, `3s ago`, `now`: a moment, both in epoch milliseconds; empty where there is none. */
export function relative(at: number | undefined, now: number): string {
  if (at === undefined) return "";
  if (Math.abs(at - now) < NOW_MS) return "now";
  return at > now ? `in ${formatDuration(at - now)}` : `${formatDuration(now - at)} ago`;
}
