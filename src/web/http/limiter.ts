/**
 * Bounds the number of requests that are served at the same time: in total, and per address. The others wait in one line
 * per address. The lines take turns, so that one address cannot delay the others. Without this bound, a few hundred
 * visitors of the largest pages would hold all of these in memory at once, and block the event loop.
 *
 * @module
 */

export interface RequestLimits {
  /** Requests served at the same time. */
  readonly atOnce: number;
  /** Of these, the most of one address. Lower than `atOnce`, so that other addresses don't wait for it. */
  readonly perAddress: number;
  /** Waiting requests of one address. The number of connections bounds the total. */
  readonly waiting: number;
}

const DEFAULT_LIMITS: RequestLimits = { atOnce: 6, perAddress: 4, waiting: 50 };

interface Waiter {
  readonly enter: (place: Disposable | undefined) => void;
}

export class Limiter {
  readonly #limits: RequestLimits;
  readonly #inside = new Map<string, number>();
  /** Waiting requests by address; the address whose turn is next comes first. */
  readonly #lines = new Map<string, Set<Waiter>>();
  #count = 0;

  constructor(limits: Partial<RequestLimits> = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
  }

  /**
   * Waits for a place. Dispose of it when the request is done.
   *
   * @returns undefined if too many requests of this address wait already, or when `signal` aborts
   */
  enter(address: string, signal?: AbortSignal): Promise<Disposable | undefined> {
    if (signal?.aborted) return Promise.resolve(undefined);
    if (this.#hasPlace(address)) return Promise.resolve(this.#take(address));
    const line = this.#lines.get(address) ?? new Set();
    if (line.size >= this.#limits.waiting) return Promise.resolve(undefined);
    this.#lines.set(address, line);
    return new Promise((resolve) => {
      const leaveLine = () => {
        line.delete(waiter);
        if (line.size === 0) this.#lines.delete(address);
        resolve(undefined);
      };
      const waiter: Waiter = {
        enter: (place) => {
          signal?.removeEventListener("abort", leaveLine);
          resolve(place);
        },
      };
      signal?.addEventListener("abort", leaveLine, { once: true });
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
      // The address moves to the end.
      this.#lines.delete(next);
      if (line.size > 0) this.#lines.set(next, line);
      waiter!.enter(this.#take(next));
      return;
    }
  }
}
