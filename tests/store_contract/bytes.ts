/**
 * Payloads are kept byte for byte.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { setFields } from "../../src/job/raw.ts";
import type { Cases } from "./harness.ts";
import { assertSamePayload, entries, HOUR_MS, jid, lapse, register, rescueFor, takeUpTo } from "./jobs.ts";

/** A payload that parsing and printing would change. */
const ODD =
  `{ "class":"HardJob", "jid":"${
    jid(1)
  }", "args":[1.0, 12345678901234567890, 1e2, "\\u00e9 é \\/ 😀 \\ud83d", -0.0, {"b":1,"a":2}] ,\t"unknown": {"x" : [ ]},` +
  `"queue":"default","big":9007199254740993, "quote'; --":"%s ?1 $1 \\u0000", "at_all": null, "dup":1, "dup":2}`;

const UNREADABLE = ["{not json", "", " ", '"text"', "[1,2]", "null", "42", '{"class":"A"}x', "é😀"];

export const bytes: Cases = {
  "through enqueue, take, retry, promote, take, rescue, take, bury": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([{ jid: jid(1), queue: "default", payload: ODD }]);
    let [lease] = await takeUpTo(t.store, worker);
    assertSamePayload(lease!.payload, ODD);

    const failed = setFields(lease!.payload, { enqueued_at: undefined, retry_count: "0" });
    await t.store.jobs.settle(worker, [{ kind: "retry", token: lease!.token, delayMs: TICK_MS, payload: failed }]);
    assertEquals((await entries(t.store, { in: "retry" }))[0]!.payload, failed);
    t.advance(2 * TICK_MS);
    assertEquals((await t.store.jobs.promote(10)).moved, 1);
    [lease] = await takeUpTo(t.store, worker);
    assertSamePayload(lease!.payload, failed);
    assertSamePayload(lease!.payload, ODD, ["enqueued_at", "retry_count"]);

    await lapse(t);
    await rescueFor(t.store, 10, 3);
    await register(t.store, worker);
    [lease] = await takeUpTo(t.store, worker);
    assertSamePayload(lease!.payload, ODD, ["enqueued_at", "retry_count", "suspected"]);

    await t.store.jobs.settle(worker, [{ kind: "bury", token: lease!.token, payload: ODD }]);
    assertEquals((await entries(t.store, { in: "dead" }))[0]!.payload, ODD);
  },

  "through scheduled": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([{ jid: jid(1), queue: "default", payload: ODD, delayMs: HOUR_MS }]);
    assertEquals((await entries(t.store, { in: "scheduled" }))[0]!.payload, ODD);
    t.advance(2 * HOUR_MS);
    await t.store.jobs.promote(10);
    const [lease] = await takeUpTo(t.store, await register(t.store));
    assertSamePayload(lease!.payload, ODD);
  },

  "a payload of another program is taken unchanged, readable or not": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const texts = [ODD, ...UNREADABLE];
    for (const text of texts) await t.pushRaw("default", text);
    assertEquals((await entries(t.store, { in: "queue", queue: "default" })).map((entry) => entry.payload), texts);
    const leases = await takeUpTo(t.store, worker);
    assertEquals(leases.map((lease) => lease.payload), texts);

    await t.store.jobs.settle(worker, leases.map(({ token }) => ({ kind: "release", token })));
    const again = await takeUpTo(t.store, worker);
    assertEquals(again.map((lease) => lease.payload), texts);

    await t.store.jobs.settle(worker, again.map(({ token, payload }) => ({ kind: "bury", token, payload })));
    const dead = await entries(t.store, { in: "dead" });
    assertEquals(dead.map((entry) => entry.payload).sort(), [...texts].sort());
  },

  "a large payload": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const payload = `{"class":"HardJob","args":["${"é".repeat(500_000)}"],"jid":"${jid(1)}"}`;
    await t.store.jobs.enqueue([{ jid: jid(1), queue: "default", payload }]);
    const [lease] = await takeUpTo(t.store, worker);
    assertSamePayload(lease!.payload, payload);
  },
};

/** Short enough for the worker to stay alive. */
const TICK_MS = 10_000;
