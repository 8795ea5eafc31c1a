/**
 * In which order a fetch looks into the queues, by their weights, as Sidekiq has it:
 *
 * - no weights: strict, in the order given, every time;
 * - all weights 1: random;
 * - else weighted: a queue of weight 3 comes before one of weight 1 in three fetches of four.
 *
 * @module
 */
import type { QueueWeight } from "../../config/kinds.ts";

/** Gives the order for the next fetch. */
export type QueueOrder = () => readonly string[];

/**
 * @param random a number from 0 up to 1, for the weighted draw
 */
export function queueOrder(queues: readonly QueueWeight[], random: () => number = Math.random): QueueOrder {
  const names = [...new Set(queues.map((queue) => queue.name))];
  if (queues.every((queue) => queue.weight === 0)) return () => names;
  // Beside weighted queues, one without a weight weighs 1. A name given twice counts twice.
  const weights = new Map<string, number>();
  for (const { name, weight } of queues) weights.set(name, (weights.get(name) ?? 0) + Math.max(1, weight));
  if (names.length === 1) return () => names;
  return () => draw(weights, random);
}

/** Draws all names one after the other, each time by weight among those that are left. */
function draw(weights: ReadonlyMap<string, number>, random: () => number): string[] {
  // One exponential variate per name, smallest first, is the same distribution as drawing without replacement.
  const keys = [...weights].map(([name, weight]) => ({ name, key: -Math.log(1 - random()) / weight }));
  return keys.sort((a, b) => a.key - b.key).map((one) => one.name);
}

/** The queues as set; else `default` and those that handlers name. */
export function chooseQueues(set: readonly QueueWeight[], named: readonly string[]): readonly QueueWeight[] {
  if (set.length > 0) return set;
  return [...new Set(["default", ...named])].map((name) => ({ name, weight: 0 }));
}

/** Formats queues for the log: `critical,3 default`. */
export function formatQueues(queues: readonly QueueWeight[]): string {
  return queues.map(({ name, weight }) => weight > 0 ? `${name},${weight}` : name).join(" ");
}
