/**
 * Processes say that they are alive, and others see them.
 *
 * @module
 */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { type Cases, SLACK_MS } from "./harness.ts";
import { job, LAPSE_MS, processRecord, register, TTL_MS } from "./jobs.ts";

export const processes: Cases = {
  "the first beat registers; others see what the process said, and when": async (open) => {
    await using t = await open();
    const record = processRecord("host:1:aaaaaaaaaaaa", {
      tag: "billing",
      labels: ["eu", "reliable"],
      queues: ["high", "low"],
      weights: { high: 2, low: 1 },
      busy: 1,
      work: [{ task: "processor-3", queue: "high", payload: job(1).payload, since: 1_700_000_000_000 }],
    });
    assertEquals(await t.store.beat(record, TTL_MS), []);
    const other = await t.another();
    const seen = await other.processes();
    assertEquals(seen.length, 1);
    const { beatAt, alive, ...said } = seen[0]!;
    assertEquals(said, record);
    assertEquals(alive, true);
    assertAlmostEquals(beatAt, t.now(), SLACK_MS);
  },

  "the latest beat counts": async (open) => {
    await using t = await open();
    const work = [{ task: "processor-1", queue: "default", payload: job(1).payload, since: 1_700_000_000_000 }];
    await t.store.beat(processRecord("host:1:aaaaaaaaaaaa", { busy: 1, work }), TTL_MS);
    await t.store.beat(processRecord("host:1:aaaaaaaaaaaa", { quiet: true }), TTL_MS);
    const all = await t.store.processes();
    assertEquals(all.map(({ busy, work, quiet }) => ({ busy, work, quiet })), [{ busy: 0, work: [], quiet: true }]);
  },

  "one that did not beat in time is not alive, and not counted": async (open) => {
    await using t = await open();
    await register(t.store, "host:1:aaaaaaaaaaaa");
    t.advance(LAPSE_MS);
    await register(t.store, "host:2:bbbbbbbbbbbb");
    const seen = (await t.store.processes()).filter((one) => one.alive).map((one) => one.identity);
    assertEquals(seen, ["host:2:bbbbbbbbbbbb"]);
    assertEquals((await t.store.stats()).processes, 1);
  },

  "one that was forgotten is back with its next beat": async (open) => {
    await using t = await open();
    const identity = await register(t.store);
    t.advance(LAPSE_MS);
    await t.store.rescue(100, 3);
    assertEquals(await t.store.processes(), []);
    await register(t.store, identity);
    assertEquals((await t.store.processes()).map((one) => [one.identity, one.alive]), [[identity, true]]);
  },
};
