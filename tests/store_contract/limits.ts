/**
 * Queues are limited: how many of their jobs run at once, and how many start in a time.
 *
 * @module
 */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { ALL_QUEUES } from "../../src/store/port/paused_queues.ts";
import type { Cases } from "./harness.ts";
import { HOUR_MS, job, jobs, lapse, numbers, register, rescueFor, takeUpTo, woken } from "./jobs.ts";

export const limits: Cases = {
  "no more of a queue's jobs run than its limit, all processes together; other queues are not concerned": async (
    open,
  ) => {
    await using t = await open();
    const other = await t.another();
    const [one, two] = [await register(t.store, "one:1:a"), await register(other, "two:2:b")];
    await t.store.admin.limit("default", { running: 3 });
    await t.store.jobs.enqueue([...jobs(1, 10), job(11, { queue: "free" }), job(12, { queue: "free" })]);
    assertEquals(numbers(await takeUpTo(t.store, one, 2)), [1, 2]);
    assertEquals(numbers(await takeUpTo(other, two, 10, ["default", "free"])), [3, 11, 12]);
    assertEquals(await takeUpTo(t.store, one), []);
  },

  "however a job ends, another may run: done, failed, snoozed, dead, given back": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.admin.limit("default", { running: 1 });
    await t.store.jobs.enqueue(jobs(1, 7));
    const payload = job(0).payload;
    const delayMs = HOUR_MS;
    const next = async () => (await takeUpTo(t.store, owner, 1))[0]!;
    for (
      const [i, end] of ([
        { kind: "ack" },
        { kind: "discard" },
        { kind: "retry", delayMs, payload },
        { kind: "snooze", delayMs, payload },
        { kind: "bury", payload },
        { kind: "release" },
      ] as const).entries()
    ) {
      const lease = await next();
      assertEquals(numbers([lease]), [i + 1], end.kind);
      assertEquals(await takeUpTo(t.store, owner), []);
      await t.store.jobs.settle(owner, [{ ...end, token: lease.token }]);
    }
    assertEquals(numbers([await next()]), [6]);
  },

  "what a process that died was running counts until it is rescued, and no longer": async (open) => {
    await using t = await open();
    const dead = await register(t.store, "dead:1:a");
    await t.store.admin.limit("default", { running: 2 });
    await t.store.jobs.enqueue(jobs(1, 3));
    assertEquals(numbers(await takeUpTo(t.store, dead)), [1, 2]);
    await lapse(t);
    const owner = await register(t.store, "live:2:b");
    assertEquals(await takeUpTo(t.store, owner), []);
    await rescueFor(t.store, 10, 3);
    assertEquals(numbers(await takeUpTo(t.store, owner)), [1, 2]);
  },

  "what a process that leaves was running no longer counts": async (open) => {
    await using t = await open();
    const [leaving, staying] = [await register(t.store, "leaving:1:a"), await register(t.store, "staying:2:b")];
    await t.store.admin.limit("default", { running: 1 });
    await t.store.jobs.enqueue(jobs(1, 2));
    assertEquals(numbers(await takeUpTo(t.store, leaving)), [1]);
    await t.store.workers.deregister(leaving);
    assertEquals(numbers(await takeUpTo(t.store, staying)), [1]);
  },

  "a limit counts what runs already, and what was taken under another one": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 10));
    const leases = await takeUpTo(t.store, owner, 4);
    await t.store.admin.limit("default", { running: 3 });
    assertEquals(await takeUpTo(t.store, owner), []);
    await t.store.jobs.settle(owner, leases.slice(0, 2).map(({ token }) => ({ kind: "ack", token })));
    assertEquals(numbers(await takeUpTo(t.store, owner)), [5]);
    await t.store.admin.limit("default", { running: 5 });
    assertEquals(numbers(await takeUpTo(t.store, owner)), [6, 7]);
    await t.store.admin.limit("default", {});
    assertEquals(numbers(await takeUpTo(t.store, owner)), [8, 9, 10]);
  },

  "no more jobs start in any time than the limit, wherever that time begins": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    const took = async (limit = 100) => numbers(await takeUpTo(t.store, owner, limit)).length;
    await t.store.admin.limit("default", { starts: { count: 4, perMs: 10 * HOUR_MS } });
    await t.store.jobs.enqueue(jobs(1, 100));
    assertEquals(await took(1), 1);
    t.advance(4 * HOUR_MS);
    assertEquals([await took(2), await took()], [2, 1]);
    t.advance(5 * HOUR_MS);
    await register(t.store);
    assertEquals(await took(), 0);
    t.advance(2 * HOUR_MS); // the first is out
    await register(t.store);
    assertEquals([await took(), await took()], [1, 0]);
    t.advance(4 * HOUR_MS); // so are the next three
    await register(t.store);
    assertEquals([await took(), await took()], [3, 0]);
  },

  "a clock that is put back holds no queue up for longer than its limit's time": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.admin.limit("default", { starts: { count: 2, perMs: HOUR_MS } });
    await t.store.jobs.enqueue(jobs(1, 10));
    assertEquals(numbers(await takeUpTo(t.store, owner)), [1, 2]);
    t.advance(-10 * HOUR_MS);
    // Whoever waits comes to look at once, and then it is known when the next may start.
    await woken((signal) => t.store.jobs.waitForWork(["default"], signal), () => Promise.resolve());
    assertEquals(await takeUpTo(t.store, owner), []);
    const { limit } = (await t.store.admin.stats()).queues.find(({ name }) => name === "default")!;
    assertEquals(limit!.started, 2);
    assertAlmostEquals(limit!.freeInMs!, HOUR_MS, 20_000);
    t.advance(HOUR_MS);
    assertEquals(numbers(await takeUpTo(t.store, owner)), [3, 4]);
    assertEquals(await takeUpTo(t.store, owner), []);
  },

  "both at once: what leaves less counts": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.admin.limit("default", { running: 2, starts: { count: 3, perMs: HOUR_MS } });
    await t.store.jobs.enqueue(jobs(1, 10));
    const leases = await takeUpTo(t.store, owner);
    assertEquals(numbers(leases), [1, 2]);
    await t.store.jobs.settle(owner, leases.map(({ token }) => ({ kind: "ack", token })));
    assertEquals(numbers(await takeUpTo(t.store, owner)), [3]);
    assertEquals(await takeUpTo(t.store, owner), []);
  },

  "the queue tells its limit, what is used of it, and when the next job may start": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    const told = async (name = "default") =>
      (await t.store.admin.stats()).queues.find((queue) => queue.name === name)?.limit;
    const starts = { count: 2, perMs: HOUR_MS };
    await t.store.admin.limit("empty", { starts });
    assertEquals(await told("empty"), { starts, taken: 0, started: 0, freeInMs: 0 });
    await t.store.admin.limit("default", { running: 3, starts });
    await t.store.jobs.enqueue(jobs(1, 5));
    await takeUpTo(t.store, owner, 1);
    t.advance(HOUR_MS / 2);
    assertEquals(await told(), { running: 3, starts, taken: 1, started: 1, freeInMs: 0 });
    await takeUpTo(t.store, owner);
    const { freeInMs, ...rest } = (await told())!;
    assertEquals(rest, { running: 3, starts, taken: 2, started: 2 });
    assertAlmostEquals(freeInMs!, HOUR_MS / 2, 20_000);
    await t.store.admin.limit("default", { running: 2 });
    assertEquals(await told(), { running: 2, taken: 2, started: 0, freeInMs: undefined });
    await t.store.admin.limit("default", {});
    assertEquals(await told(), undefined);
  },

  "who waits for work is woken when a job of a limited queue has ended, by whomever": async (open) => {
    await using t = await open();
    const other = await t.another();
    const owner = await register(t.store);
    await t.store.admin.limit("default", { running: 1 });
    await t.store.jobs.enqueue(jobs(1, 3));
    for (const waiting of [t.store, other]) {
      const [lease] = await takeUpTo(t.store, owner);
      await woken(
        (signal) => waiting.jobs.waitForWork(["default"], signal),
        () => t.store.jobs.settle(owner, [{ kind: "ack", token: lease!.token }]),
      );
    }
  },

  "who waits for work is woken when the next job may start, and when the limit is lifted": async (open) => {
    await using t = await open();
    const other = await t.another();
    const owner = await register(t.store);
    await t.store.admin.limit("default", { starts: { count: 1, perMs: HOUR_MS } });
    await t.store.jobs.enqueue(jobs(1, 5));
    await takeUpTo(t.store, owner);
    await woken((signal) => other.jobs.waitForWork(["default"], signal), () => Promise.resolve(t.advance(HOUR_MS)));
    await register(t.store);
    await takeUpTo(t.store, owner);
    await woken((signal) => other.jobs.waitForWork(["default"], signal), () => t.store.admin.limit("default", {}));
  },

  "while a queue is at its limit, its jobs wake nobody, and those of other queues do": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.admin.limit("default", { running: 1 });
    await t.store.jobs.enqueue(jobs(1, 2));
    await takeUpTo(t.store, owner);
    let isWoken = false;
    await woken(async (signal) => {
      await t.store.jobs.waitForWork(["default", "other"], signal);
      isWoken = true;
    }, async () => {
      await t.store.jobs.enqueue([job(3)]);
      // Whoever was to be woken by what is there, or by this push, has been when one who began later is woken.
      await woken(
        (later) => t.store.jobs.waitForWork(["third"], later),
        () => t.store.jobs.enqueue([job(5, { queue: "third" })]),
      );
      assertEquals(isWoken, false);
      await t.store.jobs.enqueue([job(4, { queue: "other" })]);
    });
  },

  "hasQueuedJobs: jobs of queues that are not paused, also of those at their limit": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.admin.limit("default", { running: 1 });
    await t.store.jobs.enqueue([job(1, { queue: "other" })]);
    const hasJobs = () => t.store.jobs.hasQueuedJobs(["free", "default"]);
    assertEquals(await hasJobs(), false);
    await t.store.jobs.enqueue([job(2, { queue: "free" })]);
    assertEquals(await hasJobs(), true);
    await takeUpTo(t.store, owner, 10, ["free"]);
    assertEquals(await hasJobs(), false);
    await t.store.jobs.enqueue(jobs(3, 4));
    assertEquals(await hasJobs(), true);
    await takeUpTo(t.store, owner);
    assertEquals(await hasJobs(), true);
    for (const name of ["default", ALL_QUEUES]) {
      await t.store.admin.pause(name);
      assertEquals(await hasJobs(), false, name);
      await t.store.admin.pause(name, 0);
    }
  },

  "an empty queue with a limit is not forgotten": async (open) => {
    await using t = await open();
    await t.store.admin.limit("default", { running: 1 });
    assertEquals(await t.store.admin.forgetQueue("default"), false);
    await t.store.jobs.enqueue([job(1)]);
    const owner = await register(t.store);
    const [lease] = await takeUpTo(t.store, owner);
    await t.store.jobs.settle(owner, [{ kind: "ack", token: lease!.token }]);
    assertEquals(await t.store.admin.forgetQueue("default"), false);
    await t.store.admin.limit("default", {});
    assertEquals(await t.store.admin.forgetQueue("default"), true);
  },
};
