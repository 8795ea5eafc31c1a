/**
 * The kinds of jobs that a soak pushes, and how often.
 *
 * @module
 */
import type { JobRequest } from "../../src/client/client.ts";
import type { Random } from "./random.ts";

/** The queues that all workers take from, in this order. */
export const QUEUES = ["cron", "narrow", "rated", "default", "bulk"] as const;

/** How many jobs of queue `narrow` may run at the same time. */
export const NARROW = 3;

/** How long a unique job holds its lock unless it ends before, by the store's clock. */
export const UNIQUE_FOR_MINUTES = 10;
/** Unique jobs share this many keys: few enough that a push often meets the holder of its lock. */
const UNIQUE_KEYS = 4;

/** A kind of job. */
interface Kind {
  readonly weight: number;
  readonly make: (random: Random) => JobRequest;
}

/** The kinds of the example shop. Each order is charged once, however often its form is sent. */
const SHOP: readonly Kind[] = [
  {
    weight: 4,
    make(random) {
      const order = random.between(1, 1e9);
      return { class: "Charge", args: [order, `reader-${order}@example.com`], queue: "payments" };
    },
  },
  { weight: 6, make: (random) => ({ class: "Pictures", args: [random.between(1, 1e6)], queue: "pictures" }) },
  { weight: 6, make: (random) => ({ class: "Invoice", args: [random.between(1, 9_999)], queue: "books" }) },
  { weight: 4, make: (random) => ({ class: "Newsletter", args: [random.between(1, 1e6)], queue: "news" }) },
  {
    weight: 2,
    make: (random) => ({
      class: "Stock",
      args: [100, random.between(1, UNIQUE_KEYS)],
      unique_for: `${UNIQUE_FOR_MINUTES}m`,
    }),
  },
];

/** The kinds whose handlers are in `handlers.js`. */
const ALL: readonly Kind[] = [
  { weight: 36, make: () => ({ class: "Quick", args: [] }) },
  { weight: 16, make: (random) => ({ class: "Nap", args: [random.between(1, 300)] }) },
  { weight: 3, make: (random) => ({ class: "Nap", args: [random.between(2_000, 6_000)] }) },
  { weight: 4, make: (random) => ({ class: "Deaf", args: [random.between(100, 1_500)] }) },
  { weight: 8, make: (random) => ({ class: "Away", args: [random.between(1, 200)] }) },
  { weight: 1, make: (random) => ({ class: "Away", args: [random.between(1_000, 4_000)] }) },
  { weight: 5, make: (random) => ({ class: "Flaky", args: [random.between(1, 3)] }) },
  { weight: 2, make: () => ({ class: "Doomed", args: [] }) },
  { weight: 3, make: () => ({ class: "Snoozer", args: [] }) },
  { weight: 0.3, make: (random) => ({ class: "Block", args: [random.between(300, 1_500)] }) },
  { weight: 4, make: (random) => ({ class: "Quick", args: [], in: random.between(100, 4_000) / 1_000 }) },
  {
    weight: 3,
    make: (random) => ({ class: "Quick", args: [], at: new Date(Date.now() + random.between(-500, 3_000)) }),
  },
  { weight: 5, make: (random) => ({ class: "Nap", args: [random.between(10, 200)], queue: "narrow" }) },
  { weight: 4, make: () => ({ class: "Quick", args: [], queue: "rated" }) },
  {
    weight: 8,
    make: (random) => ({
      class: "Nap",
      args: [100, random.between(1, UNIQUE_KEYS)],
      unique_for: `${UNIQUE_FOR_MINUTES}m`,
    }),
  },
];

/** All kinds, by the name of their soak. */
export const KINDS = { all: ALL, shop: SHOP } as const;

/** The name of a soak's kinds. */
export type KindsName = keyof typeof KINDS;

/** Returns a text as large as what payloads carry: mostly small, at times hundreds of kilobytes. */
export function filler(random: Random): string {
  const kilobytes = random.chance(0.01) ? random.between(100, 890) : random.chance(0.1) ? random.between(1, 30) : 0;
  return "x".repeat(kilobytes * 1_000);
}
