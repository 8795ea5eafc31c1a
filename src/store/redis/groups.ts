/**
 * The groups of queues for operators. A queue may have many groups: they are read in small steps, because no step may hold
 * Redis for long.
 *
 * @module
 */
import {
  type GroupInfo,
  type GroupLimit,
  type GroupPage,
  type GroupRequest,
  type LargestGroups,
  largestOf,
  MAX_COUNTED_GROUPS,
  type SlowestGroup,
  splitName,
} from "../port/groups.ts";
import { laneOf } from "../../job/priority.ts";
import { shareOf, totalWeight, type Turn, withShare } from "../port/fair_shares.ts";
import { MAX_BATCH_BYTES } from "../port/batch_bytes.ts";
import { SCRIPTS } from "./client/scripts.ts";
import type { ReconnectingClient } from "./client/reconnecting_client.ts";
import type { Context } from "./context.ts";
import { readTokens, readWorkers } from "./entries.ts";
import { groupsKey, leasesKey, LIMITS, listKey } from "./keys.ts";
import { queueOf } from "./take.ts";

const DEFAULT_LIMIT = 25;
/** Maximum number of members that one step of a scan reads. */
const MAX_SCANNED = "1000";

/** Maximum numbers of leases that one script counts, and of held groups that one wakes: some 2 ms each. */
const MAX_COUNTED = 1_000;
const MAX_WOKEN = 500;
/** Maximum number of groups that one script reads. */
const MAX_READ = 500;
/** The groups with the jobs of a priority. */
const PRIORITIES = (["high", "low"] as const).map(laneOf);

/**
 * Limits a group, or with the name "" each without a separate limit. Running jobs count at once: all of them are counted before
 * the limit applies. They are counted in steps, so that many of them don't block Redis.
 */
export async function limitGroup(
  { client, offset }: Context,
  queue: string,
  group: string,
  { running, starts, weight, forMs }: GroupLimit,
): Promise<void> {
  const limit = { running: running ?? 0, starts: starts?.count ?? 0, per: starts?.perMs ?? 0, weight: weight ?? 0 };
  const args = { queue, group, ...limit, ttl: forMs ? Math.max(1, Math.round(forMs)) : 0 };
  const apply = (verb: "begin" | "set") => client.run(SCRIPTS.limitGroup, { verb, now: offset(), ...args });
  const isRemoval = Object.values(limit).every((part) => !part);
  if (!isRemoval && await apply("begin") === 1) await countLeases(client, queue);
  // Without limits, leases are no longer counted.
  if (await apply("set") === 0) await countLeases(client, queue);
  let held = await client.run(SCRIPTS.wakeGroups, { queue, group, max: MAX_WOKEN }) as number;
  // Meanwhile workers hold groups again that are at their limit. The loop wakes each group once: those left were held again.
  for (let steps = Math.ceil(held / MAX_WOKEN); steps > 0 && held > 0; steps--) {
    held = await client.run(SCRIPTS.wakeGroups, { queue, group: "", max: MAX_WOKEN }) as number;
  }
}

/** Counts the leases of a queue's groups, including those taken before the queue had limits for groups. */
async function countLeases(client: ReconnectingClient, queue: string): Promise<void> {
  for (const worker of await readWorkers(client)) {
    const tokens = (await readTokens(client, worker)).filter((token) => {
      const { queue: of, group } = splitName(queueOf(token));
      return of === queue && group !== undefined;
    });
    for (let from = 0; from < tokens.length; from += MAX_COUNTED) {
      const some = tokens.slice(from, from + MAX_COUNTED);
      await client.run(SCRIPTS.countLeases, { leases: leasesKey(worker), worker, queue, tokens: some });
    }
  }
}

