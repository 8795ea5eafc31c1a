/**
 * Storing jobs.
 *
 * @module
 */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { getField, readWireTime } from "../../src/job/raw.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import { assertSamePayload, entries, HOUR_MS, job, jobs, numbersIn, register, takeUpTo } from "./jobs.ts";

export const enqueue: Cases = {
  "a job to run now is in its queue, with the enqueue time": async (open) => {
    await using t = await open();
    assertEquals(await t.store.jobs.enqueue([job(1, { queue: "mail" })]), [{ kind: "stored" }]);
    const [entry] = await entries(t.store, { in: "queue", queue: "mail" });
    assertSamePayload(entry!.payload, job(1, { queue: "mail" }).payload);
    assertAlmostEquals(readWireTime(getField(entry!.payload, "enqueued_at"))!, t.now(), SLACK_MS);
  },

  "the time has the format of the wire setting": async (open) => {
    for (const [sidekiqWire, pattern] of [[7, /"enqueued_at":\d{10}\.\d+/], [8, /"enqueued_at":\d{13}[,}]/]] as const) {
      await using t = await open({ sidekiqWire });
      await t.store.jobs.enqueue([job(1)]);
      const [entry] = await entries(t.store, { in: "queue", queue: "default" });
      assertEquals(pattern.test(entry!.payload), true, entry!.payload);
    }
  },

  "a job for later is in scheduled, unchanged": async (open) => {
    await using t = await open();
    const at = Math.round(t.now()) + HOUR_MS;
    await t.store.jobs.enqueue([job(1, { at }), job(2, { delayMs: 2 * HOUR_MS })]);
    const [first, second] = await entries(t.store, { in: "scheduled" });
    assertEquals(first!.payload, job(1).payload);
    assertAlmostEquals(first!.at!, at, 1);
    assertEquals(second!.payload, job(2).payload);
    assertAlmostEquals(second!.at!, t.now() + 2 * HOUR_MS, SLACK_MS);
    assertEquals((await t.store.admin.stats()).enqueued, 0);
  },

  "a job whose time is past is in its queue": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1, { at: t.now() - HOUR_MS }), job(2, { delayMs: 0 }), job(3, { delayMs: -5 })]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [1, 2, 3]);
    assertEquals((await t.store.admin.stats()).scheduled, 0);
  },

  "times are the store's": async (open) => {
    await using t = await open();
    const at = t.now() + HOUR_MS;
    t.advance(2 * HOUR_MS);
    await t.store.jobs.enqueue([job(1, { at })]);
    assertEquals((await t.store.admin.stats()).enqueued, 1);
  },

  "a call stores jobs in several queues and in scheduled, with one result per job in order": async (open) => {
    await using t = await open();
    const batch = [
      job(1, { queue: "a" }),
      job(2, { delayMs: HOUR_MS }),
      job(3, { queue: "b" }),
      job(4, { queue: "a" }),
      job(5, { queue: "b", unique: { key: "k", ttlMs: HOUR_MS } }),
      job(6, { queue: "b", unique: { key: "k", ttlMs: HOUR_MS } }),
      job(7, { queue: "b" }),
    ];
    const results = await t.store.jobs.enqueue(batch);
    assertEquals(results.map((result) => result.kind === "stored"), [true, true, true, true, true, false, true]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "a" }), [1, 4]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "b" }), [3, 5, 7]);
    assertEquals(await numbersIn(t.store, { in: "scheduled" }), [2]);
  },

  "accepts a call without jobs": async (open) => {
    await using t = await open();
    assertEquals(await t.store.jobs.enqueue([]), []);
  },

  "a large call keeps its order": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue(jobs(1, 2_500));
    const worker = await register(t.store);
    const leases = await takeUpTo(t.store, worker, 2_500);
    assertEquals(leases.map((lease) => getField(lease.payload, "args")), jobs(1, 2_500).map((_, i) => [i + 1]));
  },

  "other connections see a job as soon as it is acknowledged": async (open) => {
    await using t = await open();
    const other = await t.another();
    await t.store.jobs.enqueue([job(1)]);
    assertEquals(await numbersIn(other, { in: "queue", queue: "default" }), [1]);
  },

  "a job survives the end of all connections": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1), job(2, { delayMs: HOUR_MS })]);
    await t.store[Symbol.asyncDispose]();
    const later = await t.another();
    assertEquals(await numbersIn(later, { in: "queue", queue: "default" }), [1]);
    assertEquals(await numbersIn(later, { in: "scheduled" }), [2]);
  },
};
