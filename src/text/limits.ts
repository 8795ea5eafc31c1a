/**
 * Limits of queues as text.
 *
 * @module
 */
import { formatDuration } from "../job/duration.ts";
import type { LastSet } from "../store/admin/audit.ts";
import { formatStarts, type LimitInfo, MAX_RUNNING, MAX_STARTS, type QueueLimit } from "../store/port/limits.ts";
import { number } from "./format.ts";
import { shellWord } from "./shell.ts";

/** Returns `5 at once, 100/1m`. */
export function limitText({ running, starts }: QueueLimit): string {
  return [
    ...(running === undefined ? [] : [`${number(running)} at once`]),
    ...(starts === undefined ? [] : [formatStarts(starts)]),
  ].join(", ");
}

/** Returns the use of a limit: `5 of 5 running`, `100 of 100 started in the last 1m, next in 3s`. */
export function limitUse({ running, starts, taken, started, freeInMs }: LimitInfo): string {
  return [
    ...(running === undefined ? [] : [`${number(taken)} of ${number(running)} running`]),
    ...(starts === undefined
      ? []
      : [`${number(started)} of ${number(starts.count)} started in the last ${formatDuration(starts.perMs)}`]),
    ...(freeInMs === undefined || freeInMs === 0 ? [] : [`next in ${formatDuration(freeInMs)}`]),
  ].join(", ");
}

/**
 * Returns `, set 5m ago by ann`; empty if that isn't known.
 *
 * @param last the last event about the limit: a program may have set another one since, which is in no audit log
 */
export function limitSet(limit: QueueLimit, last: LastSet | undefined, now: number): string {
  const isThis = last?.details !== undefined && last.details.startsWith(limitText(limit));
  return isThis ? `, set ${formatDuration(Math.max(0, now - last.at))} ago by ${last.user}` : "";
}

/**
 * Returns the command that doubles the part of a limit that holds jobs back.
 *
 * @param at the option that names a group, after a space; default: the limit is that of the queue
 */
export function raiseLimit(queue: string, { running, starts, taken }: LimitInfo, at = ""): string {
  const raised = running !== undefined && (starts === undefined || taken >= running)
    ? `--running ${Math.min(2 * running, MAX_RUNNING)}`
    : starts !== undefined
    ? `--starts ${formatStarts({ ...starts, count: Math.min(2 * starts.count, MAX_STARTS) })}`
    : "--off";
  return `jobs limit ${shellWord(queue)}${at} ${raised}`;
}
