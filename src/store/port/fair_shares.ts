/**
 * Fair shares: which part of the next jobs of a queue each group gets, computed from weights. Nothing is measured: that would
 * take writes at each take.
 *
 * The shares are those of the groups that have turns now: with queued jobs, neither at their limit nor paused. The jobs
 * without a group are one of them, with weight 1, as are those of each priority, with theirs. A group that empties, fills up or
 * gets jobs changes the shares of all. With many groups, one that is at its limit of starts may count until its next turn.
 *
 * @module
 */
import type { GroupInfo } from "./groups.ts";

/** A group, and whether the store counts it among the ready ones. */
export interface Turn {
  readonly info: GroupInfo;
  readonly isReady: boolean;
}

/** The groups of a queue, as far as their weights matter. */
export interface Weights {
  /** The number of ready groups. */
  readonly ready: number;
  /** The weight of a group without a separate one. */
  readonly each: number;
  /** Jobs without a group. */
  readonly ungrouped: number;
  /** At least the groups with a separate weight, those that may be full, and the paused ones; each once. */
  readonly known: readonly Turn[];
}

/** Returns the sum of the weights of all that have turns. */
export function totalWeight({ ready, each, ungrouped, known }: Weights): number {
  const others = known.filter(({ isReady }) => isReady);
  const sum = known.reduce((sum, turn) => sum + (hasTurns(turn) ? turn.info.weight : 0), 0);
  // The numbers are read one after the other, while jobs come and go.
  return sum + Math.max(0, ready - others.length) * each + (ungrouped > 0 ? 1 : 0);
}

/** Returns the group with its fair share, if it has turns. */
export function withShare(turn: Turn, total: number): GroupInfo {
  return hasTurns(turn) ? { ...turn.info, fairShare: shareOf(turn.info.weight, total) } : turn.info;
}

/** Returns the share of a weight. The sum of weights isn't exact, so the share has 6 significant digits. */
export function shareOf(weight: number, total: number): number {
  return Number((weight / total).toPrecision(6));
}

/** Whether the group is ready, or will be at the next take. */
function hasTurns({ info: { size, limit, paused } }: Turn): boolean {
  return size > 0 && !paused && (limit === undefined || limit.freeInMs === 0);
}
