/**
 * The groups of queues for operators.
 *
 * @module
 */
import { laneOf } from "../../job/priority.ts";
import { getField, readWireTime } from "../../job/raw.ts";
import { shareOf, totalWeight, type Turn, withShare } from "../port/fair_shares.ts";
import {
  type GroupInfo,
  type GroupPage,
  type GroupRequest,
  type LargestGroups,
  largestOf,
  MAX_COUNTED_GROUPS,
  nameOf,
  type SlowestGroup,
  splitName,
} from "../port/groups.ts";
import type { LimitInfo } from "../port/limits.ts";
import type { Context } from "./context.ts";
import { groupIn, wholeName } from "./groups.ts";
import { hasLimits, limitOf, pausedFor } from "./limits.ts";
import * as limits from "./limits.ts";

const DEFAULT_LIMIT = 25;

/** See `AdminStore.groups`. */
export function readGroups(context: Context, queue: string, request: GroupRequest = {}): GroupPage {
  const { sql } = context;
  const row = sql("SELECT id, size FROM queue WHERE name = ?").get(queue);
  if (row === undefined) return { groups: [], ungrouped: 0 };
  const id = Number(row.id);
  const { group, isSet = false, withSlowest = false, cursor, limit = DEFAULT_LIMIT } = request;
  // As bytes: substr ends at a NUL, and a group may have any name.
  const from = new TextEncoder().encode(queue).length + 2;
  const names = group !== undefined ? [group] : sql(
    `SELECT CAST(name AS BLOB) AS name FROM (
       SELECT CAST(substr(CAST(name AS BLOB), ?2) AS TEXT) AS name FROM queue
         WHERE ?5 = 0 AND parent = ?1 AND (size > 0 OR id IN (SELECT queue FROM lease WHERE from_group > 0))
       UNION SELECT name FROM group_limit WHERE queue = ?1 AND name <> ''
       UNION SELECT name FROM group_pause WHERE queue = ?1 AND (until IS NULL OR until > ?6))
     WHERE name > ?3 ORDER BY name LIMIT ?4`,
  ).all(id, from, cursor ?? "", limit + 1, isSet ? 1 : 0, context.now()).map(wholeName);
  const each = limitOf(context, id, "");
  const { isOwn: _each, weight, ...parts } = each;
  const shown = names.slice(0, limit);
  const ungrouped = Number(row.size);
  const running = countRunning(context);
  const known = [...new Set([...shown, ...unequalGroups(context, id)])].map((name) =>
    turnOf(context, { id, name: queue }, name, running)
  );
  const ready = Number(sql("SELECT count(*) AS n FROM queue WHERE parent = ? AND state = 1").get(id)!.n);
  const slowest = withSlowest ? findSlowest(context, { id, name: queue }) : undefined;
  const total = totalWeight({ ready, each: weight, ungrouped, known });
  return {
    groups: known.slice(0, shown.length).map((turn) => withShare(turn, total))
      .filter((info) => info.isOwn || info.paused || !isSet),
    ...(names.length > limit && { next: shown.at(-1)! }),
    ...((parts.running !== undefined || parts.starts !== undefined || weight !== 1) &&
      { each: { ...parts, ...(weight !== 1 && { weight }) } }),
    ungrouped,
    ...(ungrouped > 0 && { ungroupedFairShare: shareOf(1, total) }),
    ...(slowest && { slowest }),
  };
}

/** Returns the groups of a queue that may not have the weight of each group, or no turns. */
function unequalGroups(context: Context, queue: number): string[] {
  const { sql } = context;
  const rows = sql(
    `SELECT CAST(name AS BLOB) AS name FROM group_limit WHERE queue = ?1 AND name <> '' AND weight IS NOT NULL
     UNION SELECT CAST(name AS BLOB) FROM group_pause WHERE queue = ?1`,
  ).all(queue);
  // Without limits, no running job changes the share of its group.
  const running = !hasLimits(context, queue) ? [] : sql(
    "SELECT DISTINCT CAST(name AS BLOB) AS name FROM lease CROSS JOIN queue ON queue.id = lease.queue WHERE from_group > 0 AND parent = ?",
  ).all(queue).map((row) => groupIn(wholeName(row)));
  return [...(["high", "low"] as const).map(laneOf), ...rows.map(wholeName), ...running];
}