/** See `AdminStore.groups`. */
export async function readGroups(
  { client, offset }: Context,
  queue: string,
  { group, isSet = false, withSlowest = false, cursor = "", limit = DEFAULT_LIMIT }: GroupRequest = {},
): Promise<GroupPage> {
  const [running, limits, paused] = await Promise.all([
    countRunning(client, queue),
    readLimits(client, queue),
    client.call(["HKEYS", groupsKey("paused", queue)]) as Promise<string[]>,
  ]);
  const queued = isSet || group !== undefined ? [] : await queuedGroups(client, queue);
  const names = group !== undefined ? [group] : [
    ...new Set([...queued, ...(isSet ? [] : running.keys()), ...limits.keys(), ...paused]),
  ].filter((name) => name > cursor).sort();
  const shown = names.slice(0, limit);
  const weighted = [...limits].flatMap(([name, text]) => name !== "" && WEIGHTED.test(text) ? [name] : []);
  const known = new Set([...shown, ...weighted, ...PRIORITIES, ...paused, ...(limits.size > 0 ? running.keys() : [])]);
  const { each, ungrouped, turns } = await readTurns({ client, offset }, queue, [...known], running);
  const ready = await client.call(["ZCARD", groupsKey("ready", queue)]) as number;
  const slowest = withSlowest ? await findSlowest({ client, offset }, queue, queued) : undefined;
  const total = totalWeight({ ready, each: each.weight ?? 1, ungrouped, known: turns });
  return {
    groups: turns.slice(0, shown.length).map((turn) => withShare(turn, total))
      .filter((info) => info.isOwn || info.paused || !isSet),
    ...(names.length > limit && { next: shown.at(-1)! }),
    ...(Object.keys(each).length > 0 && { each }),
    ungrouped,
    ...(ungrouped > 0 && { ungroupedFairShare: shareOf(1, total) }),
    ...(slowest && { slowest }),
  };
}

async function findSlowest(
  { client, offset }: Pick<Context, "client" | "offset">,
  queue: string,
  queued: readonly string[],
): Promise<SlowestGroup | undefined> {
  let slowest: SlowestGroup | undefined;
  const names = queued.slice(0, MAX_COUNTED_GROUPS);
  for (let from = 0; from < names.length;) {
    const some = names.slice(from, from + MAX_COUNTED);
    const [count, name, latencyMs] = await client.run(SCRIPTS.slowestGroup, {
      now: offset(),
      queue,
      maxBytes: MAX_BATCH_BYTES,
      groups: some,
    }) as [number, string?, number?];
    from += count;
    if (name !== undefined && latencyMs! > (slowest?.latencyMs ?? -1)) slowest = { name, latencyMs: latencyMs! };
  }
  return slowest;
}

/** The text of a limit that has a weight. */
const WEIGHTED = /^\d+ \d+ \d+ [1-9]/;

/** Returns the texts of the limits of a queue's groups; that of each group under "". */
async function readLimits(client: ReconnectingClient, queue: string): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  let cursor: string | undefined;
  while (cursor !== "0") {
    const scan = ["HSCAN", groupsKey("limits", queue), cursor ?? "0", "COUNT", MAX_SCANNED];
    const [next, fields] = await client.call(scan) as [string, string[]];
    for (let i = 0; i < fields.length; i += 2) texts.set(fields[i]!, fields[i + 1]!);
    cursor = next;
  }
  return texts;
}

/** Reads groups of a queue, and what holds for each group. */
async function readTurns(
  { client, offset }: Pick<Context, "client" | "offset">,
  queue: string,
  names: readonly string[],
  running: ReadonlyMap<string, number>,
): Promise<{ readonly each: GroupLimit; readonly ungrouped: number; readonly turns: readonly Turn[] }> {
  const read = (some: readonly string[]) =>
    client.run(SCRIPTS.readGroupRows, { now: offset(), queue, maxBytes: MAX_BATCH_BYTES, groups: some }) as Promise<
      Row[]
    >;
  const [[ungrouped, weight, , , , ...parts]] = await read([""]) as [Row];
  const turns: Turn[] = [];
  while (turns.length < names.length) {
    const some = names.slice(turns.length, turns.length + MAX_READ);
    for (const [i, row] of (await read(some)).entries()) {
      turns.push({ info: infoOf(some[i]!, row, running.get(some[i]!) ?? 0), isReady: row[12] === 1 });
    }
  }
  return {
    each: { ...limitIn(parts), ...(Number(weight) !== 1 && { weight: Number(weight) }) },
    ungrouped,
    turns,
  };
}

