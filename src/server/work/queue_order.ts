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
import { WEBHOOK_QUEUE } from "../../job/webhook.ts";

/** Returns the order for the next take. It is drawn while it is read: a take of many queues usually reads the first ones. */
export type QueueOrder = () => Iterable<string>;

/** Queues of one weight. */
interface WeightClass {
  readonly weight: number;
  readonly names: readonly string[];
}

/**
 * Returns an order.
 *
 * @param random returns a number from 0 to 1, for the weighted draw
 */
export function queueOrder(queues: readonly QueueWeight[], random: () => number = Math.random): QueueOrder {
  const names = [...new Set(queues.map((queue) => queue.name))];
  if (queues.every((queue) => queue.weight === 0)) return () => names;
  // Among weighted queues, a queue without a weight has the weight 1. The weights of a repeated name add up.
  const weights = new Map<string, number>();
  for (const { name, weight } of queues) weights.set(name, (weights.get(name) ?? 0) + Math.max(1, weight));
  if (names.length === 1) return () => names;
  const classes = [...Map.groupBy(names, (name) => weights.get(name)!)].map(([weight, names]) => ({ weight, names }));
  return () => draw(classes, random);
}

/** Splits an order into parts of this many names. */
export function* partsOf(order: Iterable<string>, size: number): Generator<string[]> {
  let part: string[] = [];
  for (const name of order) {
    part.push(name);
    if (part.length < size) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}

/** Draws the names in sequence, each time by weight among the remaining ones: first a class, then one of its names. */
function* draw(classes: readonly WeightClass[], random: () => number): Generator<string> {
  const remaining = classes.map(({ weight, names }) => ({ weight, names: [...names] }));
  for (;;) {
    const shares = remaining.map(({ weight, names }) => weight * names.length);
    const total = shares.reduce((sum, share) => sum + share, 0);
    if (total === 0) return;
    let at = random() * total;
    let drawn = shares.findLastIndex((share) => share > 0);
    for (const [i, share] of shares.entries()) {
      if (at < share) {
        drawn = i;
        break;
      }
      at -= share;
    }
    const { names } = remaining[drawn]!;
    const chosen = Math.min(names.length - 1, Math.floor(random() * names.length));
    const last = names.pop()!;
    if (chosen === names.length) yield last;
    else {
      yield names[chosen]!;
      names[chosen] = last;
    }
  }
}

/**
 * Returns the queues of the settings; without any, `default` and the queues that handlers name. A worker with webhooks also takes
 * their jobs, in strict order after all others.
 */
export function chooseQueues(set: readonly QueueWeight[], named: readonly string[]): readonly QueueWeight[] {
  if (set.length > 0) {
    if (!named.includes(WEBHOOK_QUEUE) || set.some(({ name }) => name === WEBHOOK_QUEUE)) return set;
    return [...set, { name: WEBHOOK_QUEUE, weight: 0 }];
  }
  return [...new Set(["default", ...named])].map((name) => ({ name, weight: 0 }));
}

/** Formats queues for the log: `critical,3 default`. */
export function formatQueues(queues: readonly QueueWeight[]): string {
  return queues.map(({ name, weight }) => weight > 0 ? `${name},${weight}` : name).join(" ");
}
