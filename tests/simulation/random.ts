/**
 * The random numbers of a simulation: everything random follows from its seed.
 *
 * @module
 */

/** A source of random numbers. */
export class Random {
  #state: readonly [number, number, number, number];

  constructor(seed: number) {
    this.#state = [seed >>> 0, (seed / 2 ** 32) >>> 0, 0x9e3779b9, 0x243f6a88];
    for (let i = 0; i < 12; i++) this.word();
  }

  /** Returns 32 random bits. The generator is `sfc32` of PractRand. */
  word(): number {
    const [a, b, c, d] = this.#state;
    const sum = (a + b + d) >>> 0;
    this.#state = [(b ^ (b >>> 9)) >>> 0, (c + (c << 3)) >>> 0, (((c << 21) | (c >>> 11)) + sum) >>> 0, (d + 1) >>> 0];
    return sum;
  }

  /** Returns a number from 0 up to 1. */
  next(): number {
    return this.word() / 2 ** 32;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Returns a whole number between two, both included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)]!;
  }

  /** Returns some elements of a list, at least one. */
  some<T>(list: readonly T[], probability: number): T[] {
    const chosen = list.filter(() => this.chance(probability));
    return chosen.length > 0 ? chosen : [this.pick(list)];
  }
}

/**
 * Makes the runtime's own random numbers follow from a seed, and its wall clock from the simulation's, for code that isn't
 * passed either. Returns a function that restores them.
 */
export function seedRuntime(random: Random, now: () => number): () => void {
  const { random: mathRandom } = Math;
  const { now: dateNow } = Date;
  const { getRandomValues, randomUUID } = crypto;
  Math.random = () => random.next();
  Date.now = now;
  crypto.getRandomValues = ((array: ArrayBufferView) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = random.word() & 255;
    return array;
  }) as typeof crypto.getRandomValues;
  crypto.randomUUID = () => {
    const hex = Array.from({ length: 4 }, () => random.word().toString(16).padStart(8, "0")).join("");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  };
  return () => {
    Math.random = mathRandom;
    Date.now = dateNow;
    crypto.getRandomValues = getRandomValues;
    crypto.randomUUID = randomUUID;
  };
}