/** Returns the `count` largest groups of each of the queues that has jobs in groups. */
export async function readLargest(
  { client }: Context,
  queues: readonly string[],
  count: number,
): Promise<ReadonlyMap<string, LargestGroups>> {
  const [grouped, running] = await Promise.all([groupedQueues(client, queues), runningGroups(client)]);
  const read = async (queue: string): Promise<[string, LargestGroups]> => {
    const names = await queuedGroups(client, queue, MAX_COUNTED_GROUPS);
    const sizes = new Map<string, number>();
    for (let from = 0; from < names.length; from += MAX_COUNTED) {
      const some = names.slice(from, from + MAX_COUNTED);
      const lengths = await Promise.all(some.map((group) => client.call(["LLEN", listKey({ queue, group })])));
      some.forEach((group, i) => sizes.set(group, lengths[i] as number));
    }
    const total = Number(await client.call(["HGET", groupsKey("state", queue), "size"])) || 0;
    return [queue, largestOf({ sizes, total, running: running.get(queue) ?? new Map() }, count)];
  };
  return new Map(await Promise.all(queues.filter((name) => grouped.includes(name) || running.has(name)).map(read)));
}

/** Returns the groups of a queue that have jobs, in no particular order; `max` of them if there are more. */
export async function queuedGroups(client: ReconnectingClient, queue: string, max = Infinity): Promise<string[]> {
  const names = new Set<string>();
  // A group may change between ready and held during the scan. The third pass finds it in at least one of them.
  for (const state of ["ready", "held", "ready", "aside"] as const) {
    let cursor: string | undefined;
    while (cursor !== "0" && names.size < max) {
      const scan = ["ZSCAN", groupsKey(state, queue), cursor ?? "0", "COUNT", MAX_SCANNED];
      const [next, members] = await client.call(scan) as [string, string[]];
      for (let i = 0; i < members.length; i += 2) names.add(members[i]!);
      cursor = next;
    }
  }
  return [...names];
}

/** Returns those of the queues that have jobs in groups, or limits for groups. */
export async function groupedQueues(client: ReconnectingClient, queues: readonly string[]): Promise<string[]> {
  if (queues.length === 0) return [];
  const texts = await client.call(["HMGET", LIMITS, ...queues]) as (string | null)[];
  return queues.filter((_, i) => texts[i]?.endsWith(" g"));
}

/** Returns the running jobs of each group of a queue. */
async function countRunning(client: ReconnectingClient, queue: string): Promise<ReadonlyMap<string, number>> {
  return (await runningGroups(client)).get(queue) ?? new Map();
}

/** Returns the running jobs of groups, by queue and group. */
async function runningGroups(client: ReconnectingClient): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
  const queues = new Map<string, Map<string, number>>();
  const all = await Promise.all((await readWorkers(client)).map((worker) => readTokens(client, worker)));
  for (const token of all.flat()) {
    const { queue, group } = splitName(queueOf(token));
    if (group === undefined) continue;
    const counts = queues.get(queue) ?? new Map<string, number>();
    queues.set(queue, counts.set(group, (counts.get(group) ?? 0) + 1));
  }
  return queues;
}

/** A row that the script returns for a group. */
type Row = [
  size: number,
  weight: string,
  endsInMs: number,
  isOwn: 0 | 1 | 2,
  paused: number,
  running: number,
  starts: number,
  perMs: number,
  opensInMs: number,
  taken: number,
  started: number,
  latencyMs: number,
  isReady: 0 | 1,
];

function limitIn([running, starts, perMs]: readonly number[]): GroupLimit | undefined {
  if (!running && !starts) return undefined;
  return { ...(running && { running }), ...(starts && { starts: { count: starts, perMs: perMs! } }) };
}

function infoOf(name: string, [size, weight, endsInMs, isOwn, paused, ...parts]: Row, running: number): GroupInfo {
  const limit = limitIn(parts);
  const [, , , opensInMs, taken, started, latencyMs] = parts;
  return {
    name,
    size,
    latencyMs,
    running,
    weight: Number(weight),
    ...(limit && { limit: { ...limit, taken, started, freeInMs: opensInMs < 0 ? undefined : opensInMs } }),
    isOwn: isOwn > 0,
    ...(isOwn === 2 && { sharesLimit: true as const }),
    ...(endsInMs > 0 && { endsInMs }),
    paused: paused !== 0,
    ...(paused > 0 && { pausedForMs: paused }),
  };
}
