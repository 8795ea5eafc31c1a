/**
 * Explores pairs of verbs on PostgreSQL: all, or `--share` of them at random; `--only TEXT` in the name of one, `--pair "A / B"`; and `--triples` at
 * random.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { Random } from "../soak/random.ts";
import { startPostgres } from "../support/postgres.ts";
import { Explorer } from "./explorer.ts";
import { allPairs, explorePairs, exploreThree } from "./pairs.ts";

const args = parseArgs(Deno.args, { string: ["only", "pair", "seed", "share", "triples"] });
const { only = "", pair = "", seed = "1", share = "1", triples = "0" } = args as Readonly<
  Record<string, string | undefined>
>;
const random = new Random(Number(seed));
await using server = await startPostgres({ config: { deadlock_timeout: "200ms" } });
await using explorer = await Explorer.open(server);
const pairs = allPairs().filter((names) =>
  names.some((name) => name.includes(only)) && random.chance(Number(share)) &&
  (pair === "" || pair.split(" / ").sort().join() === names.toSorted().join())
);
const { dependent, points, wrong } = await explorePairs(explorer, pairs, console.log);
for (let i = 0; i < Number(triples); i++) {
  const found = await exploreThree(explorer, random);
  if (found !== undefined) wrong.push(found);
  if (found !== undefined) console.log(found);
}
console.log(`${pairs.length} pairs, ${dependent} depend on each other: ${points} interleavings, ${wrong.length} wrong`);
if (wrong.length > 0) Deno.exit(1);
