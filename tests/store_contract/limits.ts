/**
 * Limits of queues: how many of their jobs run at once, and how many start within a period.
 *
 * @module
 */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { ALL_QUEUES } from "../../src/store/port/paused_queues.ts";
import type { Cases } from "./harness.ts";
import { HOUR_MS, job, jobs, lapse, numbers, register, rescueFor, takeUpTo, woken } from "./jobs.ts";

export const limits: Cases = {
  "all workers together respect the limit of a queue, and other queues aren't affected": async (
    open,
  ) => {
    await using t = await open();
    const other = await t.another();
    const [one, two] = [await register(t.store, "one:1:a"), await register(other, "two:2:b")];
    await t.store.admin.configure("default", { limit: { running: 3 } });
    await t.store.jobs.enqueue([...jobs(1, 10), job(11, { queue: "free" }), job(12, { queue: "free" })]);
    assertEquals(numbers(await takeUpTo(t.store, one, 2)), [1, 2]);
    assertEquals(numbers(await takeUpTo(other, two, 10, ["default", "free"])), [3, 11, 12]);
    assertEquals(await takeUpTo(t.store, one), []);
  },

  "a limit whose group is undefined is that of the queue": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { limit: { running: 1 }, group: undefined });
    await t.store.jobs.enqueue(jobs(1, 3));
    assertEquals(numbers(await takeUpTo(t.store, worker)), [1]);
  },

  "after any end of a job, another may run": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { limit: { running: 1 } });
    await t.store.jobs.enqueue(jobs(1, 7));
    const payload = job(0).payload;
    const delayMs = HOUR_MS;
    const next = async () => (await takeUpTo(t.store, worker, 1))[0]!;
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
      assertEquals(await takeUpTo(t.store, worker), []);
      await t.store.jobs.settle(worker, [{ ...end, token: lease.token }]);
    }
    assertEquals(numbers([await next()]), [6]);
  },

  "the leases of an offline worker count until they are rescued": async (open) => {
    await using t = await open();
    const dead = await register(t.store, "dead:1:a");
    await t.store.admin.configure("default", { limit: { running: 2 } });
    await t.store.jobs.enqueue(jobs(1, 3));
    assertEquals(numbers(await takeUpTo(t.store, dead)), [1, 2]);
    await lapse(t);
    const worker = await register(t.store, "live:2:b");
    assertEquals(await takeUpTo(t.store, worker), []);
    await rescueFor(t.store, 10, 3);
    assertEquals(numbers(await takeUpTo(t.store, worker)), [1, 2]);
  },

  "the leases of a deregistered worker no longer count": async (open) => {
    await using t = await open();
    const [leaving, staying] = [await register(t.store, "leaving:1:a"), await register(t.store, "staying:2:b")];
    await t.store.admin.configure("default", { limit: { running: 1 } });
    await t.store.jobs.enqueue(jobs(1, 2));
    assertEquals(numbers(await takeUpTo(t.store, leaving)), [1]);
    await t.store.workers.deregister(leaving);
    assertEquals(numbers(await takeUpTo(t.store, staying)), [1]);
  },

  "a new limit counts running jobs, also those taken under another limit": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 10));
    const leases = await takeUpTo(t.store, worker, 4);
    await t.store.admin.configure("default", { limit: { running: 3 } });
    assertEquals(await takeUpTo(t.store, worker), []);
    await t.store.jobs.settle(worker, leases.slice(0, 2).map(({ token }) => ({ kind: "ack", token })));
    assertEquals(numbers(await takeUpTo(t.store, worker)), [5]);
    await t.store.admin.configure("default", { limit: { running: 5 } });
    assertEquals(numbers(await takeUpTo(t.store, worker)), [6, 7]);
    await t.store.admin.configure("default", { limit: {} });
    assertEquals(numbers(await takeUpTo(t.store, worker)), [8, 9, 10]);
  },

  "respects the limit of starts in every period": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const took = async (limit = 100) => numbers(await takeUpTo(t.store, worker, limit)).length;
    await t.store.admin.configure("default", { limit: { starts: { count: 4, perMs: 10 * HOUR_MS } } });
    await t.store.jobs.enqueue(jobs(1, 100));
    assertEquals(await took(1), 1);
    t.advance(4 * HOUR_MS);
    assertEquals([await took(2), await took()], [2, 1]);
    t.advance(5 * HOUR_MS);
    await register(t.store);
    assertEquals(await took(), 0);
    t.advance(2 * HOUR_MS); // the first start no longer counts
    await register(t.store);
    assertEquals([await took(), await took()], [1, 0]);
    t.advance(4 * HOUR_MS); // nor do the next three
    await register(t.store);
    assertEquals([await took(), await took()], [3, 0]);
  },

  "a clock that is set back blocks no queue for longer than its period": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { limit: { starts: { count: 2, perMs: HOUR_MS } } });
    await t.store.jobs.enqueue(jobs(1, 10));
    assertEquals(numbers(await takeUpTo(t.store, worker)), [1, 2]);
    t.advance(-10 * HOUR_MS);
    // A waiter tries to take at once, which fixes the time of the next start.
    await woken((signal) => t.store.watch({ work: ["default"] }, signal), () => Promise.resolve());
    assertEquals(await takeUpTo(t.store, worker), []);
    const { limit } = (await t.store.admin.stats()).queues.find(({ name }) => name === "default")!;
    assertEquals(limit!.started, 2);
    assertAlmostEquals(limit!.freeInMs!, HOUR_MS, 20_000);
    t.advance(HOUR_MS);
    assertEquals(numbers(await takeUpTo(t.store, worker)), [3, 4]);
    assertEquals(await takeUpTo(t.store, worker), []);
  },

  "with both limits, the stricter one counts": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { limit: { running: 2, starts: { count: 3, perMs: HOUR_MS } } });
    await t.store.jobs.enqueue(jobs(1, 10));
    const leases = await takeUpTo(t.store, worker);
    assertEquals(numbers(leases), [1, 2]);
    await t.store.jobs.settle(worker, leases.map(({ token }) => ({ kind: "ack", token })));
    assertEquals(numbers(await takeUpTo(t.store, worker)), [3]);
    assertEquals(await takeUpTo(t.store, worker), []);
  },

  "stats returns the limit, its use, and when the next job may start": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const told = async (name = "default") =>
      (await t.store.admin.stats()).queues.find((queue) => queue.name === name)?.limit;
    const starts = { count: 2, perMs: HOUR_MS };
    await t.store.admin.configure("empty", { limit: { starts } });
    assertEquals(await told("empty"), { starts, taken: 0, started: 0, freeInMs: 0 });
    await t.store.admin.configure("default", { limit: { running: 3, starts } });
    await t.store.jobs.enqueue(jobs(1, 5));
    await takeUpTo(t.store, worker, 1);
    t.advance(HOUR_MS / 2);
    assertEquals(await told(), { running: 3, starts, taken: 1, started: 1, freeInMs: 0 });
    await takeUpTo(t.store, worker);
    const { freeInMs, ...rest } = (await told())!;
    assertEquals(rest, { running: 3, starts, taken: 2, started: 2 });
    assertAlmostEquals(freeInMs!, HOUR_MS / 2, 20_000);
    await t.store.admin.configure("default", { limit: { running: 2 } });
    assertEquals(await told(), { running: 2, taken: 2, started: 0, freeInMs: undefined });
    await t.store.admin.configure("default", { limit: {} });
    assertEquals(await told(), undefined);
  },

  "a wait for work ends when any worker's job of a limited queue has ended": async (open) => {
    await using t = await open();
    const other = await t.another();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { limit: { running: 1 } });
    await t.store.jobs.enqueue(jobs(1, 3));
    for (const waiting of [t.store, other]) {
      const [lease] = await takeUpTo(t.store, worker);
      await woken(
        (signal) => waiting.watch({ work: ["default"] }, signal),
        () => t.store.jobs.settle(worker, [{ kind: "ack", token: lease!.token }]),
      );
    }
  },

  "a wait for work ends when the next job may start, and when the limit is removed": async (open) => {
    await using t = await open();
    const other = await t.another();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { limit: { starts: { count: 1, perMs: HOUR_MS } } });
    await t.store.jobs.enqueue(jobs(1, 5));
    await takeUpTo(t.store, worker);
    await woken((signal) => other.watch({ work: ["default"] }, signal), () => Promise.resolve(t.advance(HOUR_MS)));
    await register(t.store);
    await takeUpTo(t.store, worker);
    await woken(
      (signal) => other.watch({ work: ["default"] }, signal),
      () => t.store.admin.configure("default", { limit: {} }),
    );
  },

  "jobs of a queue at its limit wake no waiter, and those of other queues do": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { limit: { running: 1 } });
    await t.store.jobs.enqueue(jobs(1, 2));
    await takeUpTo(t.store, worker);
    let isWoken = false;
    await woken(async (signal) => {
      await t.store.watch({ work: ["default", "other"] }, signal);
      isWoken = true;
    }, async () => {
      await t.store.jobs.enqueue([job(3)]);
      // When a later waiter is woken, all others that this push or an existing job wakes were woken, too.
      await woken(
        (later) => t.store.watch({ work: ["third"] }, later),
        () => t.store.jobs.enqueue([job(5, { queue: "third" })]),
      );
      assertEquals(isWoken, false);
      await t.store.jobs.enqueue([job(4, { queue: "other" })]);
    });
  },

  "hasQueuedJobs counts jobs of queues at their limit, not of paused ones": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("default", { limit: { running: 1 } });
    await t.store.jobs.enqueue([job(1, { queue: "other" })]);
    const hasJobs = () => t.store.jobs.hasQueuedJobs(["free", "default"]);
    assertEquals(await hasJobs(), false);
    await t.store.jobs.enqueue([job(2, { queue: "free" })]);
    assertEquals(await hasJobs(), true);
    await takeUpTo(t.store, worker, 10, ["free"]);
    assertEquals(await hasJobs(), false);
    await t.store.jobs.enqueue(jobs(3, 4));
    assertEquals(await hasJobs(), true);
    await takeUpTo(t.store, worker);
    assertEquals(await hasJobs(), true);
    for (const name of ["default", ALL_QUEUES]) {
      await t.store.admin.configure(name, { pause: true });
      assertEquals(await hasJobs(), false, name);
      await t.store.admin.configure(name, { pause: false });
    }
  },

  "an empty queue with a limit can't be forgotten": async (open) => {
    await using t = await open();
    await t.store.admin.configure("default", { limit: { running: 1 } });
    assertEquals(await t.store.admin.configure("default", { forget: true }), false);
    await t.store.jobs.enqueue([job(1)]);
    const worker = await register(t.store);
    const [lease] = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: lease!.token }]);
    assertEquals(await t.store.admin.configure("default", { forget: true }), false);
    await t.store.admin.configure("default", { limit: {} });
    assertEquals(await t.store.admin.configure("default", { forget: true }), true);
  },
};
