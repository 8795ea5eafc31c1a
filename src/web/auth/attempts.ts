/**
 * Guessing slowed down: after a few failures, an address or a name has to wait, longer with each further one.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

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
const MOST_KEYS = 10_000;

/** Who is guessing. */
export interface Guesser {
  readonly address: string;
  readonly name: string;
}

/** No account's name is longer: what is remembered of a guess has a bound too. */
const LONGEST = 64;

/** What failures are counted under. Whoever has one IPv6 address has its 2^64 neighbours: they count as one. */
function keyOf(kind: "address" | "name", guesser: Guesser): string {
  const text = guesser[kind].slice(0, LONGEST);
  if (kind === "name" || !text.includes(":") || !URL.canParse(`http://[${text}]/`)) return text;
  const [head = "", tail] = new URL(`http://[${text}]/`).hostname.slice(1, -1).split("::") as [string, string?];
  const groups = (half: string | undefined) => (half ? half.split(":") : []);
  const zeros = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  return [...groups(head), ...Array<string>(zeros).fill("0"), ...groups(tail)].slice(0, 4).join(":") + "::/64";
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
    return Math.max(...(["address", "name"] as const).map((kind) => {
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
      if (known.size > MOST_KEYS) known.delete(known.keys().next().value!);
    }
  }

  /** It was right: the address starts anew. */
  succeeded(guesser: Guesser): void {
    this.#failures.address.delete(keyOf("address", guesser));
  }
}
