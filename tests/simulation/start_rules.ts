/**
 * The rule of limits of starts: within its period, a queue or a group starts no more jobs than its limit allows.
 *
 * @module
 */
import type { StartLimit } from "../../src/store/port/limits.ts";
import type { World } from "./world.ts";

/** The store counts whole milliseconds. */
const ROUNDING_MS = 2;

export class StartRules {
  readonly #world: World;
  readonly #limits = new Map<string, StartLimit>();
  /** When jobs were taken, by the name of their queue: `QUEUE`, or `QUEUE|GROUP`. */
  readonly #starts = new Map<string, number[]>();

  constructor(world: World) {
    this.#world = world;
  }

  /** The store has a limit from now on, or none that is known. That of a queue of groups is that of each group. */
  limited(queue: string, limit: StartLimit | undefined): void {
    if (limit === undefined) this.#limits.delete(queue);
    else this.#limits.set(queue, limit);
    this.forget();
  }

  /** The store has given jobs to a worker. */
  taken(name: string, count: number): void {
    const { time } = this.#world;
    const limit = this.#limits.get(name.split("|")[0]!);
    if (limit === undefined) return;
    const starts = this.#starts.getOrInsertComputed(name, () => []);
    starts.push(...Array<number>(count).fill(time));
    const within = starts.filter((start) => start > time - limit.perMs + ROUNDING_MS).length;
    if (within > limit.count) {
      this.#world.fail("limits of starts hold", `${within} jobs of ${name} in ${limit.perMs} ms`);
    }
  }

  /** Another limit counts from now on, or by another clock: those that have started before don't count. */
  forget(): void {
    this.#starts.clear();
  }

  /** The limits may be gone. */
  lost(): void {
    this.#limits.clear();
  }
}
