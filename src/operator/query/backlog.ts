/**
 * How a queue that is behind moves: the jobs that come and leave per second, and the group that most of them belong to.
 *
 * @module
 */
import { isGroup } from "../../job/group.ts";
import { getField, readWireTime } from "../../job/raw.ts";
import type { AdminStore, QueueInfo } from "../../store/admin/admin.ts";
import type { Entry } from "../../store/port/entries.ts";
import type { GroupInfo } from "../../store/port/groups.ts";

/** The newest jobs of a queue that are counted. */
const MAX_NEWEST = 200;
/** Groups of a queue, in the order of their names, whose waits are compared. */
const MAX_GROUPS = 100;
/** A group with this share of a queue's jobs floods it. */
const FLOOD_SHARE = 0.8;
/** The times that rates are of. */
export const MIN_SPAN_MS = 1_000;
export const MAX_SPAN_MS = 60_000;

/** The sizes of queues at one moment. */
export interface QueueSizes {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Jobs by queue, those without jobs left out; absent if they weren't kept. */
  readonly queues?: ReadonlyMap<string, number>;
}

/** Returns the sizes of queues with jobs. */
export function queueSizes(queues: readonly Pick<QueueInfo, "name" | "size">[]): ReadonlyMap<string, number> {
  return new Map(queues.filter(({ size }) => size > 0).map(({ name, size }) => [name, size]));
}

/** How a queue moves. */
export interface Backlog {
  /** Jobs per second over a time, if they are known. */
  readonly rates?: { readonly in: number; readonly out: number; readonly overMs: number };
  /** The group of most of its jobs, if there is one, and how long the oldest job of the others waits, if that is known. */
  readonly flood?: { readonly group: GroupInfo; readonly othersWaitMs?: number };
}

/**
 * Reads how a queue moves. Three round trips at once.
 *
 * @param sizes of the last minutes, the earliest first
 */
export async function readBacklog(
  admin: Pick<AdminStore, "page" | "groups">,
  queue: QueueInfo,
  sizes: readonly QueueSizes[],
  now: number,
): Promise<Backlog> {
  const place = { in: "queue", queue: queue.name } as const;
  const [oldest, newest, { groups, ungrouped, next }] = await Promise.all([
    admin.page(place, { limit: 1 }),
    admin.page(place, { limit: MAX_NEWEST, reverse: true }),
    admin.groups(queue.name, { limit: MAX_GROUPS }),
  ]);
  const before = sizes.find(({ at, queues }) => queues !== undefined && now - at <= MAX_SPAN_MS);
  const rates = before && ratesOf(queue, oldest.entries[0], newest.entries, { before, now });
  const flood = floodOf(queue, groups, next === undefined && ungrouped === 0);
  return { ...(rates && { rates }), ...(flood && { flood }) };
}

/** Jobs leave at the rate at which they come, less the growth of the queue. */
function ratesOf(
  queue: QueueInfo,
  oldest: Entry | undefined,
  newest: readonly Entry[],
  { before, now }: { readonly before: QueueSizes; readonly now: number },
): Backlog["rates"] {
  const overMs = now - before.at;
  const [first, ...times] = [oldest, ...newest].map((entry) => entry && enqueuedAt(entry));
  if (overMs < MIN_SPAN_MS || first === undefined || times.length === 0) return undefined;
  // By the store's clock, as the times are. Those of groups, or of returned jobs, aren't in order.
  const storeNow = first + queue.latencyMs;
  const isInOrder = times.every((at, i) => at !== undefined && (i === 0 || at <= times[i - 1]!));
  if (!isInOrder) return undefined;
  const recent = times.filter((at) => at! > storeNow - overMs);
  const isCounted = recent.length < times.length || times.length === queue.size;
  const arriving = isCounted
    ? recent.length * 1_000 / overMs
    : recent.length * 1_000 / Math.max(1, storeNow - times.at(-1)!);
  const growth = (queue.size - (before.queues!.get(queue.name) ?? 0)) * 1_000 / overMs;
  return { in: arriving, out: Math.max(0, arriving - growth), overMs };
}

function enqueuedAt({ payload }: Entry): number | undefined {
  try {
    return readWireTime(getField(payload, "enqueued_at"));
  } catch {
    return undefined;
  }
}

function floodOf({ size }: QueueInfo, groups: readonly GroupInfo[], isWhole: boolean): Backlog["flood"] {
  const [group, ...others] = groups.toSorted((a, b) => b.size - a.size);
  // Jobs of a priority, and jobs that wait for their class, are groups with reserved names.
  if (group === undefined || !isGroup(group.name)) return undefined;
  if (group.size < FLOOD_SHARE * size || group.size === size) return undefined;
  return {
    group,
    // Jobs without a group, and groups that weren't read, may have waited for longer.
    ...(isWhole && { othersWaitMs: Math.max(0, ...others.map((other) => other.size > 0 ? other.latencyMs : 0)) }),
  };
}
