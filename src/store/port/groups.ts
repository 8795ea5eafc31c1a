/**
 * Groups of a queue: jobs with the same `group` in their payload, for example those of one customer. A worker takes from the
 * groups of a queue in turn, so that a million jobs of one group don't delay the others. A limit may apply to each group: "at
 * most 2 exports at a time per customer".
 *
 * Turns use start-time fair queueing. Each group has a tag, its virtual time. The group with the lowest tag is next, and each
 * job taken adds 1/weight to its tag. A group that was idle or at its limit continues at the queue's virtual time: it doesn't
 * catch up. The jobs of the queue without a group are one group among the others, with weight 1. The jobs of a priority are
 * stored as a group with a reserved name and a fixed weight, without a limit. The jobs that wait aside for a worker with their class
 * (`job/aside.ts`) are stored so, too: such a place has no turns, and only workers with its class take from it.
 *
 * A group with jobs is *ready* (it has room, or that is unknown) or *held* (at its limit, or paused). A held group costs the
 * others nothing. It becomes ready when one of its leases ends, however that happens, or when its period or pause has passed. Slots are
 * existing leases, so that no crash can leak one.
 *
 * @module
 */
import { isGroup } from "../../job/group.ts";
import { isPriority, laneOf } from "../../job/priority.ts";
import { getField } from "../../job/raw.ts";
import { queueNamedIn } from "../../job/payload_edits.ts";
import type { LimitInfo, QueueLimit } from "./limits.ts";

/** Maximum weight of a group. */
export const MAX_WEIGHT = 1_000;
/** A take gives a group at most this many jobs per unit of its weight before the next group has its turn. */
export const MAX_QUANTUM = 100;

/** The limit of one group, or of each group of a queue. */
export interface GroupLimit extends QueueLimit {
  /** Share of the queue relative to other groups, 1 to {@linkcode MAX_WEIGHT}. Default 1. */
  readonly weight?: number;
  /** Milliseconds until the limit of one group ends, and that of each group applies again. Default: never. */
  readonly forMs?: number;
}

/** A group of a queue that has jobs, a separate limit or a pause. */
export interface GroupInfo {
  /** Its name. */
  readonly name: string;
  /** Jobs in the queue. */
  readonly size: number;
  /** How long its oldest job has been queued, in milliseconds; 0 without one, or if unknown. */
  readonly latencyMs: number;
  /** Jobs running now. */
  readonly running: number;
  /** Its weight. */
  readonly weight: number;
  /**
   * The part of the queue's next jobs that its weight gives it, 0 to 1 (`fair_shares.ts`); not measured. Absent if it has no
   * turns: no queued jobs, at its limit, or paused.
   */
  readonly fairShare?: number;
  /** Its limit, and how much of it is used; absent if it has none. */
  readonly limit?: LimitInfo;
  /** Whether it has a separate limit or weight; false: what holds for each group of the queue applies. */
  readonly isOwn: boolean;
  /** Present if just its weight is separate: `limit` is that of each group. */
  readonly sharesLimit?: true;
  /** Milliseconds until its separate limit ends; absent if it doesn't. */
  readonly endsInMs?: number;
  /** Whether it is paused. */
  readonly paused: boolean;
  /** Milliseconds until the pause ends; absent if it has no end. */
  readonly pausedForMs?: number;
}

/** Groups of a queue, by name. */
export interface GroupPage {
  /** At most `limit` groups. */
  readonly groups: readonly GroupInfo[];
  /** Pass it to get the next page; absent on the last. */
  readonly next?: string;
  /** The limit of each group without a separate one; absent if the queue has none. */
  readonly each?: GroupLimit;
  /** Jobs in the queue that have no group. */
  readonly ungrouped: number;
  /** Their fair share next to that of the groups, 0 to 1; absent without any. */
  readonly ungroupedFairShare?: number;
  /** The group whose oldest job has been queued for the longest time, if it was requested and known. */
  readonly slowest?: SlowestGroup;
}

