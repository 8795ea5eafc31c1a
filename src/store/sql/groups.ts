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
import { type Body, type Dialect, query, type Row, wholeText } from "./body.ts";
import { groupIn } from "./group_rows.ts";
import { hasLimits, lasts, limitOf, pausedFor } from "./limits.ts";
import * as limits from "./limits.ts";

const DEFAULT_LIMIT = 25;

/** A queue. */
interface QueueName {
  readonly id: number;
  readonly name: string;
}

/** See `AdminStore.groups`. */
export function* readGroups(
  dialect: Dialect,
  queue: string,
  { group, isSet = false, withSlowest = false, cursor, limit = DEFAULT_LIMIT }: GroupRequest,
  now: number,
): Body<GroupPage> {
  const [row] = yield query("SELECT id, size FROM queue WHERE name = ?1", [queue]);
  if (row === undefined) return { groups: [], ungrouped: 0 };
  const one = { id: Number(row.id), name: queue };
  const names = group !== undefined
    ? [group]
    : yield* listNames(dialect, one, { isSet, cursor, limit: limit + 1 }, now);
  const { isOwn: _each, weight, ...parts } = yield* limitOf(one.id, "", now);
  const shown = names.slice(0, limit);
  const ungrouped = Number(row.size);
  const running = yield* countRunning();
  const known: Turn[] = [];
  for (const name of new Set([...shown, ...yield* unequalGroups(dialect, one.id)])) {
    known.push(yield* turnOf(one, name, running, now));
  }
  const [ready] = yield query("SELECT count(*) AS n FROM queue WHERE parent = ?1 AND state = 1", [one.id]);
  const slowest = withSlowest ? yield* findSlowest(dialect, one.id, now) : undefined;
  const total = totalWeight({ ready: Number(ready!.n), each: weight, ungrouped, known });
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

/** Returns the names of groups after a cursor. */
function* listNames(
  { whole }: Dialect,
  { id, name }: QueueName,
  { isSet, cursor = "", limit }: {
    readonly isSet: boolean;
    readonly cursor: string | undefined;
    readonly limit: number;
  },
  now: number,
): Body<string[]> {
  const rows = yield query(
    `SELECT ${whole("name")} AS name FROM (
       SELECT name FROM queue
         WHERE ?5 = 0 AND parent = ?1 AND (size > 0 OR id IN (SELECT queue FROM lease WHERE from_group > 0))
       UNION SELECT ?2 || name FROM group_limit WHERE queue = ?1 AND name <> ''
       UNION SELECT ?2 || name FROM group_pause WHERE queue = ?1 AND ${lasts("?6")}) AS one
     WHERE name > ?3 ORDER BY one.name LIMIT ?4`,
    [id, nameOf(name, ""), nameOf(name, cursor), limit, isSet ? 1 : 0, now],
  );
  return rows.map(groupOf);
}

/** Returns the groups of a queue that may not have the weight of each group, or no turns. */
function* unequalGroups({ whole }: Dialect, queue: number): Body<string[]> {
  const rows = yield query(
    `SELECT ${whole("name")} AS name FROM group_limit WHERE queue = ?1 AND name <> '' AND weight IS NOT NULL
     UNION SELECT ${whole("name")} FROM group_pause WHERE queue = ?1`,
    [queue],
  );
  // Without limits, no running job changes the share of its group.
  const running = !(yield* hasLimits(queue)) ? [] : yield query(
    `SELECT DISTINCT ${whole("name")} AS name FROM lease CROSS JOIN queue
     WHERE queue.id = lease.queue AND from_group > 0 AND parent = ?1`,
    [queue],
  );
  return [
    ...(["high", "low"] as const).map(laneOf),
    ...rows.map(({ name }) => wholeText(name)),
    ...running.map(groupOf),
  ];
}

/** Returns the number of running jobs of each group of all queues, by the group's ID. */
function* countRunning(): Body<Map<number, number>> {
  const rows = yield query("SELECT queue, count(*) AS n FROM lease WHERE from_group > 0 GROUP BY queue");
  return new Map(rows.map(({ queue, n }) => [Number(queue), Number(n)]));
}

function* turnOf(
  queue: QueueName,
  name: string,
  runningIn: ReadonlyMap<number, number>,
  now: number,
): Body<Turn> {
  const [row] = yield query("SELECT id, size, state FROM queue WHERE name = ?1", [nameOf(queue.name, name)]);
  const { weight, isOwn, sharesLimit, until, ...limit } = yield* limitOf(queue.id, name, now);
  const id = Number(row?.id ?? -1);
  const isLimited = limit.running !== undefined || limit.starts !== undefined;
  const pausedMs = yield* pausedFor(queue.id, name, now);
  const use: LimitInfo | undefined = isLimited
    ? yield* limits.info({ queue: id, isGroup: true, ...limit }, now)
    : undefined;
  const group: GroupInfo = {
    name,
    size: Number(row?.size ?? 0),
    latencyMs: (yield* latencyOf(id, now)) ?? 0,
    running: runningIn.get(id) ?? 0,
    weight,
    ...(use && { limit: use }),
    isOwn,
    ...(sharesLimit && { sharesLimit }),
    ...(until !== undefined && { endsInMs: until - now }),
    paused: pausedMs > 0,
    ...(pausedMs > 0 && pausedMs < Infinity && { pausedForMs: pausedMs }),
  };
  return { info: group, isReady: row?.state === 1 };
}

/** Returns how long the oldest job of a group has been queued; undefined without one, or if unknown. */
function* latencyOf(group: number, now: number): Body<number | undefined> {
  const [oldest] = yield query(
    "SELECT payload FROM job WHERE id = (SELECT min(job) FROM queued WHERE queue = ?1)",
    [group],
  );
  const since = oldest && readWireTime(getField(oldest.payload as string, "enqueued_at"));
  return since === undefined ? undefined : Math.max(0, now - since);
}

/** Jobs are numbered as they are enqueued, so the group with the lowest number is the slowest. */
function* findSlowest({ whole }: Dialect, queue: number, now: number): Body<SlowestGroup | undefined> {
  const [row] = yield query(
    `SELECT id, ${whole("name")} AS name, (SELECT min(job) FROM queued WHERE queued.queue = one.id) AS first
     FROM (SELECT id, name FROM queue WHERE parent = ?1 AND state > 0 LIMIT ${MAX_COUNTED_GROUPS}) AS one
     ORDER BY first LIMIT 1`,
    [queue],
  );
  const latencyMs = row && (yield* latencyOf(Number(row.id), now));
  return latencyMs === undefined ? undefined : { name: groupOf(row!), latencyMs };
}

/** Returns the `count` largest groups of each of the queues that has jobs in groups. */
export function* readLargest(
  { whole }: Dialect,
  queues: readonly string[],
  count: number,
): Body<ReadonlyMap<string, LargestGroups>> {
  const running = new Map<string, Map<string, number>>();
  const leased = yield query(
    `SELECT (SELECT ${whole("name")} FROM queue WHERE id = lease.queue) AS name, count(*) AS n
     FROM lease WHERE from_group > 0 GROUP BY lease.queue`,
  );
  for (const row of leased) {
    const { queue, group } = splitName(wholeText(row.name));
    if (!running.has(queue)) running.set(queue, new Map());
    running.get(queue)!.set(group!, Number(row.n));
  }
  const largest = new Map<string, LargestGroups>();
  for (const queue of queues) {
    const [known] = yield query("SELECT id, grouped FROM queue WHERE name = ?1", [queue]);
    const inQueue = running.get(queue) ?? new Map<string, number>();
    if (known === undefined || known.grouped === 0 && inQueue.size === 0) continue;
    const rows = yield query(
      `SELECT ${whole("name")} AS name, size FROM (
         SELECT name, size FROM queue WHERE parent = ?1 AND state > 0 LIMIT ${MAX_COUNTED_GROUPS}) AS one
       ORDER BY size DESC LIMIT ?2`,
      [Number(known.id), count],
    );
    const sizes = new Map(rows.map((row) => [groupOf(row), Number(row.size)]));
    largest.set(queue, largestOf({ sizes, total: Number(known.grouped), running: inQueue }, count));
  }
  return largest;
}

/** Returns the group of a row with the whole name of a group. */
function groupOf({ name }: Row): string {
  return groupIn(wholeText(name));
}
