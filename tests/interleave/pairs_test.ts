/**
 * Pairs of verbs that share a table, and three verbs at random: each outcome is that of one order. All pairs with `WHOLE=1`, else some of them.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { Random } from "../soak/random.ts";
import { startPostgres } from "../support/postgres.ts";
import { IS_WHOLE } from "../support/whole.ts";
import { Explorer } from "./explorer.ts";
import { allPairs, explorePairs, exploreThree } from "./pairs.ts";

const SEED = Number(Deno.env.get("SEED") ?? 1);
const TRIPLES = Number(Deno.env.get("TRIPLES") ?? (IS_WHOLE ? 200 : 20));
const SHARE = IS_WHOLE ? 1 : 0.02;

const postgres = await startPostgres({ config: { deadlock_timeout: "200ms" } });
const explorer = await Explorer.open(postgres);
Deno.test.afterAll(async () => {
  await explorer[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

Deno.test(`interleaved: pairs of verbs have the outcome of one order (SEED=${SEED})`, async () => {
  const random = new Random(SEED);
  const { dependent, points, wrong } = await explorePairs(explorer, allPairs().filter(() => random.chance(SHARE)));
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
