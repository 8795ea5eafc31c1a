/**
 * Due jobs go to their queues.
 *
 * @module
 */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { getField, readWireTime, setFields } from "../../src/job/raw.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import {
  assertSamePayload,
  entries,
  HOUR_MS,
  inRetry,
  job,
  jobs,
  numbers,
  numbersIn,
  register,
  takeUpTo,
} from "./jobs.ts";

export const promote: Cases = {
  "moves due jobs to their queues with the enqueue time, and leaves the others": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([
      job(1, { delayMs: HOUR_MS, queue: "mail" }),
      job(2, { delayMs: 2 * HOUR_MS }),
      job(3, { delayMs: 4 * HOUR_MS }),
    ]);
    t.advance(3 * HOUR_MS);
    const { moved, buried, nextInMs } = await t.store.jobs.promote(10);
    assertEquals([moved, buried], [2, 0]);
    assertAlmostEquals(nextInMs!, HOUR_MS, SLACK_MS);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [2]);
    assertEquals(await numbersIn(t.store, { in: "scheduled" }), [3]);
    const [entry] = await entries(t.store, { in: "queue", queue: "mail" });
    assertSamePayload(entry!.payload, job(1, { queue: "mail" }).payload);
    assertAlmostEquals(readWireTime(getField(entry!.payload, "enqueued_at"))!, t.now(), SLACK_MS);
  },

  "without due jobs, moves nothing and returns when the next one is due": async (open) => {
    await using t = await open();
    assertEquals(await t.store.jobs.promote(10), { moved: 0, buried: 0, nextInMs: undefined });
    await t.store.jobs.enqueue([job(1, { delayMs: HOUR_MS })]);
    const { moved, nextInMs } = await t.store.jobs.promote(10);
    assertEquals(moved, 0);
    assertAlmostEquals(nextInMs!, HOUR_MS, SLACK_MS);
    t.advance(nextInMs!);
    assertEquals(await t.store.jobs.promote(10), { moved: 1, buried: 0, nextInMs: undefined });
  },

  "merges retry and scheduled, earliest first, to the back of the queue": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await inRetry(t.store, worker, [job(2), job(4)], 2 * HOUR_MS);
    await t.store.jobs.enqueue([job(3, { delayMs: 2.5 * HOUR_MS }), job(1, { delayMs: HOUR_MS })]);
    t.advance(4 * HOUR_MS);
    await t.store.jobs.enqueue([job(0)]);
    assertEquals((await t.store.jobs.promote(1)).moved, 1);
    assertEquals((await t.store.jobs.promote(10)).moved, 3);
    const [first, second, ...rest] = await numbersIn(t.store, { in: "queue", queue: "default" });
    assertEquals([first, second], [0, 1]);
    // 2 and 4 are due at the same moment.
    assertEquals([rest.slice(0, 2).sort(), rest[2]], [[2, 4], 3]);
  },

  "with a limit, moves the earliest of both sets": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await inRetry(t.store, worker, [job(1)], HOUR_MS);
    await inRetry(t.store, worker, [job(4)], 4 * HOUR_MS);
    await t.store.jobs.enqueue([job(3, { delayMs: 3 * HOUR_MS }), job(2, { delayMs: 2 * HOUR_MS })]);
    t.advance(5 * HOUR_MS);
    for (const n of [1, 2, 3, 4]) {
      await t.store.jobs.promote(1);
      assertEquals((await numbersIn(t.store, { in: "queue", queue: "default" })).at(-1), n);
    }
  },

  "moves at most the limit, and returns 0 ms while jobs are due": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue(jobs(1, 5).map((one, i) => ({ ...one, delayMs: HOUR_MS + i * 1_000 })));
    await t.store.jobs.enqueue([job(6, { delayMs: 48 * HOUR_MS })]);
    t.advance(24 * HOUR_MS);
    assertEquals(await t.store.jobs.promote(2), { moved: 2, buried: 0, nextInMs: 0 });
    assertEquals(await t.store.jobs.promote(2), { moved: 2, buried: 0, nextInMs: 0 });
    assertEquals((await t.store.jobs.promote(2)).moved, 1);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [1, 2, 3, 4, 5]);
  },

  "a retried job goes to the queue that its payload names": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1), job(2)]);
    const [a, b] = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [
      { kind: "retry", token: a!.token, delayMs: 0, payload: setFields(job(1).payload, { queue: '"slow"' }) },
      { kind: "retry", token: b!.token, delayMs: 0, payload: setFields(job(2).payload, { queue: undefined }) },
    ]);
    assertEquals((await t.store.jobs.promote(10)).moved, 2);
    assertEquals(numbers(await takeUpTo(t.store, worker, 10, ["slow"])), [1]);
    assertEquals(numbers(await takeUpTo(t.store, worker, 10, ["default"])), [2]);
  },

  "concurrent promotions move each job once": async (open) => {
    await using t = await open();
    const other = await t.another();
    await t.store.jobs.enqueue(jobs(1, 200).map((one, i) => ({ ...one, delayMs: HOUR_MS + i })));
    t.advance(2 * HOUR_MS);
    const results = await Promise.all([t.store, other, t.store, other].map((store) => store.jobs.promote(100)));
    assertEquals(results.reduce((sum, { moved }) => sum + moved, 0), 200);
    assertEquals((await numbersIn(t.store, { in: "queue", queue: "default" })).length, 200);
    assertEquals((await t.store.admin.stats()).scheduled, 0);
  },

  "moves an unreadable payload to dead, unchanged": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const texts = ["{not json", "[1]", '"x"'];
    await t.store.jobs.enqueue(jobs(1, 4));
    const leases = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(
      worker,
      leases.map(({ token, payload }, i) => ({ kind: "retry", token, delayMs: 0, payload: texts[i] ?? payload })),
    );
    assertEquals(await t.store.jobs.promote(10), { moved: 1, buried: 3, nextInMs: undefined });
    assertEquals((await entries(t.store, { in: "dead" })).map((entry) => entry.payload).sort(), [...texts].sort());
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [4]);
  },
};
