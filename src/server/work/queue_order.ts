/**
 * The order in which jobs are taken from queues, by their weights, as in Sidekiq:
 *
 * - no weights: strict, always in the given order;
 * - all weights 1: random;
 * - otherwise weighted: a queue of weight 3 comes before one of weight 1 in three of four takes.
 *
 * @module
 */
import type { QueueWeight } from "../../config/kinds.ts";

/** Returns the order for the next take. */
export type QueueOrder = () => readonly string[];

/**
 * Returns an order.
 *
 * @param random returns a number from 0 to 1, for the weighted draw
 */
export function queueOrder(queues: readonly QueueWeight[], random: () => number = Math.random): QueueOrder {
  const names = [...new Set(queues.map((queue) => queue.name))];
  if (queues.every((queue) => queue.weight === 0)) return () => names;
  // Among weighted queues, the weight of one without is 1. The weights of a repeated name add up.
  const weights = new Map<string, number>();
  for (const { name, weight } of queues) weights.set(name, (weights.get(name) ?? 0) + Math.max(1, weight));
  if (names.length === 1) return () => names;
  return () => draw(weights, random);
}

/** Draws all names in sequence, each time by weight among the remaining ones. */
function draw(weights: ReadonlyMap<string, number>, random: () => number): string[] {
  // One exponential variate per name, smallest first, is the same distribution as drawing without replacement.
  const keys = [...weights].map(([name, weight]) => ({ name, key: -Math.log(1 - random()) / weight }));
  return keys.sort((a, b) => a.key - b.key).map((one) => one.name);
}

/** Returns the queues of the settings; without any, `default` and the queues that handlers name. */
export function chooseQueues(set: readonly QueueWeight[], named: readonly string[]): readonly QueueWeight[] {
  if (set.length > 0) return set;
  return [...new Set(["default", ...named])].map((name) => ({ name, weight: 0 }));
}

/** Formats queues for the log: `critical,3 default`. */
export function formatQueues(queues: readonly QueueWeight[]): string {
  return queues.map(({ name, weight }) => weight > 0 ? `${name},${weight}` : name).join(" ");
}
