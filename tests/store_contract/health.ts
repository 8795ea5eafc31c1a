/**
 * The health of a store.
 *
 * @module
 */
import { assertAlmostEquals, assertEquals, assertMatch } from "@std/assert";
import { type Cases, SLACK_MS } from "./harness.ts";
import { HOUR_MS, jobs } from "./jobs.ts";

export const health: Cases = {
  "returns the version and the durability, and finds nothing wrong with a new store": async (open) => {
    await using t = await open();
    const { version, durability, findings } = await t.store.admin.health();
    assertMatch(version, /^(SQLite|Redis|Valkey|PostgreSQL) \d+\.\d+(\.\d+)?$/);
    // The machine's disk may be full for other reasons.
    const wrong = findings.filter(({ message }) => !/^its disk is \d+ % full/.test(message));
    assertEquals({ durability, wrong }, { durability: t.durability, wrong: [] });
  },

  "returns the store's time": async (open) => {
    await using t = await open();
    const { now } = await t.store.admin.health();
    assertAlmostEquals(now, t.now(), SLACK_MS);
    t.advance(HOUR_MS);
    const later = await (await t.another()).admin.health();
    assertAlmostEquals(later.now - now, HOUR_MS, SLACK_MS);
  },

  "works while the store is in use, and changes nothing": async (open) => {
    await using t = await open();
    const [, , ...answers] = await Promise.all([
      t.store.jobs.enqueue(jobs(1, 3)),
      t.store.jobs.enqueue(jobs(4, 6)),
      ...Array.from({ length: 5 }, () => t.store.admin.health()),
    ]);
    assertEquals(new Set(answers.map(({ version }) => version)).size, 1);
    assertEquals((await t.store.admin.stats()).enqueued, 6);
  },
};