/** The group of a queue whose oldest job has been queued for the longest time. */
export type SlowestGroup = Pick<GroupInfo, "name" | "latencyMs">;

/** The groups of a queue with the most jobs. */
export interface LargestGroups {
  /** The largest first: by queued jobs, then by running ones, then by name. */
  readonly largest: readonly GroupSize[];
  /** All others together. */
  readonly others: Omit<GroupSize, "name">;
}

/** The jobs of a group. */
export interface GroupSize {
  /** Its name. */
  readonly name: string;
  /** Jobs in the queue. */
  readonly size: number;
  /** Jobs running now. */
  readonly running: number;
}

/** Groups are counted and compared up to this number: more must not hold the store. */
export const MAX_COUNTED_GROUPS = 10_000;

/** Returns the `count` largest groups of a queue. @param counts `total`: queued jobs of all its groups */
export function largestOf(
  { sizes, total, running }: {
    readonly sizes: ReadonlyMap<string, number>;
    readonly total: number;
    readonly running: ReadonlyMap<string, number>;
  },
  count: number,
): LargestGroups {
  const largest = [...new Set([...sizes.keys(), ...running.keys()])]
    .map((name) => ({ name, size: sizes.get(name) ?? 0, running: running.get(name) ?? 0 }))
    .sort((a, b) => b.size - a.size || b.running - a.running || (a.name < b.name ? -1 : 1))
    .slice(0, count);
  const sum = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0);
  return {
    largest,
    others: {
      // The counts are read one after the other, while jobs come and go.
      size: Math.max(0, total - sum(largest.map(({ size }) => size))),
      running: Math.max(0, sum(running.values()) - sum(largest.map((group) => group.running))),
    },
  };
}

/** Which groups to read. */
export interface GroupRequest {
  /** Only this group. It is returned even if it has no jobs, separate limit or pause. */
  readonly group?: string;
  /** Only groups with a separate limit or a pause. A page may have fewer than `limit` of them. Default false. */
  readonly isSet?: boolean;
  /** Also finds the slowest of all groups, among at most {@linkcode MAX_COUNTED_GROUPS}. Not with the options above. Default false. */
  readonly withSlowest?: boolean;
  /** From the page before; absent for the first. */
  readonly cursor?: string;
  /** Maximum number of groups. Default 25. */
  readonly limit?: number;
}

/** Returns the separate limit of a group; without any part if it has none. */
export function separateLimit({ isOwn, sharesLimit, limit, weight, endsInMs }: GroupInfo): GroupLimit {
  if (!isOwn) return {};
  const { running, starts } = (sharesLimit ? undefined : limit) ?? {};
  return {
    ...(running !== undefined && { running }),
    ...(starts !== undefined && { starts }),
    ...(weight !== 1 && { weight }),
    ...(endsInMs !== undefined && { forMs: endsInMs }),
  };
}

const SEPARATOR = "|";

/** Returns the name under which adapters store the jobs of a group: `QUEUE|GROUP`. Names of queues have no `|`. */
export function nameOf(queue: string, group: string | undefined): string {
  return group === undefined ? queue : `${queue}${SEPARATOR}${group}`;
}

/** Returns queue and group of such a name. */
export function splitName(name: string): { readonly queue: string; readonly group?: string } {
  const at = name.indexOf(SEPARATOR);
  return at < 0 ? { queue: name } : { queue: name.slice(0, at), group: name.slice(at + 1) };
}

/** Returns the name of the queue, or of the group in it, that a payload names. */
export function nameIn(payload: string, queue: string = queueNamedIn(payload)): string {
  return nameOf(queue, groupNamedIn(payload));
}

/** Returns the group that a payload names, or that of its priority; undefined without a valid one. */
function groupNamedIn(payload: string): string | undefined {
  const group = payload.includes('"group"') ? getField(payload, "group") : undefined;
  if (isGroup(group)) return group;
  const priority = payload.includes('"priority"') ? getField(payload, "priority") : undefined;
  return isPriority(priority) && priority !== "normal" ? laneOf(priority) : undefined;
}
