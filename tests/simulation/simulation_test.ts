/**
 * Half a minute of simulation, with the same seeds each time. `make simulate` runs more.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { GROUNDS } from "./grounds.ts";
import { planOf } from "./plan.ts";
import { run } from "./run.ts";
import { simulate } from "./simulate.ts";

const SEEDS = Array.from({ length: 60 }, (_, i) => i + 1);
/** A command to Redis crosses a socket. */
const REDIS_SEEDS = SEEDS.slice(0, 10);

Deno.test("keeps every rule under kills, freezes, lost calls, wrong clocks and operators, on SQLite", async () => {
  await using ground = await GROUNDS["sqlite"]!();
  const { failures } = await simulate(ground, SEEDS, () => false);
  assertEquals(failures, []);
});

Deno.test("keeps every rule under kills, freezes, broken connections, wrong clocks and operators, on Redis", async () => {
  await using ground = await GROUNDS["redis"]!();
  const { failures } = await simulate(ground, REDIS_SEEDS, () => false);
  assertEquals(failures, []);
});

Deno.test("a seed gives the same events each time, and another seed others", async () => {
  for (const open of Object.values(GROUNDS)) {
    await using ground = await open();
    const first = await run(ground, planOf(7));
    assertEquals((await run(ground, planOf(7))).trace, first.trace);
    const other = await run(ground, planOf(8));
    assertEquals(other.trace === first.trace, false);
  }
});
