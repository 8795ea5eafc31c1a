/**
 * Moments, as people are told of them.
 *
 * @module
 */
import { formatDuration } from "../job/duration.ts";

/** Nobody tells less apart. */
const NOW_MS = 500;

/** `in 5m`, `3s ago`, `now`: a moment, both in epoch milliseconds; empty where there is none. */
export function relative(at: number | undefined, now: number): string {
  if (at === undefined) return "";
  if (Math.abs(at - now) < NOW_MS) return "now";
  return at > now ? `in ${formatDuration(at - now)}` : `${formatDuration(now - at)} ago`;
}
