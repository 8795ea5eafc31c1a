/**
 * How many requests are answered at the same time: so many in all, fewer of one address. The others wait, a line for each
 * address; the lines take turns, so that nobody waits for all that somebody else has asked. Without it a few hundred
 * visitors who ask for the largest pages would have all of these in memory at once, and the event loop to themselves.
 *
 * @module
 */

/** How many. */
export interface Limits {
  /** Answered at the same time. */
  readonly atOnce: number;
  /** Of these, so many of one address: the others find a place at once. */
  readonly perAddress: number;
  /** So many of one address may wait; how many there are in all, the number of connections bounds. */
  readonly waiting: number;
}

const LIMITS: Limits = { atOnce: 6, perAddress: 4, waiting: 50 };

/** A place among those who are answered. */
interface Waiter {
  readonly enter: (place: Disposable | undefined) => void;
}

/** Lets so many in at a time. */
export class Limiter {
  readonly #limits: Limits;
  readonly #inside = new Map<string, number>();
  /** Those who wait, by address; the address whose turn is next comes first. */
  readonly #lines = new Map<string, Set<Waiter>>();
  #count = 0;

  /** @param limits what differs from the usual */
  constructor(limits: Partial<Limits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  /**
   * A place, as soon as there is one; undefined when too many of that address wait already, or when `signal` says that
   * it is no longer wanted.
   */
  enter(address: string, signal?: AbortSignal): Promise<Disposable | undefined> {
    if (signal?.aborted) return Promise.resolve(undefined);
    if (this.#hasPlace(address)) return Promise.resolve(this.#take(address));
    const line = this.#lines.get(address) ?? new Set();
    if (line.size >= this.#limits.waiting) return Promise.resolve(undefined);
    this.#lines.set(address, line);
    return new Promise((resolve) => {
      const goAway = () => {
        line.delete(waiter);
        if (line.size === 0) this.#lines.delete(address);
        resolve(undefined);
      };
      const waiter: Waiter = {
        enter: (place) => {
          signal?.removeEventListener("abort", goAway);
          resolve(place);
        },
      };
      signal?.addEventListener("abort", goAway, { once: true });
      line.add(waiter);
    });
  }

  #hasPlace(address: string): boolean {
    const { atOnce, perAddress } = this.#limits;
    return this.#count < atOnce && (this.#inside.get(address) ?? 0) < perAddress;
  }

  #take(address: string): Disposable {
    this.#count++;
    this.#inside.set(address, (this.#inside.get(address) ?? 0) + 1);
    return { [Symbol.dispose]: () => this.#leave(address) };
  }

  #leave(address: string): void {
    this.#count--;
    const left = this.#inside.get(address)! - 1;
    if (left > 0) this.#inside.set(address, left);
    else this.#inside.delete(address);
    for (const [next, line] of this.#lines) {
      if (!this.#hasPlace(next)) continue;
      const [waiter] = line;
      line.delete(waiter!);
      // The address goes to the end.
      this.#lines.delete(next);
      if (line.size > 0) this.#lines.set(next, line);
      waiter!.enter(this.#take(next));
      return;
    }
  }
}
