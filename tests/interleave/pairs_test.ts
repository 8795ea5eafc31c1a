/**
 * All pairs of verbs that share a table, and three verbs at random: each outcome is that of one order.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { Random } from "../soak/random.ts";
import { startPostgres } from "../support/postgres.ts";
import { Explorer } from "./explorer.ts";
import { allPairs, explorePairs, exploreThree } from "./pairs.ts";

const SEED = Number(Deno.env.get("SEED") ?? 1);
const TRIPLES = Number(Deno.env.get("TRIPLES") ?? 200);

const postgres = await startPostgres({ config: { deadlock_timeout: "200ms" } });
const explorer = await Explorer.open(postgres);
Deno.test.afterAll(async () => {
  await explorer[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

Deno.test("interleaved: each pair of verbs has the outcome of one order", async () => {
  const { dependent, points, wrong } = await explorePairs(explorer, allPairs());
  console.log(`${dependent} pairs depend on each other: ${points} interleavings`);
  assertEquals(wrong, []);
});

Deno.test(`interleaved: three verbs at random have the outcome of one order (SEED=${SEED})`, async () => {
  const random = new Random(SEED);
  const wrong: string[] = [];
  for (let i = 0; i < TRIPLES; i++) {
    const found = await exploreThree(explorer, random);
    if (found !== undefined) wrong.push(found);
  }
  assertEquals(wrong, []);
});
