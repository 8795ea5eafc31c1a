/**
 * Pauses of queues.
 *
 * @module
 */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { ALL_QUEUES } from "../../src/store/port/paused_queues.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import { HOUR_MS, job, numbers, numbersIn, register, takeUpTo, woken } from "./jobs.ts";

export const pause: Cases = {
  "all connections skip a paused queue until it is resumed": async (open) => {
    await using t = await open();
    const other = await t.another();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1, { queue: "a" }), job(2, { queue: "b" }), job(3, { queue: "a" })]);
    await t.store.admin.configure("a", { pause: true });
    assertEquals(numbers(await takeUpTo(other, worker, 10, ["a", "b"])), [2]);
    assertEquals(numbers(await takeUpTo(t.store, worker, 10, ["a", "b"])), []);
    await other.admin.configure("a", { pause: false });
    assertEquals(numbers(await takeUpTo(t.store, worker, 10, ["a", "b"])), [1, 3]);
  },

  "a paused queue accepts and gets back jobs": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const [lease] = await takeUpTo(t.store, worker);
    await t.store.admin.configure("default", { pause: true });
    await t.store.jobs.enqueue([job(2)]);
    await t.store.jobs.settle(worker, [{ kind: "release", token: lease!.token }]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [1, 2]);
  },

  "a lease from before the pause can be settled": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const [lease] = await takeUpTo(t.store, worker);
    await t.store.admin.configure("default", { pause: true });
    assertEquals((await t.store.jobs.settle(worker, [{ kind: "ack", token: lease!.token }])).lost, []);
  },

  "an empty queue can be paused, twice, and is listed": async (open) => {
    await using t = await open();
    await t.store.admin.configure("mail", { pause: true });
    await t.store.admin.configure("mail", { pause: true });
    assertEquals((await t.store.admin.stats()).queues, [{ name: "mail", size: 0, latencyMs: 0, paused: true }]);
    await t.store.admin.configure("mail", { pause: false });
    await t.store.admin.configure("mail", { pause: false });
    await t.store.admin.configure("never", { pause: false });
    assertEquals((await t.store.admin.stats()).queues.filter((queue) => queue.paused), []);
  },

  "an empty queue that isn't paused can be forgotten, and its next job lists it again": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("typo", { pause: true });
    await t.store.jobs.enqueue([job(1, { queue: "full" }), job(2, { queue: "ran" })]);
    const [lease] = await takeUpTo(t.store, worker, 1, ["ran"]);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: lease!.token }]);
    const names = async () => (await t.store.admin.stats()).queues.map(({ name }) => name).sort();
    for (const name of ["typo", "full", "never"]) {
      assertEquals(await t.store.admin.configure(name, { forget: true }), false, name);
    }
    assertEquals(await t.store.admin.configure("ran", { forget: true }), true);
    assertEquals(await names(), ["full", "typo"]);
    await t.store.admin.configure("typo", { pause: false });
    await t.store.admin.configure("typo", { forget: true });
    assertEquals(await names(), ["full"]);
    await t.store.jobs.enqueue([job(3, { queue: "ran" })]);
    const [again] = await takeUpTo(t.store, worker, 1, ["ran"]);
    await t.store.admin.configure("ran", { forget: true });
    await t.store.jobs.settle(worker, [{ kind: "release", token: again!.token }]);
    assertEquals([await names(), numbers(await takeUpTo(t.store, worker, 1, ["ran"]))], [["full", "ran"], [3]]);
  },

  "the pause of all queues is listed while it lasts, and isn't a queue otherwise": async (open) => {
    await using t = await open();
    await t.store.admin.configure(ALL_QUEUES, { pause: true });
    assertEquals((await t.store.admin.stats()).queues.map(({ name, paused }) => [name, paused]), [[ALL_QUEUES, true]]);
    await t.store.admin.configure(ALL_QUEUES, { pause: false });
    assertEquals((await t.store.admin.stats()).queues, []);
    await t.store.admin.configure(ALL_QUEUES, { pause: HOUR_MS });
    t.advance(2 * HOUR_MS);
    assertEquals((await t.store.admin.stats()).queues, []);
  },

  "stats of named queues have these alone, with the remaining time of pauses": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1, { queue: "a" }), job(2, { queue: "other" }), job(3, { queue: "other" })]);
    const named = async (...queues: string[]) => (await t.store.admin.stats({ queues })).queues;
    const shown = async () => (await named(ALL_QUEUES, "b", "a")).map(({ name, size, paused }) => [name, size, paused]);
    assertEquals(await shown(), [["a", 1, false], ["b", 0, false]]);
    await t.store.admin.configure("a", { pause: true });
    await t.store.admin.configure("b", { pause: HOUR_MS });
    await t.store.admin.configure(ALL_QUEUES, { pause: true });
    assertEquals(await shown(), [[ALL_QUEUES, 0, true], ["a", 1, true], ["b", 0, true]]);
    const [, a, b] = await named(ALL_QUEUES, "a", "b");
    assertEquals(a?.pausedForMs, undefined);
    assertAlmostEquals(b?.pausedForMs ?? 0, HOUR_MS, SLACK_MS);
    await t.store.admin.configure("a", { pause: false });
    await t.store.admin.configure(ALL_QUEUES, { pause: false });
    t.advance(2 * HOUR_MS);
    assertEquals(await shown(), [["a", 1, false], ["b", 0, false]]);
    assertEquals(await named(), []);
  },

  "all queues can be paused, including future ones, and queues paused by name stay paused afterwards": async (open) => {
    await using t = await open();
    const other = await t.another();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1, { queue: "a" }), job(2, { queue: "b" })]);
    await t.store.admin.configure("b", { pause: true });
    await t.store.admin.configure(ALL_QUEUES, { pause: true });
    await t.store.jobs.enqueue([job(3, { queue: "c" })]);
    assertEquals(numbers(await takeUpTo(other, worker, 10, ["a", "b", "c"])), []);
    assertEquals((await t.store.admin.stats()).queues.find((queue) => queue.name === ALL_QUEUES)?.paused, true);
    const woken = other.watch({ work: ["a"] }, new AbortController().signal);
    await t.store.admin.configure(ALL_QUEUES, { pause: false });
    await woken;
    assertEquals(numbers(await takeUpTo(other, worker, 10, ["a", "b", "c"])), [1, 3]);
  },

  "a pause for a time ends by the store's clock, for one queue and for all, and wakes waiters": async (open) => {
    await using t = await open();
    const other = await t.another();
    const worker = await register(t.store);
    for (const queue of ["default", ALL_QUEUES]) {
      await t.store.jobs.enqueue([job(1)]);
      await t.store.admin.configure(queue, { pause: HOUR_MS });
      const shown = (await other.admin.stats()).queues.find(({ name }) => name === queue);
      assertEquals(shown?.paused, true);
      assertAlmostEquals(shown?.pausedForMs ?? 0, HOUR_MS, SLACK_MS);
      assertEquals(numbers(await takeUpTo(other, worker)), []);
      await woken(
        (signal) => other.watch({ work: ["default"] }, signal),
        () => Promise.resolve(t.advance(2 * HOUR_MS)),
      );
      assertEquals((await other.admin.stats()).queues.filter(({ paused }) => paused), []);
      await register(t.store);
      assertEquals(numbers(await takeUpTo(other, worker)), [1]);
    }
  },

  "the last pause counts, with or without an end, and a resume ends either": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const paused = async () =>
      (await t.store.admin.stats()).queues.map(({ paused, pausedForMs }) => [paused, pausedForMs !== undefined]);
    await t.store.admin.configure("default", { pause: HOUR_MS });
    await t.store.admin.configure("default", { pause: true });
    assertEquals(await paused(), [[true, false]]);
    await t.store.admin.configure("default", { pause: HOUR_MS });
    assertEquals(await paused(), [[true, true]]);
    await t.store.admin.configure("default", { pause: false });
    assertEquals(await paused(), [[false, false]]);
    assertEquals(numbers(await takeUpTo(t.store, worker)), [1]);
  },
};
