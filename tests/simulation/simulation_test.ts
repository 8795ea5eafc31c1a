/**
 * Half a minute of simulation, with the same seeds each time. `make simulate` runs more.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { planOf } from "./plan.ts";
import { run } from "./run.ts";
import { simulate } from "./simulate.ts";
import { SqliteGround } from "./sqlite_ground.ts";

const SEEDS = Array.from({ length: 150 }, (_, i) => i + 1);

Deno.test("keeps every rule under kills, freezes, lost calls, wrong clocks and operators, on SQLite", async () => {
  const ground = await SqliteGround.open();
  const { failures } = await simulate(ground, SEEDS, () => false);
  assertEquals(failures, []);
});

Deno.test("a seed gives the same events each time, and another seed others", async () => {
  const ground = await SqliteGround.open();
  const first = await run(ground, planOf(7));
  assertEquals((await run(ground, planOf(7))).trace, first.trace);
  const other = await run(ground, planOf(8));
  assertEquals(other.trace === first.trace, false);
});
