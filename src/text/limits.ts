/**
 * Limits of queues, in words.
 *
 * @module
 */
import { formatDuration } from "../job/duration.ts";
import { formatStarts, type LimitInfo, type QueueLimit } from "../store/port/limits.ts";
import { number } from "./format.ts";

/** `5 at once, 100/1m`. */
export function limitText({ running, starts }: QueueLimit): string {
  return [
    ...(running === undefined ? [] : [`${number(running)} at once`]),
    ...(starts === undefined ? [] : [formatStarts(starts)]),
  ].join(", ");
}

/** `5 of 5 run`, `100 of 100 started in the last 1m, the next in 3s`: what is used of it. */
export function limitUse({ running, starts, taken, started, freeInMs }: LimitInfo): string {
  return [
    ...(running === undefined ? [] : [`${number(taken)} of ${number(running)} run`]),
    ...(starts === undefined
      ? []
      : [`${number(started)} of ${number(starts.count)} started in the last ${formatDuration(starts.perMs)}`]),
    ...(freeInMs === undefined || freeInMs === 0 ? [] : [`the next in ${formatDuration(freeInMs)}`]),
  ].join(", ");
}
