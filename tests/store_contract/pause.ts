/**
 * Queues are paused and resumed.
 *
 * @module
 */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { ALL_QUEUES } from "../../src/store/port/paused_queues.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import { HOUR_MS, job, numbers, numbersIn, register, takeUpTo, woken } from "./jobs.ts";

export const pause: Cases = {
  "a paused queue is passed over, by all connections, until it is resumed": async (open) => {
    await using t = await open();
    const other = await t.another();
    const owner = await register(t.store);
    await t.store.enqueue([job(1, { queue: "a" }), job(2, { queue: "b" }), job(3, { queue: "a" })]);
    await t.store.pause("a");
    assertEquals(numbers(await takeUpTo(other, owner, 10, ["a", "b"])), [2]);
    assertEquals(numbers(await takeUpTo(t.store, owner, 10, ["a", "b"])), []);
    await other.resume("a");
    assertEquals(numbers(await takeUpTo(t.store, owner, 10, ["a", "b"])), [1, 3]);
  },

  "jobs come into a paused queue, and go back to it": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.enqueue([job(1)]);
    const [lease] = await takeUpTo(t.store, owner);
    await t.store.pause("default");
    await t.store.enqueue([job(2)]);
    await t.store.settle(owner, [{ kind: "release", token: lease!.token }]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [1, 2]);
  },

  "a lease from before the pause can be settled": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.enqueue([job(1)]);
    const [lease] = await takeUpTo(t.store, owner);
    await t.store.pause("default");
    assertEquals((await t.store.settle(owner, [{ kind: "ack", token: lease!.token }])).lost, []);
  },

  "an empty queue can be paused, twice, and is listed": async (open) => {
    await using t = await open();
    await t.store.pause("mail");
    await t.store.pause("mail");
    assertEquals(await t.store.queues(), [{ name: "mail", size: 0, latencyMs: 0, paused: true }]);
    await t.store.resume("mail");
    await t.store.resume("mail");
    await t.store.resume("never");
    assertEquals((await t.store.queues()).filter((queue) => queue.paused), []);
  },

  "an empty queue that is not paused can be forgotten, and is known again with its next job": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.pause("typo");
    await t.store.enqueue([job(1, { queue: "full" }), job(2, { queue: "ran" })]);
    const [lease] = await takeUpTo(t.store, owner, 1, ["ran"]);
    await t.store.settle(owner, [{ kind: "ack", token: lease!.token }]);
    const names = async () => (await t.store.queues()).map(({ name }) => name).sort();
    for (const name of ["typo", "full", "never"]) assertEquals(await t.store.forgetQueue(name), false, name);
    assertEquals(await t.store.forgetQueue("ran"), true);
    assertEquals(await names(), ["full", "typo"]);
    await t.store.resume("typo");
    await t.store.forgetQueue("typo");
    assertEquals(await names(), ["full"]);
    await t.store.enqueue([job(3, { queue: "ran" })]);
    const [again] = await takeUpTo(t.store, owner, 1, ["ran"]);
    await t.store.forgetQueue("ran");
    await t.store.settle(owner, [{ kind: "release", token: again!.token }]);
    assertEquals([await names(), numbers(await takeUpTo(t.store, owner, 1, ["ran"]))], [["full", "ran"], [3]]);
  },

  "what stands for all queues is listed while they are paused, and is no queue else": async (open) => {
    await using t = await open();
    await t.store.pause(ALL_QUEUES);
    assertEquals((await t.store.queues()).map(({ name, paused }) => [name, paused]), [[ALL_QUEUES, true]]);
    await t.store.resume(ALL_QUEUES);
    assertEquals(await t.store.queues(), []);
    await t.store.pause(ALL_QUEUES, HOUR_MS);
    t.advance(2 * HOUR_MS);
    assertEquals(await t.store.queues(), []);
  },

  "of queues that are named it is told which are paused, and for how long": async (open) => {
    await using t = await open();
    assertEquals(await t.store.pauses([ALL_QUEUES, "a", "b"]), []);
    await t.store.pause("a");
    await t.store.pause("b", HOUR_MS);
    await t.store.pause(ALL_QUEUES);
    const [all, a, b, ...none] = await t.store.pauses([ALL_QUEUES, "a", "b", "never"]);
    assertEquals([all, a, none], [{ name: ALL_QUEUES, paused: true }, { name: "a", paused: true }, []]);
    assertEquals([b?.name, b?.paused], ["b", true]);
    assertAlmostEquals(b?.pausedForMs ?? 0, HOUR_MS, SLACK_MS);
    await t.store.resume("a");
    await t.store.resume(ALL_QUEUES);
    t.advance(2 * HOUR_MS);
    assertEquals(await t.store.pauses([ALL_QUEUES, "a", "b"]), []);
    assertEquals(await t.store.pauses([]), []);
  },

  "all queues can be paused, those to come included; what was paused by name stays so afterwards": async (open) => {
    await using t = await open();
    const other = await t.another();
    const owner = await register(t.store);
    await t.store.enqueue([job(1, { queue: "a" }), job(2, { queue: "b" })]);
    await t.store.pause("b");
    await t.store.pause(ALL_QUEUES);
    await t.store.enqueue([job(3, { queue: "c" })]);
    assertEquals(numbers(await takeUpTo(other, owner, 10, ["a", "b", "c"])), []);
    assertEquals((await t.store.queues()).find((queue) => queue.name === ALL_QUEUES)?.paused, true);
    const woken = other.waitForWork(["a"], new AbortController().signal);
    await t.store.resume(ALL_QUEUES);
    await woken;
    assertEquals(numbers(await takeUpTo(other, owner, 10, ["a", "b", "c"])), [1, 3]);
  },

  "a pause for a time ends by the store's clock, of one queue and of all, and who waits notices": async (open) => {
    await using t = await open();
    const other = await t.another();
    const owner = await register(t.store);
    for (const queue of ["default", ALL_QUEUES]) {
      await t.store.enqueue([job(1)]);
      await t.store.pause(queue, HOUR_MS);
      const shown = (await other.queues()).find(({ name }) => name === queue);
      assertEquals(shown?.paused, true);
      assertAlmostEquals(shown?.pausedForMs ?? 0, HOUR_MS, SLACK_MS);
      assertEquals(numbers(await takeUpTo(other, owner)), []);
      await woken((signal) => other.waitForWork(["default"], signal), () => Promise.resolve(t.advance(2 * HOUR_MS)));
      assertEquals((await other.queues()).filter(({ paused }) => paused), []);
      await register(t.store);
      assertEquals(numbers(await takeUpTo(other, owner)), [1]);
    }
  },

  "the last pause counts, with its time or without; a resumption ends either": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.enqueue([job(1)]);
    const paused = async () =>
      (await t.store.queues()).map(({ paused, pausedForMs }) => [paused, pausedForMs !== undefined]);
    await t.store.pause("default", HOUR_MS);
    await t.store.pause("default");
    assertEquals(await paused(), [[true, false]]);
    await t.store.pause("default", HOUR_MS);
    assertEquals(await paused(), [[true, true]]);
    await t.store.resume("default");
    assertEquals(await paused(), [[false, false]]);
    assertEquals(numbers(await takeUpTo(t.store, owner)), [1]);
  },
};
