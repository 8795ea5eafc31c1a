/**
 * Taking jobs.
 *
 * @module
 */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import type { Lease } from "../../src/store/port/jobs.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import { assertSamePayload, entries, job, jobs, numbers, numbersIn, register, takeUpTo } from "./jobs.ts";

export const take: Cases = {
  "takes the oldest jobs first": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 3));
    await t.store.jobs.enqueue(jobs(4, 5));
    assertEquals(numbers(await takeUpTo(t.store, worker, 2)), [1, 2]);
    assertEquals(numbers(await takeUpTo(t.store, worker, 2)), [3, 4]);
    assertEquals(numbers(await takeUpTo(t.store, worker, 2)), [5]);
    assertEquals(await takeUpTo(t.store, worker, 2), []);
  },

  "a take with limit 0 keeps the leases of every take whose reply arrived": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 2));
    const [{ token }] = await takeUpTo(t.store, worker, 1) as [Lease];
    assertEquals(await t.store.jobs.take({ queues: [], limit: 0, worker }), []);
    assertEquals(await t.store.jobs.stillLeased(worker, [token]), [token]);
    assertEquals(numbers(await takeUpTo(t.store, worker, 2)), [2]);
  },

  "stillLeased returns all leases of a worker without tokens": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 3));
    const tokens = (await takeUpTo(t.store, worker, 2)).map(({ token }) => token);
    await takeUpTo(t.store, await register(t.store, "other:1:0"), 1);
    assertEquals((await t.store.jobs.stillLeased(worker)).sort(), tokens.sort());
    assertEquals(await t.store.jobs.stillLeased("unknown:1:0"), []);
  },

  "a lease has the payload as stored, its queue, and a unique token": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 3, { queue: "mail" }));
    const stored = await entries(t.store, { in: "queue", queue: "mail" });
    const leases = await takeUpTo(t.store, worker, 10, ["mail"]);
    assertEquals(leases.map((lease) => lease.payload), stored.map((entry) => entry.payload));
    assertSamePayload(leases[0]!.payload, job(1, { queue: "mail" }).payload);
    assertEquals(leases.map((lease) => lease.queue), ["mail", "mail", "mail"]);
    assertEquals(new Set(leases.map((lease) => lease.token)).size, 3);
  },

  "empties a queue before the next one": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1, { queue: "low" }), job(2, { queue: "high" }), job(3, { queue: "high" })]);
    assertEquals(numbers(await takeUpTo(t.store, worker, 2, ["high", "low"])), [2, 3]);
    assertEquals(numbers(await takeUpTo(t.store, worker, 2, ["high", "low"])), [1]);
  },

  "one call may empty several queues": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1, { queue: "low" }), job(2, { queue: "high" }), job(3, { queue: "low" })]);
    const leases = await takeUpTo(t.store, worker, 10, ["high", "none", "low", "high"]);
    assertEquals(numbers(leases), [2, 1, 3]);
    assertEquals(leases.map((lease) => lease.queue), ["high", "low", "low"]);
  },

  "doesn't take from other queues": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1, { queue: "other" })]);
    assertEquals(await takeUpTo(t.store, worker), []);
    assertEquals(await takeUpTo(t.store, worker, 10, []), []);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "other" }), [1]);
  },

  "a limit of 0 takes nothing": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    assertEquals(await takeUpTo(t.store, worker, 0), []);
    assertEquals((await t.store.admin.stats()).enqueued, 1);
  },

  "a taken job is in one place: a lease": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 3));
    await takeUpTo(t.store, worker, 2);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [3]);
    const leased = await entries(t.store, { in: "running" });
    assertEquals(numbers(leased).sort(), [1, 2]);
    for (const entry of leased) {
      assertEquals(entry.worker, worker);
      assertAlmostEquals(entry.at!, t.now(), SLACK_MS);
    }
    const { enqueued, running: count } = await t.store.admin.stats();
    assertEquals([enqueued, count], [1, 2]);
  },

  "accepts any name of a queue": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const names = ["a:b", "A:B", "ä", "x.y-z_0", "*"];
    await t.store.jobs.enqueue(names.map((queue, i) => job(i, { queue })));
    for (const [i, queue] of names.entries()) {
      assertEquals(numbers(await takeUpTo(t.store, worker, 10, [queue])), [i]);
    }
  },
};
