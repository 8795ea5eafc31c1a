/**
 * Waits end when there may be work, from any source.
 *
 * @module
 */
import type { Topic } from "../../src/store/port/watch.ts";
import type { Mailbox } from "../../src/store/port/workers.ts";
import { awaitReply, receiveCommands } from "../../src/store/ops/await.ts";
import { assertEquals } from "@std/assert";
import { countingSignal } from "../support/counting_signal.ts";
import type { Cases } from "./harness.ts";
import { entries, HOUR_MS, inDead, jid, job, jobs, lapse, register, rescueFor, takeUpTo, woken } from "./jobs.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { keepRecord } from "../support/records.ts";

export const wait: Cases = {
  "a change between a read and a watch resolves the watch, of any topic": async (open) => {
    await using t = await open();
    const { store } = t;
    const other = await t.another();
    const worker = await register(store);
    const record = { jid: jid(9), ttlMs: HOUR_MS, body: "{}" };
    const entry = { name: "a", version: 0, definition: "d", state: "s", jobs: [], awaited: false, records: [] };
    const topics: readonly [Topic, read: () => Promise<unknown>, change: () => Promise<unknown>][] = [
      [{ work: ["default"] }, () => takeUpTo(store, worker), () => other.jobs.enqueue([job(1)])],
      ["due", () => store.jobs.promote(10), () => other.jobs.enqueue([job(2, { delayMs: HOUR_MS })])],
      ["cron", () => store.cron.survey([]), () => other.cron.write([entry])],
      [
        { commandsTo: worker },
        () => empty(store, { commandsTo: worker }),
        () => other.workers.send(worker, { verb: "quiet" }),
      ],
      [{ replyTo: "7" }, () => empty(store, { replyTo: "7" }), () => other.workers.send("7", "text")],
      [{ result: jid(9) }, nothing, () => keepRecord(other, record)],
    ];
    for (const [topic, read, change] of topics) {
      await read();
      await change();
      for (let i = 0; i < 2; i++) assertEquals(await woken((signal) => store.watch(topic, signal), nothing), true);
    }
  },

  "a watch of work resolves if a queue has a job": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1)]);
    await woken((signal) => t.store.watch({ work: ["other", "default"] }, signal), nothing);
  },

  "a wait that ends by itself leaves no listener on its signal": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const other = await t.another();
    await t.store.cron.survey([]);
    await t.store.jobs.promote(1);
    const change = { name: "a", version: 0, definition: "d", state: "s", jobs: [], awaited: false, records: [] };
    const waits: readonly [(signal: AbortSignal) => Promise<unknown>, () => Promise<unknown>][] = [
      [(signal) => forWork(t.store, signal), () => other.jobs.enqueue([job(1)])],
      [(signal) => t.store.watch("due", signal), () => other.jobs.enqueue([job(2, { delayMs: HOUR_MS })])],
      [(signal) => receiveCommands(t.store, worker, signal), () => other.workers.send(worker, { verb: "quiet" })],
      [(signal) => t.store.watch("cron", signal), () => other.cron.write([change])],
    ];
    for (const [wait, act] of waits) {
      const counting = countingSignal();
      await woken(() => wait(counting.signal), act);
      assertEquals(counting.listeners, 0, wait.toString());
    }
  },

  "a watch of work resolves if a queue has a job, while others wait for other queues": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1)]);
    await woken(
      (signal) =>
        Promise.race([
          t.store.watch({ work: ["other"] }, signal),
          receiveCommands(t.store, "unknown", signal),
          forWork(t.store, signal),
        ]),
      nothing,
    );
  },

  "a watch of work resolves on a push by the same connection": async (open) => {
    await using t = await open();
    await woken((signal) => forWork(t.store, signal), () => t.store.jobs.enqueue([job(1)]));
  },

  "a watch of work resolves on a push by another connection": async (open) => {
    await using t = await open();
    const other = await t.another();
    await woken((signal) => forWork(t.store, signal), () => other.jobs.enqueue([job(1)]));
  },

  "a watch of work resolves on a push to any of its queues": async (open) => {
    await using t = await open();
    const other = await t.another();
    await woken(
      (signal) => t.store.watch({ work: ["a", "b", "c"] }, signal),
      () => other.jobs.enqueue([job(1, { queue: "c" })]),
    );
  },

  "a watch of work resolves on a push by another program": async (open) => {
    await using t = await open();
    await woken((signal) => forWork(t.store, signal), () => t.pushRaw("default", "{}"));
  },

  "a watch of work resolves on a push between the take and the wait": async (open) => {
    await using t = await open();
    const other = await t.another();
    assertEquals(await takeUpTo(t.store, await register(t.store)), []);
    await other.jobs.enqueue([job(1)]);
    await woken((signal) => forWork(t.store, signal), nothing);
  },

  "a watch of work resolves on a promotion": async (open) => {
    await using t = await open();
    const other = await t.another();
    await t.store.jobs.enqueue([job(1, { delayMs: HOUR_MS })]);
    t.advance(2 * HOUR_MS);
    await woken((signal) => forWork(t.store, signal), () => other.jobs.promote(10));
  },

  "a watch of work resolves on jobs that others release": async (open) => {
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

  "a watch of work resolves on a rescue": async (open) => {
    await using t = await open();
    const other = await t.another();
    await other.jobs.enqueue([job(1)]);
    await takeUpTo(other, await register(other));
    await lapse(t);
    await woken((signal) => forWork(t.store, signal), () => rescueFor(other, 10, 3));
  },

  "a watch of work resolves on a requeued dead job": async (open) => {
    await using t = await open();
    const other = await t.another();
    await inDead(other, await register(other), [job(1)]);
    const [entry] = await entries(other, { in: "dead" });
    await woken((signal) => forWork(t.store, signal), () => other.jobs.edit([entry!.ref], "requeue"));
  },

  "a watch of work resolves on the resume of a paused queue": async (open) => {
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
      t.store.watch({ work: ["default"] }, stop.signal),
      t.store.watch("due", stop.signal),
      receiveCommands(t.store, "host:1:aaaaaaaaaaaa", stop.signal),
      awaitReply(t.store, "none", stop.signal),
    ];
    stop.abort();
    assertEquals(await Promise.all(waits), [false, false, [], undefined]);
  },

  "a wait with an aborted signal resolves at once": async (open) => {
    await using t = await open();
    const stop = AbortSignal.abort();
    assertEquals(await t.store.watch({ work: ["default"] }, stop), false);
    assertEquals(await t.store.watch("due", stop), false);
    assertEquals(await receiveCommands(t.store, "host:1:aaaaaaaaaaaa", stop), []);
    assertEquals(await awaitReply(t.store, "none", stop), undefined);
  },

  "waits resolve when the store is closed": async (open) => {
    await using t = await open();
    const other = await t.another();
    const ends = await woken(
      (signal) =>
        Promise.all([
          forWork(other, signal),
          other.watch("due", signal),
          receiveCommands(other, "host:1:aaaaaaaaaaaa", signal),
          awaitReply(other, "none", signal),
        ]),
      async () => await other[Symbol.asyncDispose](),
    );
    assertEquals(ends, [false, false, [], undefined]);
  },

  "a watch of due jobs resolves when the first job is scheduled": async (open) => {
    await using t = await open();
    const other = await t.another();
    await t.store.jobs.promote(10);
    await woken((signal) => t.store.watch("due", signal), () => other.jobs.enqueue([job(1, { delayMs: HOUR_MS })]));
  },

  "a watch of due jobs resolves on an earlier due time than promote returned": async (open) => {
    await using t = await open();
    const other = await t.another();
    await t.store.jobs.enqueue([job(1, { delayMs: 2 * HOUR_MS })]);
    await t.store.jobs.promote(10);
    await woken((signal) => t.store.watch("due", signal), () => other.jobs.enqueue([job(2, { delayMs: HOUR_MS })]));
  },

  "a watch of due jobs resolves on an earlier due time of the same connection": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1, { delayMs: 2 * HOUR_MS })]);
    await t.store.jobs.promote(10);
    await woken(
      (signal) => t.store.watch("due", signal),
      () => t.store.jobs.enqueue([job(2, { delayMs: HOUR_MS })]),
    );
  },

  "a watch of due jobs resolves on a job that was scheduled between promote and the wait": async (open) => {
    await using t = await open();
    const other = await t.another();
    await t.store.jobs.enqueue([job(1, { delayMs: 2 * HOUR_MS })]);
    await t.store.jobs.promote(10);
    await other.jobs.enqueue([job(2, { delayMs: HOUR_MS })]);
    await woken((signal) => t.store.watch("due", signal), nothing);
  },

  "a watch of due jobs resolves on a retry's due time": async (open) => {
    await using t = await open();
    const other = await t.another();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const [lease] = await takeUpTo(t.store, worker);
    await other.jobs.promote(10);
    const { payload } = job(1);
    await woken(
      (signal) => other.watch("due", signal),
      () => t.store.jobs.settle(worker, [{ kind: "retry", token: lease!.token, delayMs: HOUR_MS, payload }]),
    );
  },
};

function forWork(store: Store, signal: AbortSignal): Promise<boolean> {
  return store.watch({ work: ["default"] }, signal);
}

async function nothing(): Promise<void> {}

async function empty(store: Store, box: Mailbox): Promise<void> {
  await store.workers.collect(box);
  assertEquals(await store.workers.collect(box), []);
}
