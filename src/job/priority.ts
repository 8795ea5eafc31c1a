/**
 * The `priority` option. Jobs of a queue with the same priority are stored together, like a group with a fixed weight
 * (`store/port/groups.ts`): workers take from the priorities in turn, in proportion to their weights. So no priority starves.
 *
 * @module
 */

/** A priority other than `normal`. */
export type RaisedOrLowered = "high" | "low";
export type Priority = RaisedOrLowered | "normal";

/** The accepted values; completes "expected …". */
export const PRIORITY_EXPECTED = "high, normal or low";

/**
 * The share of the queue of each priority. Jobs without a priority or group together have 1, as has each group without a
 * weight. `redis/lua/limits.lua` has the same numbers.
 */
export const PRIORITY_WEIGHTS: Readonly<Record<RaisedOrLowered, number>> = { high: 10, low: 0.1 };

/**
 * Jobs of high priority have their turn before groups whose virtual time is up to this much lower. With a weight of 10, a job
 * that arrives goes ahead of all jobs that wait, for up to 10 jobs until each of the others has had its turn.
 */
export const HEAD_START = 1;

/** No group has a name that begins with it. */
const MARK = "|";

/** Returns whether the option accepts a value. */
export function isPriority(value: unknown): value is Priority {
  return value === "high" || value === "normal" || value === "low";
}

/** Returns the name of the group in which the jobs of a priority are stored. */
export function laneOf(priority: RaisedOrLowered): string {
  return MARK + priority;
}

/** Returns the priority whose jobs are stored in this group; undefined for other groups. */
export function priorityIn(group: string): RaisedOrLowered | undefined {
  return group === "|high" ? "high" : group === "|low" ? "low" : undefined;
}

/** Returns whether a name can't be that of a group, because it is reserved for priorities. */
export function isReserved(group: string): boolean {
  return group.startsWith(MARK);
}
