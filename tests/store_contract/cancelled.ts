/**
 * A job that was cancelled while it had a lease never returns to its queue.
 *
 * @module
 */
import { receiveCommands } from "../../src/store/ops/await.ts";
import { assertEquals } from "@std/assert";
import type { Store } from "../../src/store/admin/store.ts";
import { cancelJob } from "../../src/store/ops/cancel.ts";
import type { Lease } from "../../src/store/port/jobs.ts";
import { CANCELLED_WORKER } from "../../src/store/port/workers.ts";
import type { Cases, TestStore } from "./harness.ts";
import {
  assertSamePayload,
  entries,
  jid,
  jobs,
  lapse,
  numbers,
  numbersIn,
  register,
  rescueFor,
  RESCUER,
  takeUpTo,
} from "./jobs.ts";

const QUEUE = { in: "queue", queue: "default" } as const;
const RUNNING = { in: "running" } as const;
const NEVER = new AbortController().signal;

export const cancelled: Cases = {
  "a rescue returns a cancelled job as doomed, and others to their queue": async (open) => {
    await using t = await open();
    const { worker, leases } = await taken(t);
    assertEquals(await cancelJob(t.store, jid(2), 0), "aborted");
    await lapse(t);
    for (const rescued of [2, 0]) {
      const result = await rescueFor(t.store);
      assertEquals([result.rescued, result.offline, result.more], [rescued, [worker], false]);
      const { payload, ...rest } = leases[1]!;
      assertSamePayload(result.doomed[0]!.payload, payload, ["suspected"]);
      assertEquals(result.doomed.map(({ payload: _, ...one }) => one), [{
        ...rest,
        worker,
        deaths: 0,
        cancelled: true,
      }]);
    }
    assertEquals([await numbersIn(t.store, QUEUE), await numbersIn(t.store, RUNNING)], [[1, 3], [2]]);
    await end(t.store, worker, leases[1]!.token);
  },

  "a job whose worker's heartbeat has lapsed is cancelled, and its worker finds the command if it continues": async (
    open,
  ) => {
    await using t = await open();
    const { worker, leases } = await taken(t);
    await lapse(t);
    assertEquals(await cancelJob(t.store, jid(2), 0), "aborted");
    assertEquals(await receiveCommands(t.store, worker, NEVER), [{ verb: "cancel", jid: jid(2) }]);
    assertEquals(numbers((await rescueFor(t.store)).doomed), [2]);
    assertEquals(await numbersIn(t.store, QUEUE), [1, 3]);
    await end(t.store, worker, leases[1]!.token);
  },

  "an entry tells that its job was cancelled, until it ends": async (open) => {
    await using t = await open();
    const { worker, leases } = await taken(t);
    await cancelJob(t.store, jid(2), 0);
    const cancelled = async () => {
      const [page, found, texts] = await Promise.all([
        entries(t.store, RUNNING),
        t.store.jobs.find([jid(1), jid(2), jid(3)]),
        t.store.jobs.find({ text: "HardJob", limit: 9 }),
      ]);
      const got = await t.store.admin.get(page.map(({ ref }) => ref));
      return [page, found, texts, got].map((list) => numbers(list.flatMap((one) => one?.cancelled ? [one] : [])));
    };
    assertEquals(await cancelled(), Array(4).fill([2]));
    await t.store.jobs.settle(worker, [{ kind: "release", token: leases[1]!.token }]);
    assertEquals(await cancelled(), Array(4).fill([2]));
    await lapse(t);
    assertEquals(await cancelled(), Array(4).fill([2]));
  },

  "a job that was cancelled outweighs that it killed its worker": async (open) => {
    await using t = await open();
    const { worker, leases } = await taken(t);
    await t.store.workers.note(worker, { running: { tokens: [leases[1]!.token], alone: true } });
    await cancelJob(t.store, jid(2), 0);
    await lapse(t);
    const { doomed } = await rescueFor(t.store, 100, 1);
    assertEquals(doomed.map(({ cancelled, deaths }) => [cancelled, deaths]), [[true, 0]]);
  },

  "a worker that releases a cancelled job or deregisters passes it to a rescue, not to the queue": async (open) => {
    await using t = await open();
    const { worker, leases } = await taken(t);
    await cancelJob(t.store, jid(1), 0);
    await cancelJob(t.store, jid(2), 0);
    const released = leases.slice(1).map(({ token }) => ({ kind: "release" as const, token }));
    assertEquals(await t.store.jobs.settle(worker, released), { lost: [], dropped: 0 });
    assertEquals([await numbersIn(t.store, QUEUE), await runningAt(t.store)], [[3], [CANCELLED_WORKER, worker]]);
    await t.store.workers.deregister(worker);
    assertEquals(await runningAt(t.store), [CANCELLED_WORKER, CANCELLED_WORKER]);
    assertEquals([await numbersIn(t.store, QUEUE), await t.store.workers.list()], [[3], []]);
    await lapse(t);
    const { doomed, rescued, waits } = await rescueFor(t.store);
    assertEquals([numbers(doomed).sort(), rescued, waits], [[1, 2], 0, false]);
    assertEquals(doomed.map((one) => [one.worker, one.cancelled]), Array(2).fill([CANCELLED_WORKER, true]));
    const ends = doomed.map(({ token }) => ({ kind: "ack" as const, token }));
    assertEquals((await t.store.jobs.settle(CANCELLED_WORKER, ends)).lost, []);
    await rescueFor(t.store);
    assertEquals(await numbersIn(t.store, RUNNING), []);
  },

  "a lease that the worker no longer has is not cancelled, also by a worker that is alive": async (open) => {
    await using t = await open();
    const { worker, leases } = await taken(t);
    const [, { ref }] = await entries(t.store, RUNNING) as [unknown, { ref: string }];
    await t.store.jobs.settle(worker, [{ kind: "release", token: leases[1]!.token }]);
    assertEquals(await t.store.workers.send(worker, { verb: "cancel", jid: jid(2), ref }), false);
    assertEquals(await t.store.workers.send("host:9:dddddddddddd", { verb: "cancel", jid: jid(1), ref }), false);
    assertEquals(await t.store.workers.send(worker, { verb: "cancel", jid: jid(2), ref: "no ref" }), false);
    assertEquals(await cancelJob(t.store, jid(2), 0), "removed");
  },

  "a cancelled job that fails or sleeps ends instead of running again": async (open) => {
    await using t = await open();
    const { worker, leases } = await taken(t);
    await cancelJob(t.store, jid(1), 0);
    await cancelJob(t.store, jid(2), 0);
    const [retry, snooze] = leases as [Lease, Lease];
    const outcomes = [
      { kind: "retry" as const, token: retry.token, delayMs: 0, payload: retry.payload },
      { kind: "snooze" as const, token: snooze.token, delayMs: 0, payload: snooze.payload },
    ];
    assertEquals(await t.store.jobs.settle(worker, outcomes), { lost: [], dropped: 0 });
    t.advance(1_000);
    assertEquals((await t.store.jobs.promote(10)).moved, 0);
    assertEquals(await runningAt(t.store), [CANCELLED_WORKER, CANCELLED_WORKER, worker]);
    const { doomed, rescued } = await rescueFor(t.store);
    assertEquals([numbers(doomed).sort(), rescued], [[1, 2], 0]);
  },

  "a job that runs again after its lease was cancelled isn't cancelled by that": async (open) => {
    await using t = await open();
    const { worker, leases } = await taken(t);
    const [one, two] = leases as [Lease, Lease];
    await cancelJob(t.store, jid(1), 0);
    await t.store.jobs.settle(worker, [
      { kind: "ack", token: one.token },
      { kind: "retry", token: two.token, delayMs: 0, payload: two.payload },
    ]);
    await t.store.jobs.enqueue(jobs(1, 1));
    t.advance(1_000);
    await t.store.jobs.promote(10);
    assertEquals((await takeUpTo(t.store, worker)).length, 2);
    await lapse(t);
    const { rescued, doomed } = await rescueFor(t.store);
    assertEquals([rescued, doomed], [3, []]);
  },
};

/** Lets a worker take three jobs. */
async function taken(t: TestStore) {
  const worker = await register(t.store);
  await t.store.jobs.enqueue(jobs(1, 3));
  return { worker, leases: await takeUpTo(t.store, worker) };
}

/** Returns the workers of the running jobs, sorted. */
async function runningAt(store: Store): Promise<(string | undefined)[]> {
  return (await entries(store, RUNNING)).map(({ worker }) => worker).sort();
}

/** Settles the job: then the next rescue removes its worker. */
async function end(store: Store, worker: string, token: string): Promise<void> {
  assertEquals((await store.jobs.settle(worker, [{ kind: "ack", token }])).lost, []);
  await rescueFor(store);
  assertEquals((await store.workers.list()).map(({ id }) => id), [RESCUER]);
  assertEquals(await numbersIn(store, RUNNING), []);
}
