/**
 * Totals, and the sizes of all places.
 *
 * @module
 */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { dayOf } from "../../src/store/port/history.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import { HOUR_MS, inDead, inRetry, job, jobs, register, takeUpTo } from "./jobs.ts";

export const counts: Cases = {
  "counts nothing in an empty store": async (open) => {
    await using t = await open();
    assertEquals(await t.store.admin.stats(), {
      processed: 0,
      failed: 0,
      enqueued: 0,
      scheduled: 0,
      retry: 0,
      dead: 0,
      running: 0,
      workers: 0,
      waits: { sleep: 0, wait: 0, child: 0 },
      queues: [],
    });
    assertEquals((await t.store.admin.stats()).queues, []);
  },

  "counts the jobs of every place": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await inRetry(t.store, worker, jobs(10, 12), HOUR_MS);
    await inDead(t.store, worker, jobs(20, 21));
    await t.store.jobs.enqueue([...jobs(30, 33, { delayMs: HOUR_MS }), ...jobs(40, 46), job(50, { queue: "mail" })]);
    await takeUpTo(t.store, worker, 2);
    const { queues, waits: _waits, processed: _, failed: __, ...rest } = await t.store.admin.stats();
    assertEquals(rest, { enqueued: 6, scheduled: 4, retry: 3, dead: 2, running: 2, workers: 1 });
    assertEquals(queues.map(({ name, size, paused }) => [name, size, paused]), [["default", 5, false], [
      "mail",
      1,
      false,
    ]]);
  },

  "counts finished and failed jobs when they are settled": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 7));
    const tokens = (await takeUpTo(t.store, worker)).map((lease) => lease.token);
    const payload = job(9).payload;
    const kinds = [
      { kind: "ack" },
      { kind: "ack" },
      { kind: "discard" },
      { kind: "retry", delayMs: HOUR_MS, payload },
      { kind: "bury", payload },
      { kind: "release" },
      { kind: "snooze", delayMs: HOUR_MS, payload: job(8).payload },
    ] as const;
    await t.store.jobs.settle(worker, kinds.map((kind, i): Outcome => ({ ...kind, token: tokens[i]! })));
    const { processed, failed } = await t.store.admin.stats();
    assertEquals([processed, failed], [5, 3]);
  },

  "counts finished jobs over days and connections": async (open) => {
    await using t = await open();
    const other = await t.another();
    for (const [i, store] of [t.store, other, t.store].entries()) {
      const worker = await register(store);
      await store.jobs.enqueue([job(i)]);
      const [lease] = await takeUpTo(store, worker);
      await store.jobs.settle(worker, [{ kind: i === 1 ? "discard" : "ack", token: lease!.token }]);
      t.advance(48 * HOUR_MS);
    }
    const { processed, failed } = await other.admin.stats();
    assertEquals([processed, failed], [3, 1]);
  },

  "counts finished jobs of each UTC day, including days without any": async (open) => {
    await using t = await open();
    t.advance(36 * HOUR_MS - t.now() % (24 * HOUR_MS)); // noon: far from another day
    const first = t.now();
    const settle = async (...kinds: ("ack" | "discard")[]) => {
      const worker = await register(t.store);
      await t.store.jobs.enqueue(jobs(1, kinds.length));
      const leases = await takeUpTo(t.store, worker);
      await t.store.jobs.settle(worker, kinds.map((kind, i): Outcome => ({ kind, token: leases[i]!.token })));
    };
    assertEquals(await t.store.series.read("days", { from: first, to: first + HOUR_MS * 24 }), [
      { day: dayOf(first), processed: 0, failed: 0 },
      { day: dayOf(first + 24 * HOUR_MS), processed: 0, failed: 0 },
    ]);
    await settle("ack", "discard", "ack");
    t.advance(48 * HOUR_MS);
    await settle("discard");
    const days = await (await t.another()).series.read("days", {
      from: first - 24 * HOUR_MS,
      to: first + 48 * HOUR_MS,
    });
    assertEquals(days.map(({ day }) => day), [-24, 0, 24, 48].map((hours) => dayOf(first + hours * HOUR_MS)));
    assertEquals(days.map(({ processed, failed }) => [processed, failed]), [[0, 0], [3, 1], [0, 0], [1, 1]]);
    assertEquals((await t.store.series.read("days", { from: first, to: first })).map(({ processed }) => processed), [
      3,
    ]);
    assertEquals(await t.store.series.read("days", { from: first, to: first - 24 * HOUR_MS }), []);
  },

  "lists every queue by name, also empty ones, with the age of its oldest job": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1, { queue: "b" }), job(2, { queue: "a" }), job(3, { queue: "c" })]);
    await takeUpTo(t.store, worker, 1, ["a"]);
    t.advance(HOUR_MS);
    await t.store.jobs.enqueue([job(4, { queue: "b" })]);
    const queues = (await t.store.admin.stats()).queues;
    assertEquals(queues.map(({ name, size }) => [name, size]), [["a", 0], ["b", 2], ["c", 1]]);
    assertEquals(queues[0]!.latencyMs, 0);
    assertAlmostEquals(queues[1]!.latencyMs, HOUR_MS, SLACK_MS);
    assertAlmostEquals(queues[2]!.latencyMs, HOUR_MS, SLACK_MS);
  },

  "a queue whose oldest job has no time has no latency": async (open) => {
    await using t = await open();
    for (const [queue, text] of [["a", "{not json"], ["b", '{"enqueued_at":"soon"}']] as const) {
      await t.pushRaw(queue, text);
    }
    assertEquals((await t.store.admin.stats()).queues.map(({ name, size, latencyMs }) => [name, size, latencyMs]), [
      ["a", 1, 0],
      ["b", 1, 0],
    ]);
  },
};
