/**
 * The edits of an operator: requeue, kill, delete.
 *
 * @module
 */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { getField, readWireTime, setFields } from "../../src/job/raw.ts";
import type { Place } from "../../src/store/port/entries.ts";
import { type Cases, SLACK_MS, type TestStore } from "./harness.ts";
import {
  assertSamePayload,
  entries,
  HOUR_MS,
  inDead,
  inRetry,
  job,
  jobs,
  numbers,
  numbersIn,
  register,
  takeUpTo,
  woken,
} from "./jobs.ts";

const QUEUE: Place = { in: "queue", queue: "default" };

export const edit: Cases = {
  "finds and edits a job of a group whose name has a NUL": async (open) => {
    for (const edit of ["delete", "kill", "requeue"] as const) {
      await using t = await open();
      const group = "x\u0000a";
      const given = { ...job(1, { payload: setFields(job(1).payload, { group: JSON.stringify(group) }) }), group };
      await t.store.jobs.enqueue([given, { ...job(2), group: "x" }]);
      const [found] = await t.store.jobs.find([given.jid]);
      assertEquals(found?.place, { in: "queue", queue: "default", group });
      assertEquals(await t.store.jobs.edit([found!.ref], edit), 1, edit);
      assertEquals((await t.store.admin.stats()).queues[0]?.size, edit === "requeue" ? 2 : 1, edit);
    }
  },

  "requeue moves a job to the back of the queue in its payload, with a new enqueue time": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1, { delayMs: HOUR_MS }), job(2, { delayMs: 2 * HOUR_MS, queue: "mail" })]);
    await inRetry(t.store, worker, [job(3)], HOUR_MS);
    await inDead(t.store, worker, [job(4)]);
    await t.store.jobs.enqueue([job(9)]);
    for (const n of [1, 2, 3, 4]) assertEquals(await editNumber(t, n, "requeue"), 1);
    assertEquals(await numbersIn(t.store, QUEUE), [9, 1, 3, 4]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "mail" }), [2]);
    const { scheduled, retry, dead } = await t.store.admin.stats();
    assertEquals([scheduled, retry, dead], [0, 0, 0]);
    const entry = (await entries(t.store, QUEUE))[1]!;
    assertSamePayload(entry.payload, job(1).payload);
    assertAlmostEquals(readWireTime(getField(entry.payload, "enqueued_at"))!, t.now(), SLACK_MS);
  },

  "requeue from retry and dead doesn't count the next attempt": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const failed = (n: number, count: number) =>
      job(n, { payload: setFields(job(n).payload, { retry_count: String(count) }) });
    await inRetry(t.store, worker, [failed(1, 0), failed(2, 5)], HOUR_MS);
    await inDead(t.store, worker, [failed(3, 24), job(4)]);
    for (const n of [1, 2, 3, 4]) assertEquals(await editNumber(t, n, "requeue"), 1);
    const queued = await entries(t.store, QUEUE);
    assertEquals(queued.map((entry) => getField(entry.payload, "retry_count")), [-1, 4, 23, undefined]);
    assertSamePayload(queued[2]!.payload, job(3).payload, ["enqueued_at", "retry_count"]);
  },

  "requeue leaves an unreadable payload in its place": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.pushRaw("default", "{not json");
    const [lease] = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [{ kind: "bury", token: lease!.token, payload: lease!.payload }]);
    t.advance(1_000);
    await inDead(t.store, worker, jobs(1, 2));
    const [unreadable] = await entries(t.store, { in: "dead" });
    assertEquals(await t.store.jobs.edit([unreadable!.ref], "requeue"), 0);
    let moved = 0;
    for (let more = 1; more > 0; moved += more) {
      more = await t.store.jobs.edit({ in: { in: "dead" }, limit: 1 }, "requeue");
    }
    assertEquals(moved, 2);
    assertEquals((await entries(t.store, { in: "dead" })).map((entry) => entry.payload), ["{not json"]);
    assertEquals(await t.store.jobs.edit([unreadable!.ref], "delete"), 1);
  },

  "requeue to a chosen queue works from every place, and the payload names that queue": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await inDead(t.store, worker, [job(3)]);
    await inRetry(t.store, worker, [job(4, { payload: setFields(job(4).payload, { retry_count: "2" }) })], HOUR_MS);
    await t.store.jobs.enqueue([job(1), job(2, { delayMs: HOUR_MS })]);
    for (const n of [1, 2, 3, 4]) {
      const found = await t.store.jobs.find([job(n).jid]);
      assertEquals(await t.store.jobs.edit(found.map((entry) => entry.ref), "requeue", "slow"), 1);
    }
    const queued = await entries(t.store, { in: "queue", queue: "slow" });
    assertEquals(numbers(queued), [1, 2, 3, 4]);
    assertEquals(queued.map((entry) => getField(entry.payload, "queue")), ["slow", "slow", "slow", "slow"]);
    assertEquals(getField(queued[3]!.payload, "retry_count"), 1);
    for (const { payload } of queued) {
      assertAlmostEquals(readWireTime(getField(payload, "enqueued_at"))!, t.now(), SLACK_MS);
    }
    const restOf = (payload: string) => setFields(payload, { queue: undefined });
    assertSamePayload(restOf(queued[2]!.payload), restOf(job(3).payload));
    assertEquals(await numbersIn(t.store, QUEUE), []);
    assertEquals(numbers(await takeUpTo(t.store, worker, 10, ["slow"])), [1, 2, 3, 4]);
  },

  "requeue to another queue moves readable jobs once, and wakes its waiters": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1)]);
    await t.pushRaw("default", "{not json");
    const [first, raw] = await entries(t.store, QUEUE);
    await woken(
      (signal) => t.store.watch({ work: ["slow"] }, signal),
      async () => assertEquals(await t.store.jobs.edit([first!.ref, raw!.ref, first!.ref], "requeue", "slow"), 1),
    );
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "slow" }), [1]);
    assertEquals((await entries(t.store, QUEUE)).map((entry) => entry.payload), ["{not json"]);
    assertEquals(await t.store.jobs.edit([first!.ref], "requeue", "slow"), 0);
    const [moved] = await entries(t.store, { in: "queue", queue: "slow" });
    assertEquals(await t.store.jobs.edit([moved!.ref], "requeue", "slow"), 1);
    const sizes = (await t.store.admin.stats()).queues.filter(({ size }) => size > 0).map((
      { name, size },
    ) => [name, size]);
    assertEquals(sizes, [["default", 1], ["slow", 1]]);
  },

  "requeue moves a queued job to the back of its queue": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue(jobs(1, 3));
    assertEquals(await editNumber(t, 1, "requeue"), 1);
    assertEquals(await editNumber(t, 1, "requeue"), 1);
    assertEquals(await numbersIn(t.store, QUEUE), [2, 3, 1]);
    assertEquals(await t.store.jobs.edit({ in: QUEUE, limit: 10 }, "requeue"), 0);
    await t.store.jobs.enqueue([job(4, { queue: "mail", payload: job(4, { queue: "default" }).payload })]);
    assertEquals(await editNumber(t, 4, "requeue"), 1);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "mail" }), []);
    assertEquals(await numbersIn(t.store, QUEUE), [2, 3, 1, 4]);
  },

  "kill moves a job to dead as of now, unchanged": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1, { delayMs: HOUR_MS }), job(2)]);
    await inRetry(t.store, worker, [job(3, { queue: "mail" })], HOUR_MS);
    const [queued] = await entries(t.store, QUEUE);
    for (const n of [1, 2, 3]) assertEquals(await editNumber(t, n, "kill"), 1);
    const dead = await entries(t.store, { in: "dead" });
    assertEquals(numbers(dead).sort(), [1, 2, 3]);
    assertEquals(dead.find((entry) => getField(entry.payload, "jid") === job(1).jid)!.payload, job(1).payload);
    assertEquals(dead.find((entry) => getField(entry.payload, "jid") === job(2).jid)!.payload, queued!.payload);
    for (const entry of dead) assertAlmostEquals(entry.at!, t.now(), SLACK_MS);
    const { enqueued, scheduled, retry } = await t.store.admin.stats();
    assertEquals([enqueued, scheduled, retry], [0, 0, 0]);
  },

  "kill respects the limit of dead jobs": async (open) => {
    await using t = await open({ deadMaxJobs: 2 });
    await t.store.jobs.enqueue(jobs(1, 3));
    for (const n of [1, 2, 3]) {
      await editNumber(t, n, "kill");
      t.advance(1_000);
    }
    assertEquals(await numbersIn(t.store, { in: "dead" }), [2, 3]);
  },

  "kill leaves a dead job unchanged": async (open) => {
    await using t = await open();
    await inDead(t.store, await register(t.store), [job(1)]);
    const [before] = await entries(t.store, { in: "dead" });
    t.advance(1_000);
    assertEquals(await t.store.jobs.edit([before!.ref], "kill"), 0);
    assertEquals(await t.store.jobs.edit({ in: { in: "dead" }, limit: 10 }, "kill"), 0);
    assertEquals(await entries(t.store, { in: "dead" }), [before!]);
  },

  "delete removes a job from a queue and from every set": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await inRetry(t.store, worker, [job(1)], HOUR_MS);
    await inDead(t.store, worker, [job(2)]);
    await t.store.jobs.enqueue([job(3, { delayMs: HOUR_MS }), job(4), job(5), job(6)]);
    for (const n of [1, 2, 3, 5]) assertEquals(await editNumber(t, n, "delete"), 1);
    const { enqueued, scheduled, retry, dead } = await t.store.admin.stats();
    assertEquals([enqueued, scheduled, retry, dead], [2, 0, 0, 0]);
    assertEquals(await numbersIn(t.store, QUEUE), [4, 6]);
  },

  "get returns the entry of a ref in every place, and no other entry of its jid": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await inRetry(t.store, worker, [job(1)], HOUR_MS);
    await inDead(t.store, worker, [job(2)]);
    await t.store.jobs.enqueue([job(3), job(4), job(4, { queue: "mail" }), job(5, { delayMs: HOUR_MS })]);
    await takeUpTo(t.store, worker, 1);
    const places = [QUEUE, { in: "running" }, { in: "scheduled" }, { in: "retry" }, { in: "dead" }] as const;
    for (const [i, n] of [4, 3, 5, 1, 2].entries()) {
      const [entry] = await entries(t.store, places[i]!);
      assertEquals(numbers([entry!]), [n]);
      assertEquals(await t.store.admin.get([entry!.ref]), [entry]);
      assertEquals(await (await t.another()).admin.get([entry!.ref]), [entry], "for every connection");
    }
  },

  "get returns an entry only while it is where its ref says": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1), job(2, { delayMs: HOUR_MS })]);
    await inRetry(t.store, worker, [job(3)], HOUR_MS);
    await inDead(t.store, worker, [job(4)]);
    const refs: string[] = [];
    for (const place of [QUEUE, { in: "scheduled" }, { in: "retry" }, { in: "dead" }] as const) {
      refs.push((await entries(t.store, place))[0]!.ref);
    }
    const [lease] = await takeUpTo(t.store, worker, 1);
    const leased = (await entries(t.store, { in: "running" }))[0]!.ref;
    await t.store.jobs.settle(worker, [{ kind: "ack", token: lease!.token }]);
    t.advance(2 * HOUR_MS);
    await t.store.jobs.promote(10);
    assertEquals(await t.store.jobs.edit([refs[3]!], "requeue"), 1);
    assertEquals(await t.store.admin.get([...refs, leased!]), [...refs, leased].map(() => undefined));
    for (const ref of ["", "nonsense", "q:1", "9".repeat(30), "\0", "*"]) {
      assertEquals(await t.store.admin.get([ref]), [undefined]);
    }
  },

  "edit changes only entries that are still where their refs say": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1), job(2, { delayMs: HOUR_MS }), job(3)]);
    const refs = [...await entries(t.store, QUEUE), ...await entries(t.store, { in: "scheduled" })].map((e) => e.ref);
    const [first] = await takeUpTo(t.store, worker, 1);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: first!.token }]);
    t.advance(2 * HOUR_MS);
    await t.store.jobs.promote(10);
    assertEquals(await t.store.jobs.edit(refs, "delete"), 1);
    assertEquals(numbers(await entries(t.store, QUEUE)), [2]);
    assertEquals(await t.store.jobs.edit(refs, "delete"), 0);
    assertEquals(await t.store.jobs.edit(["", "nonsense", "q:1", "9".repeat(30)], "delete"), 0);
  },

  "edit counts a repeated ref once": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1), job(2)]);
    const [entry] = await entries(t.store, QUEUE);
    assertEquals(await t.store.jobs.edit([entry!.ref, entry!.ref], "kill"), 1);
    assertEquals((await t.store.admin.stats()).dead, 1);
  },

  "leased jobs can't be edited": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const [queued] = await entries(t.store, QUEUE);
    const [lease] = await takeUpTo(t.store, worker);
    const [leased] = await entries(t.store, { in: "running" });
    for (const action of ["requeue", "kill", "delete"] as const) {
      assertEquals(await t.store.jobs.edit([queued!.ref, leased!.ref], action), 0);
      assertEquals(await t.store.jobs.edit({ in: { in: "running" }, limit: 10 }, action), 0);
    }
    assertEquals((await t.store.jobs.settle(worker, [{ kind: "ack", token: lease!.token }])).lost, []);
  },

  "edits a place earliest first, until it is empty": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue(jobs(1, 5).map((one, i) => ({ ...one, delayMs: HOUR_MS + i * 1_000 })));
    assertEquals(await t.store.jobs.edit({ in: { in: "scheduled" }, limit: 2 }, "requeue"), 2);
    assertEquals(await numbersIn(t.store, QUEUE), [1, 2]);
    assertEquals(await t.store.jobs.edit({ in: { in: "scheduled" }, limit: 2 }, "kill"), 2);
    assertEquals((await numbersIn(t.store, { in: "dead" })).sort(), [3, 4]);
    assertEquals(await t.store.jobs.edit({ in: { in: "scheduled" }, limit: 2 }, "delete"), 1);
    assertEquals(await t.store.jobs.edit({ in: { in: "scheduled" }, limit: 2 }, "delete"), 0);
    assertEquals(await t.store.jobs.edit({ in: QUEUE, limit: 100 }, "delete"), 2);
    assertEquals(await t.store.jobs.edit({ in: { in: "queue", queue: "never" }, limit: 100 }, "delete"), 0);
    assertEquals((await t.store.admin.stats()).enqueued, 0);
  },

  "edits the first jobs of a long queue oldest first": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue(jobs(1, 100));
    assertEquals(await t.store.jobs.edit({ in: QUEUE, limit: 60 }, "delete"), 60);
    assertEquals(await numbersIn(t.store, QUEUE), jobs(61, 100).map((_, i) => 61 + i));
  },
};

/** Edits the n-th job in any place. */
async function editNumber(t: TestStore, n: number, action: "requeue" | "kill" | "delete"): Promise<number> {
  const found = await t.store.jobs.find([job(n).jid]);
  return await t.store.jobs.edit(found.map((entry) => entry.ref), action);
}