/** Returns the number of running jobs of each group of all queues, by the group's ID. */
function countRunning({ sql }: Context): Map<number, number> {
  const rows = sql("SELECT queue, count(*) AS n FROM lease WHERE from_group > 0 GROUP BY queue").all();
  return new Map(rows.map(({ queue, n }) => [Number(queue), Number(n)]));
}

function turnOf(
  context: Context,
  queue: { readonly id: number; readonly name: string },
  name: string,
  runningIn: ReadonlyMap<number, number>,
): Turn {
  const { sql, now } = context;
  const row = sql("SELECT id, size, state FROM queue WHERE name = ?").get(nameOf(queue.name, name));
  const { weight, isOwn, sharesLimit, until, ...limit } = limitOf(context, queue.id, name);
  const id = Number(row?.id ?? -1);
  const isLimited = limit.running !== undefined || limit.starts !== undefined;
  const pausedMs = pausedFor(context, queue.id, name);
  const use: LimitInfo | undefined = isLimited
    ? limits.info(context, { queue: id, isGroup: true, ...limit })
    : undefined;
  const group: GroupInfo = {
    name,
    size: Number(row?.size ?? 0),
    latencyMs: latencyOf(context, id) ?? 0,
    running: runningIn.get(id) ?? 0,
    weight,
    ...(use && { limit: use }),
    isOwn,
    ...(sharesLimit && { sharesLimit }),
    ...(until !== undefined && { endsInMs: until - now() }),
    paused: pausedMs > 0,
    ...(pausedMs > 0 && pausedMs < Infinity && { pausedForMs: pausedMs }),
  };
  return { info: group, isReady: row?.state === 1 };
}

/** Returns how long the oldest job of a group has been queued; undefined without one, or if unknown. */
function latencyOf({ sql, now }: Context, group: number): number | undefined {
  const oldest = sql("SELECT payload FROM job WHERE id = (SELECT min(job) FROM queued WHERE queue = ?)").get(group);
  const since = oldest && readWireTime(getField(oldest.payload as string, "enqueued_at"));
  return since === undefined ? undefined : Math.max(0, now() - since);
}

/** Jobs are numbered as they are enqueued, so the group with the lowest number is the slowest. */
function findSlowest(
  context: Context,
  queue: { readonly id: number; readonly name: string },
): SlowestGroup | undefined {
  const row = context.sql(
    `SELECT id, CAST(name AS BLOB) AS name, (SELECT min(job) FROM queued WHERE queued.queue = one.id) AS first
     FROM (SELECT id, name FROM queue WHERE parent = ? AND state > 0 LIMIT ${MAX_COUNTED_GROUPS}) AS one
     ORDER BY first LIMIT 1`,
  ).get(queue.id);
  const latencyMs = row && latencyOf(context, Number(row.id));
  return latencyMs === undefined ? undefined : { name: groupIn(wholeName(row!)), latencyMs };
}

/** Returns the `count` largest groups of each of the queues that has jobs in groups. */
export function readLargest(
  { sql }: Context,
  queues: readonly string[],
  count: number,
): ReadonlyMap<string, LargestGroups> {
  const running = new Map<string, Map<string, number>>();
  for (
    const row of sql(
      `SELECT (SELECT CAST(name AS BLOB) FROM queue WHERE id = lease.queue) AS name, count(*) AS n
       FROM lease WHERE from_group > 0 GROUP BY lease.queue`,
    ).all()
  ) {
    const { queue, group } = splitName(wholeName(row));
    if (!running.has(queue)) running.set(queue, new Map());
    running.get(queue)!.set(group!, Number(row.n));
  }
  return new Map(queues.flatMap((queue): [string, LargestGroups][] => {
    const known = sql("SELECT id, grouped FROM queue WHERE name = ?").get(queue);
    const inQueue = running.get(queue) ?? new Map<string, number>();
    if (known === undefined || known.grouped === 0 && inQueue.size === 0) return [];
    const sizes = new Map(
      sql(
        `SELECT CAST(name AS BLOB) AS name, size FROM (
           SELECT name, size FROM queue WHERE parent = ? AND state > 0 LIMIT ${MAX_COUNTED_GROUPS})
         ORDER BY size DESC LIMIT ?`,
      ).all(known.id!, count).map((row) => [groupIn(wholeName(row)), Number(row.size)]),
    );
    return [[queue, largestOf({ sizes, total: Number(known.grouped), running: inQueue }, count)]];
  }));
}
