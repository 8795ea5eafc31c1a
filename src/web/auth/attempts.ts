/**
 * Slows down guessing: after a few failed logins, an address or a name has to wait, twice as long after each further one.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { networkOf } from "./network.ts";

interface Failures {
  readonly count: number;
  /** On the monotonic clock. */
  readonly last: number;
}

interface Backoff {
  /** Failures without a delay. */
  readonly free: number;
  /** The longest delay. */
  readonly maxMs: number;
}

/** The delays for a name are short: otherwise anyone could lock its owner out. */
const BACKOFF: Readonly<Record<"address" | "name", Backoff>> = {
  address: { free: 5, maxMs: 15 * 60_000 },
  name: { free: 20, maxMs: 30_000 },
};

/** Failures older than this don't count. */
const FORGET_AFTER_MS = 15 * 60_000;
/** Keys of each kind in memory. Beyond this, the oldest are forgotten. */
const MAX_KEYS = 10_000;

export interface LoginSource {
  readonly address: string;
  /** Absent if not known yet: then only the address counts. */
  readonly name?: string;
}

/** Bounds the length of a key in memory. Names of accounts are not longer. */
const MAX_KEY_CHARS = 64;

/** Returns the key that failures are counted under. */
function keyOf(kind: "address" | "name", { address, name = "" }: LoginSource): string {
  return kind === "name" ? name.slice(0, MAX_KEY_CHARS) : networkOf(address.slice(0, MAX_KEY_CHARS));
}

export class Attempts {
  readonly #clock: Clock;
  readonly #failures = { address: new Map<string, Failures>(), name: new Map<string, Failures>() };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns how long this source must wait before its next login, in milliseconds; 0 if it needn't wait. */
  waitMs(source: LoginSource): number {
    const now = this.#clock.monotonic();
    const kinds = source.name === undefined ? ["address"] as const : ["address", "name"] as const;
    return Math.max(...kinds.map((kind) => {
      const failures = this.#failures[kind].get(keyOf(kind, source));
      if (failures === undefined || now - failures.last > FORGET_AFTER_MS) return 0;
      const { free, maxMs } = BACKOFF[kind];
      if (failures.count < free) return 0;
      return Math.max(0, failures.last + Math.min(maxMs, 1_000 * 2 ** (failures.count - free)) - now);
    }));
  }

  failed(source: LoginSource): void {
    const last = this.#clock.monotonic();
    for (const kind of ["address", "name"] as const) {
      const known = this.#failures[kind];
      const key = keyOf(kind, source);
      const before = known.get(key);
      const count = before === undefined || last - before.last > FORGET_AFTER_MS ? 1 : before.count + 1;
      known.delete(key);
      known.set(key, { count, last });
      if (known.size > MAX_KEYS) known.delete(known.keys().next().value!);
    }
  }

  /** Forgets the failures of an address after a successful login. Those of the name expire by themselves. */
  succeeded(source: LoginSource): void {
    this.#failures.address.delete(keyOf("address", source));
  }
}
