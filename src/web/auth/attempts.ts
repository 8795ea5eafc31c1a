/**
 * Guessing slowed down: after a few failures, an address or a name has to wait, longer with each further one.
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

/** How one kind of key is held back. */
interface Patience {
  /** So many failures are free. */
  readonly free: number;
  /** No wait is longer. */
  readonly mostMs: number;
}

/** A name is held back gently: else anybody could lock its owner out. */
const PATIENCE: Readonly<Record<"address" | "name", Patience>> = {
  address: { free: 5, mostMs: 15 * 60_000 },
  name: { free: 20, mostMs: 30_000 },
};

const FORGOTTEN_MS = 15 * 60_000;
/** So many are remembered of each kind; then the oldest are forgotten. */
const MAX_KEYS = 10_000;

/** Who is guessing. */
export interface Guesser {
  readonly address: string;
  /** Absent where it isn't known yet: then only the address counts. */
  readonly name?: string;
}

/** No account's name is longer: what is remembered of a guess has a bound too. */
const LONGEST = 64;

/** The key that failures are counted under. */
function keyOf(kind: "address" | "name", { address, name = "" }: Guesser): string {
  return kind === "name" ? name.slice(0, LONGEST) : networkOf(address.slice(0, LONGEST));
}

/** The failures of late. */
export class Attempts {
  readonly #clock: Clock;
  readonly #failures = { address: new Map<string, Failures>(), name: new Map<string, Failures>() };

  /** Remembers by this clock. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long this one must wait before the next attempt; 0: it may try. */
  waitMs(guesser: Guesser): number {
    const now = this.#clock.monotonic();
    const kinds = guesser.name === undefined ? ["address"] as const : ["address", "name"] as const;
    return Math.max(...kinds.map((kind) => {
      const failures = this.#failures[kind].get(keyOf(kind, guesser));
      if (failures === undefined || now - failures.last > FORGOTTEN_MS) return 0;
      const { free, mostMs } = PATIENCE[kind];
      if (failures.count < free) return 0;
      return Math.max(0, failures.last + Math.min(mostMs, 1_000 * 2 ** (failures.count - free)) - now);
    }));
  }

  /** It was wrong. */
  failed(guesser: Guesser): void {
    const last = this.#clock.monotonic();
    for (const kind of ["address", "name"] as const) {
      const known = this.#failures[kind];
      const key = keyOf(kind, guesser);
      const before = known.get(key);
      const count = before === undefined || last - before.last > FORGOTTEN_MS ? 1 : before.count + 1;
      known.delete(key);
      known.set(key, { count, last });
      if (known.size > MAX_KEYS) known.delete(known.keys().next().value!);
    }
  }

  /** It was right: the address starts anew. */
  succeeded(guesser: Guesser): void {
    this.#failures.address.delete(keyOf("address", guesser));
  }
}
