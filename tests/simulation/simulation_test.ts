/**
 * Half a minute of simulation, with the same seeds each time. `make simulate` runs more.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { DEFECTS, putBack, withDefect } from "./defects.ts";
import { GROUNDS } from "./ground.ts";
import { planOf } from "./planner.ts";
import { run } from "./run.ts";
import { simulate } from "./simulate.ts";
import { configuredDeno, outputOf } from "../../scripts/deno_command.ts";
import "../support/redis.ts"; // It claims ports as long as this process runs: not in one of the tests, which close what they open.

/** Seeds beyond the first ones that failed before a mend. */
const FOUND: Readonly<Record<string, readonly number[]>> = {
  sqlite: [163_767, 244_173, 558_659, 10_535, 826_346, 808_902],
  redis: [1_744, 51_762, 51_807, 53_304],
};

async function assertHolds(store: string, seeds: number): Promise<void> {
  await using ground = await GROUNDS[store]!();
  const first = Array.from({ length: seeds }, (_, i) => 1 + i);
  for (const seed of [...first, ...FOUND[store] ?? []]) {
    assertEquals((await simulate(ground, seed)).failure, undefined);
  }
}

Deno.test("keeps every rule under kills, freezes, lost calls, wrong clocks and operators, on SQLite", () =>
  assertHolds("sqlite", 90));

Deno.test("keeps every rule under kills, freezes, broken connections, wrong clocks and operators, on Redis", () =>
  assertHolds("redis", 10));

Deno.test("keeps every rule under kills, freezes, lost calls, wrong clocks and operators, on PostgreSQL", () =>
  assertHolds("postgres", 4));

Deno.test("a seed gives the same events each time, and another seed others", async () => {
  for (const open of Object.values(GROUNDS)) {
    await using ground = await open();
    const first = await run(ground, planOf(7));
    assertEquals((await run(ground, planOf(7))).trace, first.trace);
    const other = await run(ground, planOf(8));
    assertEquals(other.trace === first.trace, false);
    // One with a migration.
    const migrated = await run(ground, planOf(19));
    for (let again = 0; again < 3; again++) assertEquals((await run(ground, planOf(19))).trace, migrated.trace);
  }
});

Deno.test("each of the mended defects can still be put back", async () => {
  for (const defect of DEFECTS) assert((await withDefect(defect)).size > 0, defect.name);
});

Deno.test("finds a defect that was put back, and prints its shortest trace and the command that repeats it", async () => {
  const defect = DEFECTS.find(({ name }) => name === "limit-ignores-leases")!;
  const folder = await putBack(defect);
  try {
    const args = ["-A", "--no-check", "tests/simulation/main.ts", "--first", `${defect.seed}`, "--seeds", "1"];
    const { success, stderr: text } = await outputOf(configuredDeno(folder, "run", ...args), { cwd: folder });
    assert(!success);
    assertMatch(text, new RegExp(`^Seed ${defect.seed}: `));
    const [, shortest, all] = /The shortest trace \((\d+) of (\d+) acts\): /.exec(text)!;
    assert(Number(shortest) < Number(all));
    assertMatch(text, new RegExp(`Repeat it with: make simulate STORE=sqlite FIRST=${defect.seed} SEEDS=1 LOG=1`));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
