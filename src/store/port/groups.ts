/**
 * Groups of a queue: jobs with the same `group` in their payload, for example those of one customer. A worker takes from
 * the groups of a queue in turn, so that a million jobs of one don't hold up the others, and a limit may hold for each of
 * them: "at most 2 exports at a time per customer".
 *
 * Turns are start-time fair queueing. Each group has a tag, its virtual time; the group with the lowest is next, and each
 * job taken adds 1/weight to it. A group that comes back from being idle or at its limit continues at the queue's virtual
 * time: it has saved up nothing. The jobs of the queue without a group are one group among the others, of weight 1.
 *
 * A group with jobs is *ready* (it has room, or it is unknown whether it has) or *held* (at its limit). A full group is held,
 * so it costs the others nothing. It becomes ready when one of its leases ends, however that happens, or when its time has
 * come. Slots are leases, counted from what exists, so no crash can leak one.
 *
 * @module
 */
import { isGroup } from "../../job/group.ts";
import { getField } from "../../job/raw.ts";
import { queueNamedIn } from "../../job/payload_edits.ts";
import type { LimitInfo, QueueLimit } from "./limits.ts";

/** Maximum weight of a group. */
export const MAX_WEIGHT = 1_000;
/** A take gives a group at most this many jobs per unit of its weight before the next group has its turn. */
export const MAX_QUANTUM = 100;

/** The limit of one group, or of each group of a queue. */
export interface GroupLimit extends QueueLimit {
  /** Share of the queue in relation to other groups, 1 to {@linkcode MAX_WEIGHT}. Default 1. */
  readonly weight?: number;
  /** Milliseconds until the limit of one group ends by itself, and that of each group applies again. Default: never. */
  readonly forMs?: number;
}

/** One group of a queue that has jobs or a limit of its own. */
export interface GroupInfo {
  /** Its name. */
  readonly name: string;
  /** Jobs in the queue. */
  readonly size: number;
  /** Jobs running now. */
  readonly running: number;
  /** Its weight. */
  readonly weight: number;
  /** Its limit, and how much of it is used; absent when it has none. */
  readonly limit?: LimitInfo;
  /** Whether the limit is its own; false: that of each group of the queue. */
  readonly isOwn: boolean;
  /** Milliseconds until its own limit ends; absent when it doesn't. */
  readonly endsInMs?: number;
}

/** Groups of a queue, by name. */
export interface GroupPage {
  /** At most as many as asked for. */
  readonly groups: readonly GroupInfo[];
  /** Pass it to get the next page; absent on the last. */
  readonly next?: string;
  /** The limit that applies to each group without one of its own; absent without one. */
  readonly each?: GroupLimit;
  /** Jobs in the queue that have no group. */
  readonly ungrouped: number;
}

/** Which groups to read. */
export interface GroupRequest {
  /** Only this group. It is returned even if it has neither jobs nor a limit of its own. */
  readonly group?: string;
  /** From the page before; absent for the first. */
  readonly cursor?: string;
  /** Maximum number of groups. Default 25. */
  readonly limit?: number;
}

const SEPARATOR = "|";

/** The name under which an adapter keeps a group as a queue of its own: `QUEUE|GROUP`. No queue of ours has a `|`. */
export function nameOf(queue: string, group: string | undefined): string {
  return group === undefined ? queue : `${queue}${SEPARATOR}${group}`;
}

/** Queue and group of such a name. */
export function splitName(name: string): { readonly queue: string; readonly group?: string } {
  const at = name.indexOf(SEPARATOR);
  return at < 0 ? { queue: name } : { queue: name.slice(0, at), group: name.slice(at + 1) };
}

/** The name of the queue, or of the group in it, that a payload names. */
export function nameIn(payload: string, queue: string = queueNamedIn(payload)): string {
  return nameOf(queue, groupNamedIn(payload));
}

/** The group that a payload names; undefined without one. Anything but a valid name is none. */
export function groupNamedIn(payload: string): string | undefined {
  if (!payload.includes('"group"')) return undefined;
  const group = getField(payload, "group");
  return isGroup(group) ? group : undefined;
}
