/**
 * Queues that have jobs and aren't paused.
 *
 * @module
 */
import { ALL_QUEUES } from "../port/paused_queues.ts";
import { countOthersAside } from "./asides.ts";
import { type Body, query } from "./body.ts";
import * as limits from "./limits.ts";

/** A queue that has jobs and isn't paused. */
export interface OpenQueue {
  readonly id: number;
  readonly limit: limits.Limited | undefined;
  /** Number of its jobs in groups. */
  readonly grouped: number;
  /** Whether it has groups, with jobs or with a tag ahead of the queue's virtual time. */
  readonly hasGroups: boolean;
  /** Whether it has jobs without a group. */
  readonly hasUngrouped: boolean;
  /** Whether it has jobs that wait aside. */
  readonly hasAside: boolean;
}

/** A constant: a text that is put together at each call takes longer to find among the prepared statements than to execute. */
const OPEN_QUEUE = `SELECT ${limits.LIMIT_COLUMNS}, size, grouped,
    CASE WHEN EXISTS (SELECT 1 FROM queue AS one WHERE one.parent = queue.id AND one.state <> 3) THEN 1 ELSE 0 END AS has_groups,
    CASE WHEN EXISTS (SELECT 1 FROM queue AS one WHERE one.parent = queue.id AND one.state = 3) THEN 1 ELSE 0 END AS has_aside
  FROM queue
  WHERE name = ?1 AND (paused = 0 OR paused_until <= ?2) AND (size > 0 OR grouped > 0)`;

/** Returns a queue; undefined if it has no jobs, or is paused. */
export function* openQueue(name: string, now: number): Body<OpenQueue | undefined> {
  const [row] = yield query(OPEN_QUEUE, [name, now]);
  return row && {
    id: Number(row.id),
    limit: limits.limitIn(row),
    grouped: Number(row.grouped),
    hasGroups: row.has_groups === 1,
    hasUngrouped: Number(row.size) > 0,
    hasAside: row.has_aside === 1,
  };
}

/** Returns whether all queues are paused together. */
export function* areAllPaused(now: number): Body<boolean> {
  const [paused] = yield query("SELECT paused_until FROM queue WHERE name = ?1 AND paused = 1", [ALL_QUEUES]);
  return paused !== undefined && (paused.paused_until === null || Number(paused.paused_until) > now);
}

/** See `JobStore.hasQueuedJobs`. */
export function* hasQueuedJobs(
  names: readonly string[],
  classes: readonly string[] | undefined,
  now: number,
): Body<boolean> {
  if (yield* areAllPaused(now)) return false;
  for (const name of names) {
    const open = yield* openQueue(name, now);
    if (open === undefined) continue;
    if (open.hasUngrouped) return true;
    const queue = { id: open.id, name };
    const aside = open.hasAside ? yield* countOthersAside(queue, classes, now) : 0;
    const paused = (yield* limits.hasPauses(open.id, now)) ? yield* limits.pausedJobs(queue, now) : 0;
    if (paused + aside < open.grouped) return true;
  }
  return false;
}
