/**
 * All pairs of verbs, and what is wrong with them.
 *
 * @module
 */
import { difference, type Explorer, type Outcome, type Point, type Touched } from "./explorer.ts";
import type { Random } from "../soak/random.ts";
import { VERBS } from "./verbs.ts";

/** The result of the exploration of a pair. */
export interface Explored {
  /** The points at which the first verb was stopped. */
  readonly points: number;
  /** The first wrong outcome: the point, and the rows that differ from the closest order. */
  readonly wrong?: string;
}

/** Returns all pairs of different verbs, each once. */
export function allPairs(): [string, string][] {
  const names = Object.keys(VERBS);
  return names.flatMap((one, i) => names.slice(i).map((other): [string, string] => [one, other]));
}

/** Returns the outcomes of both orders. */
export async function bothOrders(explorer: Explorer, pair: readonly [string, string]): Promise<Outcome[]> {
  return [await explorer.serial(pair, [0, 1]), await explorer.serial(pair, [1, 0])];
}

/** Finds verbs whose rows have nothing to do with each other. */
export class Independence {
  readonly #explorer: Explorer;
  readonly #tables = new Map<string, Touched>();
  readonly #alone = new Map<string, Promise<Outcome>>();

  constructor(explorer: Explorer) {
    this.#explorer = explorer;
  }

  /**
   * Returns the outcomes of both orders; undefined if no interleaving can differ: alone, each verb changes other rows than the other, and
   * in both orders it has the same result and changes the same rows.
   */
  async orders(one: string, other: string): Promise<readonly Outcome[] | undefined> {
    if (one !== other && !(await this.#shareTable(one, other))) return undefined;
    const orders = await bothOrders(this.#explorer, [one, other]);
    const base = await this.#aloneOf("");
    const [first, second] = [await this.#aloneOf(one), await this.#aloneOf(other)];
    const changesOf = ({ rows }: Outcome) => difference({ ...base, results: [] }, { results: [], rows });
    const [changes, others] = [changesOf(first), changesOf(second)];
    const isShared = changes.some((line) => line.startsWith("- ") && others.includes(line));
    const expected = [...changes, ...others].sort().join("\n");
    const isSame = orders.every((order) =>
      changesOf(order).sort().join("\n") === expected &&
      order.results[0] === first.results[0] && order.results[1] === second.results[0]
    );
    return isSame && !isShared ? undefined : orders;
  }

  /** Returns whether one of them writes a table that the other one reads or writes. */
  async #shareTable(...names: readonly [string, string]): Promise<boolean> {
    for (const name of names) {
      if (!this.#tables.has(name)) this.#tables.set(name, await this.#explorer.touched(name));
    }
    const [one, other] = names.map((name) => this.#tables.get(name)!);
    const meets = (a: Touched, b: Touched) => [...a.writes].some((table) => b.writes.has(table) || b.reads.has(table));
    return meets(one!, other!) || meets(other!, one!);
  }

  #aloneOf(name: string): Promise<Outcome> {
    const known = this.#alone.get(name) ?? this.#explorer.serial(name === "" ? [] : [name]);
    this.#alone.set(name, known);
    return known;
  }
}

/** Stops the first verb at each of its points. */
export async function explore(
  explorer: Explorer,
  [first, second]: readonly [string, string],
  given?: readonly Outcome[],
  kinds: readonly Point["before"][] = ["statement", "write"],
): Promise<Explored> {
  const orders = given ?? await bothOrders(explorer, [first, second]);
  let points = 0;
  for (const before of kinds) {
    for (let number = 0;; number++) {
      const point: Point = { before, number };
      const outcome = await explorer.interleave(first, second, point);
      if (outcome === undefined) break;
      points++;
      const where = `"${first}" stopped before ${before} ${number + 1} for "${second}", which ${
        outcome.waited ? "waited" : "ended"
      }`;
      if (outcome.deadlocked) return { points, wrong: `${where}: they waited for each other` };
      const [closest] = orders.map((order) => difference(order, outcome)).sort((a, b) => a.length - b.length);
      if (closest!.length > 0) return { points, wrong: `${where}:\n${closest!.join("\n")}` };
    }
  }
  return { points };
}

/** Returns what is wrong with three verbs that are stopped at random; undefined if their outcome is that of one of the six orders. */
export async function exploreThree(explorer: Explorer, random: Random): Promise<string | undefined> {
  const names = Object.keys(VERBS);
  const pick = () => names[random.between(0, names.length - 1)]!;
  const three = [pick(), pick(), pick()] as const;
  const stops = [random.between(1, 8), random.between(1, 8)] as const;
  const outcome = await explorer.three(three, stops);
  let closest: string[] | undefined;
  for (const order of [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]) {
    const lines = difference(await explorer.serial(three, order), outcome);
    if (lines.length === 0) return undefined;
    if (closest === undefined || lines.length < closest.length) closest = lines;
  }
  const [first, second, third] = three;
  return `"${first}" stopped before statement ${stops[0] + 1}, "${second}" before ${stops[1] + 1}, "${third}":\n${
    closest!.join("\n")
  }`;
}

/** Explores pairs in both roles. @param onWrong receives each wrong outcome at once */
export async function explorePairs(
  explorer: Explorer,
  pairs: readonly (readonly [string, string])[],
  onWrong: (wrong: string) => void = () => {},
): Promise<{ readonly dependent: number; readonly points: number; readonly wrong: string[] }> {
  const independence = new Independence(explorer);
  const wrong: string[] = [];
  let [dependent, points] = [0, 0];
  for (const [one, other] of pairs) {
    const orders = await independence.orders(one, other);
    if (orders === undefined) continue;
    dependent++;
    const reversed = orders.map(({ results, rows }) => ({ results: results.toReversed(), rows }));
    const roles = one === other ? [orders] : [orders, reversed];
    for (const [i, given] of roles.entries()) {
      const explored = await explore(explorer, i === 0 ? [one, other] : [other, one], given);
      points += explored.points;
      if (explored.wrong === undefined) continue;
      wrong.push(explored.wrong);
      onWrong(explored.wrong);
    }
  }
  return { dependent, points, wrong };
}
