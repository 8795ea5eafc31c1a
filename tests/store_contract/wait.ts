/**
 * Waits end when there may be work, from any source.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { countingSignal } from "../support/counting_signal.ts";
import type { Cases } from "./harness.ts";
import { entries, HOUR_MS, inDead, job, jobs, lapse, register, rescueFor, takeUpTo, woken } from "./jobs.ts";
import type { Store } from "../../src/store/admin/store.ts";

export const wait: Cases = {
  "waitForWork resolves if a queue has a job": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1)]);
    await woken((signal) => t.store.jobs.waitForWork(["other", "default"], signal), nothing);
  },

  "a wait that ends by itself leaves no listener on its signal": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const other = await t.another();
    await t.store.cron.read();
    await t.store.jobs.promote(1);
    const change = { name: "a", version: 0, definition: "d", state: "s", jobs: [], awaited: false, records: [] };
    const waits: readonly [(signal: AbortSignal) => Promise<unknown>, () => Promise<unknown>][] = [
      [(signal) => forWork(t.store, signal), () => other.jobs.enqueue([job(1)])],
      [(signal) => t.store.jobs.waitForDue(signal), () => other.jobs.enqueue([job(2, { delayMs: HOUR_MS })])],
      [(signal) => t.store.workers.receive(worker, signal), () => other.workers.send(worker, { verb: "quiet" })],
      [(signal) => t.store.cron.wait(signal), () => other.cron.write([change])],
    ];
    for (const [wait, act] of waits) {
      const counting = countingSignal();
      await woken(() => wait(counting.signal), act);
      assertEquals(counting.listeners, 0, wait.toString());
    }
  },

  "waitForWork resolves if a queue has a job, while others wait for other queues": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1)]);
    await woken(
      (signal) =>
        Promise.race([
          t.store.jobs.waitForWork(["other"], signal),
          t.store.workers.receive("unknown", signal),
          forWork(t.store, signal),
        ]),
      nothing,
    );
  },

  "waitForWork resolves on a push by the same connection": async (open) => {
    await using t = await open();
    await woken((signal) => forWork(t.store, signal), () => t.store.jobs.enqueue([job(1)]));
  },

  "waitForWork resolves on a push by another connection": async (open) => {
    await using t = await open();
    const other = await t.another();
    await woken((signal) => forWork(t.store, signal), () => other.jobs.enqueue([job(1)]));
  },

  "waitForWork resolves on a push to any of its queues": async (open) => {
    await using t = await open();
    const other = await t.another();
    await woken(
      (signal) => t.store.jobs.waitForWork(["a", "b", "c"], signal),
      () => other.jobs.enqueue([job(1, { queue: "c" })]),
    );
  },

  "waitForWork resolves on a push by another program": async (open) => {
    await using t = await open();
    await woken((signal) => forWork(t.store, signal), () => t.pushRaw("default", "{}"));
  },

  "waitForWork resolves on a push between the take and the wait": async (open) => {
    await using t = await open();
    const other = await t.another();
    assertEquals(await takeUpTo(t.store, await register(t.store)), []);
    await other.jobs.enqueue([job(1)]);
    await woken((signal) => forWork(t.store, signal), nothing);
  },

  "waitForWork resolves on a promotion": async (open) => {
    await using t = await open();
    const other = await t.another();
    await t.store.jobs.enqueue([job(1, { delayMs: HOUR_MS })]);
    t.advance(2 * HOUR_MS);
    await woken((signal) => forWork(t.store, signal), () => other.jobs.promote(10));
  },

  "waitForWork resolves on jobs that others release": async (open) => {
    await using t = await open();
    const other = await t.another();
    const worker = await register(other);
    await other.jobs.enqueue([job(1)]);
    const [lease] = await takeUpTo(other, worker);
    await woken(
      (signal) => forWork(t.store, signal),
      () => other.jobs.settle(worker, [{ kind: "release", token: lease!.token }]),
    );
    await takeUpTo(other, worker);
    await woken((signal) => forWork(t.store, signal), () => other.workers.deregister(worker));
  },

  "waitForWork resolves on a rescue": async (open) => {
    await using t = await open();
    const other = await t.another();
    await other.jobs.enqueue([job(1)]);
    await takeUpTo(other, await register(other));
    await lapse(t);
    await woken((signal) => forWork(t.store, signal), () => rescueFor(other, 10, 3));
  },

  "waitForWork resolves on a requeued dead job": async (open) => {
    await using t = await open();
    const other = await t.another();
    await inDead(other, await register(other), [job(1)]);
    const [entry] = await entries(other, { in: "dead" });
    await woken((signal) => forWork(t.store, signal), () => other.admin.edit([entry!.ref], "requeue"));
  },

  "waitForWork resolves on the resume of a paused queue": async (open) => {
    await using t = await open();
    const other = await t.another();
    await other.admin.configure("default", { pause: true });
    await other.jobs.enqueue([job(1)]);
    await woken((signal) => forWork(t.store, signal), () => other.admin.configure("default", { pause: false }));
  },

  "a push wakes all waiters": async (open) => {
    await using t = await open();
    const other = await t.another();
    const stores = [t.store, t.store, other];
    await woken(
      (signal) => Promise.all(stores.map((store) => forWork(store, signal))),
      async () => void await other.jobs.enqueue(jobs(1, 3)),
    );
  },

  "an aborted wait resolves": async (open) => {
    await using t = await open();
    const stop = new AbortController();
    const waits = [
      t.store.jobs.waitForWork(["default"], stop.signal),
      t.store.jobs.waitForDue(stop.signal),
      t.store.workers.receive("host:1:aaaaaaaaaaaa", stop.signal),
      t.store.workers.awaitReply("none", stop.signal),
    ];
    stop.abort();
    assertEquals(await Promise.all(waits), [undefined, undefined, [], undefined]);
  },

  "a wait with an aborted signal resolves at once": async (open) => {
    await using t = await open();
    const stop = AbortSignal.abort();
    await t.store.jobs.waitForWork(["default"], stop);
    await t.store.jobs.waitForDue(stop);
    assertEquals(await t.store.workers.receive("host:1:aaaaaaaaaaaa", stop), []);
    assertEquals(await t.store.workers.awaitReply("none", stop), undefined);
  },

  "waits resolve when the store is closed": async (open) => {
    await using t = await open();
    const other = await t.another();
    await woken(
      (signal) =>
        Promise.all([
          forWork(other, signal),
          other.jobs.waitForDue(signal),
          other.workers.receive("host:1:aaaaaaaaaaaa", signal),
          other.workers.awaitReply("none", signal),
        ]),
      async () => await other[Symbol.asyncDispose](),
    );
  },

  "waitForDue resolves when the first job is scheduled": async (open) => {
    await using t = await open();
    const other = await t.another();
    await t.store.jobs.promote(10);
    await woken((signal) => t.store.jobs.waitForDue(signal), () => other.jobs.enqueue([job(1, { delayMs: HOUR_MS })]));
  },

  "waitForDue resolves on an earlier due time than promote returned": async (open) => {
    await using t = await open();
    const other = await t.another();
    await t.store.jobs.enqueue([job(1, { delayMs: 2 * HOUR_MS })]);
    await t.store.jobs.promote(10);
    await woken((signal) => t.store.jobs.waitForDue(signal), () => other.jobs.enqueue([job(2, { delayMs: HOUR_MS })]));
  },

  "waitForDue resolves on an earlier due time of the same connection": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1, { delayMs: 2 * HOUR_MS })]);
    await t.store.jobs.promote(10);
    await woken(
      (signal) => t.store.jobs.waitForDue(signal),
      () => t.store.jobs.enqueue([job(2, { delayMs: HOUR_MS })]),
    );
  },

  "waitForDue resolves on a job that was scheduled between promote and the wait": async (open) => {
    await using t = await open();
    const other = await t.another();
    await t.store.jobs.enqueue([job(1, { delayMs: 2 * HOUR_MS })]);
    await t.store.jobs.promote(10);
    await other.jobs.enqueue([job(2, { delayMs: HOUR_MS })]);
    await woken((signal) => t.store.jobs.waitForDue(signal), nothing);
  },

  "waitForDue resolves on a retry's due time": async (open) => {
    await using t = await open();
    const other = await t.another();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const [lease] = await takeUpTo(t.store, worker);
    await other.jobs.promote(10);
    const { payload } = job(1);
    await woken(
      (signal) => other.jobs.waitForDue(signal),
      () => t.store.jobs.settle(worker, [{ kind: "retry", token: lease!.token, delayMs: HOUR_MS, payload }]),
    );
  },
};

function forWork(store: Store, signal: AbortSignal): Promise<void> {
  return store.jobs.waitForWork(["default"], signal);
}

async function nothing(): Promise<void> {}
