import { assertAlmostEquals, assertEquals } from "@std/assert";
import { partsOf, queueOrder } from "./queue_order.ts";

/** The same numbers from 0 up to 1 in every run. */
function seeded(seed: number): () => number {
  return () => {
    seed = (seed * 1664525 + 1013904223) % 2 ** 32;
    return seed / 2 ** 32;
  };
}

/** How often each order comes, of 10,000 draws. */
function shares(queues: Parameters<typeof queueOrder>[0]): Record<string, number> {
  const order = queueOrder(queues, seeded(1));
  const counts: Record<string, number> = {};
  for (let i = 0; i < 10_000; i++) {
    const names = [...order()].join(" ");
    counts[names] = (counts[names] ?? 0) + 1;
  }
  return Object.fromEntries(Object.entries(counts).map(([names, count]) => [names, count / 10_000]));
}

Deno.test("keeps the given order without weights", () => {
  const order = queueOrder([{ name: "b", weight: 0 }, { name: "a", weight: 0 }, { name: "b", weight: 0 }]);
  for (let i = 0; i < 100; i++) assertEquals([...order()], ["b", "a"]);
});

Deno.test("puts each queue first in proportion to its weight", () => {
  const all = shares([{ name: "a", weight: 3 }, { name: "b", weight: 1 }]);
  assertAlmostEquals(all["a b"]!, 3 / 4, 0.02);
  assertAlmostEquals(all["b a"]!, 1 / 4, 0.02);
});

Deno.test("draws the second queue by weight among the others", () => {
  const all = shares([{ name: "a", weight: 4 }, { name: "b", weight: 2 }, { name: "c", weight: 1 }]);
  assertEquals(Object.keys(all).length, 6);
  assertAlmostEquals(all["a b c"]!, 4 / 7 * 2 / 3, 0.02);
  assertAlmostEquals(all["c b a"]!, 1 / 7 * 2 / 6, 0.02);
});

Deno.test("orders queues of equal weight randomly", () => {
  const all = shares([{ name: "a", weight: 1 }, { name: "b", weight: 1 }]);
  assertAlmostEquals(all["a b"]!, 1 / 2, 0.02);
});

Deno.test("gives a queue without a weight the weight 1 among weighted ones, and adds up the weights of a repeated name", () => {
  assertAlmostEquals(shares([{ name: "a", weight: 3 }, { name: "b", weight: 0 }])["a b"]!, 3 / 4, 0.02);
  const twice = shares([{ name: "a", weight: 1 }, { name: "b", weight: 1 }, { name: "a", weight: 2 }]);
  assertEquals(Object.keys(twice).sort(), ["a b", "b a"]);
  assertAlmostEquals(twice["a b"]!, 3 / 4, 0.02);
});

Deno.test("returns a single queue whatever its weight", () => {
  assertEquals([...queueOrder([{ name: "a", weight: 5 }], () => 0.999)()], ["a"]);
  assertEquals([...queueOrder([])()], []);
});

Deno.test("draws every name once, for every outcome of the random numbers", () => {
  const queues = [{ name: "a", weight: 3 }, { name: "b", weight: 1 }, { name: "c", weight: 1 }, {
    name: "d",
    weight: 3,
  }];
  for (const random of [() => 0, () => 1 - Number.EPSILON / 2, () => 1, seeded(7)]) {
    const order = queueOrder(queues, random);
    for (let i = 0; i < 20; i++) assertEquals([...order()].sort(), ["a", "b", "c", "d"]);
  }
});

Deno.test("draws no more names than are read", () => {
  let draws = 0;
  const order = queueOrder(Array.from({ length: 10_000 }, (_, i) => ({ name: `q${i}`, weight: 1 })), () => {
    draws++;
    return 0.5;
  });
  for (const part of partsOf(order(), 500)) {
    assertEquals([new Set(part).size, draws], [500, 1_000]);
    break;
  }
});

Deno.test("splits an order into parts", () => {
  assertEquals([...partsOf(["a", "b", "c", "d"], 2)], [["a", "b"], ["c", "d"]]);
  assertEquals([...partsOf(["a", "b", "c"], 2)], [["a", "b"], ["c"]]);
  assertEquals([...partsOf([], 2)], []);
});
