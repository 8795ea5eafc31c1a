/**
 * Records of ended jobs.
 *
 * @module
 */
import { awaitResult } from "../../src/store/ops/await.ts";
import { assertEquals } from "@std/assert";
import type { NewRecord } from "../../src/store/port/results.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import { HOUR_MS, job, register, takeUpTo } from "./jobs.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { keepRecord } from "../support/records.ts";

function record(n: number, ttlMs = HOUR_MS): NewRecord {
  return { jid: job(n).jid, ttlMs, body: `{"n":${n},"state":"succeeded"}` };
}

async function settleWith(store: Store, ...records: NewRecord[]): Promise<void> {
  const worker = await register(store);
  await store.jobs.enqueue(records.map((_, i) => job(1_000 + i)));
  const leases = await takeUpTo(store, worker);
  await store.jobs.settle(worker, records.map((record, i) => ({ kind: "ack", token: leases[i]!.token, record })));
}

/** Waits for a result without an end. */
const NEVER = new AbortController().signal;

export const results: Cases = {
  "a record exists when its lease has ended, and a job without one leaves none": async (open) => {
    await using t = await open();
    await settleWith(t.store, record(1));
    assertEquals((await t.store.results.read({ jids: [job(1).jid] })).records[0], record(1).body);
    assertEquals((await t.store.results.read({ jids: [job(2).jid] })).records[0], undefined);
  },

  "discard and bury leave records, too": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1), job(2)]);
    const [first, second] = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [
      { kind: "discard", token: first!.token, record: record(1) },
      { kind: "bury", token: second!.token, payload: job(2).payload, record: record(2) },
    ]);
    assertEquals((await t.store.results.read({ jids: [job(1).jid] })).records[0], record(1).body);
    assertEquals((await t.store.results.read({ jids: [job(2).jid] })).records[0], record(2).body);
    assertEquals((await t.store.admin.stats()).dead, 1);
  },

  "an outcome whose token is lost leaves no record": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const [lease] = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [{ kind: "release", token: lease!.token }]);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: lease!.token, record: record(1) }]);
    assertEquals((await t.store.results.read({ jids: [job(1).jid] })).records[0], undefined);
  },

  "records expire after their TTL, and one without a TTL stays": async (open) => {
    await using t = await open();
    await settleWith(t.store, record(1), record(2, Infinity));
    t.advance(HOUR_MS + SLACK_MS);
    assertEquals((await t.store.results.read({ jids: [job(1).jid] })).records[0], undefined);
    assertEquals((await t.store.results.read({ jids: [job(2).jid] })).records[0], record(2).body);
    assertEquals((await t.store.results.read()).records, [record(2).body]);
  },

  "a job's later record replaces its earlier one": async (open) => {
    await using t = await open();
    await settleWith(t.store, record(1), record(2));
    await keepRecord(t.store, { ...record(1), body: '{"again":true}' });
    assertEquals((await t.store.results.read({ jids: [job(1).jid] })).records[0], '{"again":true}');
    assertEquals((await t.store.results.read()).records, ['{"again":true}', record(2).body]);
  },

  "pages show every record once, the latest first": async (open) => {
    await using t = await open();
    const all = Array.from({ length: 25 }, (_, i) => record(i + 1));
    await settleWith(t.store, ...all);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await t.store.results.read({ limit: 10, ...(cursor !== undefined && { cursor }) });
      seen.push(...page.records);
      cursor = page.next;
    } while (cursor !== undefined);
    assertEquals(seen, all.map(({ body }) => body).reverse());
  },

  "search finds text in records, ignoring case": async (open) => {
    await using t = await open();
    await settleWith(
      t.store,
      ...[1, 2, 3].map((n) => ({ ...record(n), body: `{"class":"${n === 2 ? "Red" : "BLUE"}"}` })),
    );
    assertEquals((await t.store.results.read({ text: "red", limit: 10 })).records, ['{"class":"Red"}']);
    assertEquals((await t.store.results.read({ text: "blue", limit: 1 })).records.length, 1);
    assertEquals((await t.store.results.read({ text: "blue", limit: 10 })).records.length, 2);
  },

  "a wait returns an existing record, a later one, and one of another connection": async (open) => {
    await using t = await open();
    await settleWith(t.store, record(1));
    assertEquals(await awaitResult(t.store, job(1).jid, NEVER), record(1).body);
    const other = await t.another();
    const waits = [t.store, other].map((store) => awaitResult(store, job(2).jid, NEVER));
    await keepRecord(other, record(3));
    await keepRecord(other, record(2));
    assertEquals(await Promise.all(waits), [record(2).body, record(2).body]);
  },

  "the record of a waiting job is kept in the step that deletes the job, or not at all": async (open) => {
    await using t = await open();
    const unique = { unique: { key: "k", ttlMs: HOUR_MS } };
    await t.store.jobs.enqueue([job(1, unique), job(2, { delayMs: HOUR_MS }), job(3)]);
    for (const n of [1, 2]) {
      const [entry] = await t.store.jobs.find([job(n).jid]);
      assertEquals(await t.store.jobs.edit([entry!.ref], { cancel: record(n) }), 1);
      assertEquals(await t.store.jobs.find([job(n).jid]), []);
      assertEquals((await t.store.results.read({ jids: [job(n).jid] })).records[0], record(n).body);
      assertEquals(await t.store.jobs.edit([entry!.ref], { cancel: { ...record(n), body: "{}" } }), 0);
      assertEquals((await t.store.results.read({ jids: [job(n).jid] })).records[0], record(n).body);
    }
    const [again] = await t.store.jobs.enqueue([job(4, unique)]);
    assertEquals(again, { kind: "stored" }, "its unique lock is let go");
    // A job that was taken meanwhile isn't where its ref says.
    const [entry] = await t.store.jobs.find([job(3).jid]);
    const worker = await register(t.store);
    await takeUpTo(t.store, worker);
    assertEquals(await t.store.jobs.edit([entry!.ref], { cancel: record(3) }), 0);
    assertEquals(await t.store.jobs.edit([(await t.store.jobs.find([job(3).jid]))[0]!.ref], { cancel: record(3) }), 0);
    assertEquals(await t.store.jobs.edit(["no ref"], { cancel: record(3) }), 0);
    assertEquals((await t.store.results.read({ jids: [job(3).jid] })).records[0], undefined);
  },

  "one of two concurrent cancels of a waiting job keeps the record": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1)]);
    const [entry] = await t.store.jobs.find([job(1).jid]);
    const bodies = ['{"by":1}', '{"by":2}'];
    const kept = await Promise.all(
      bodies.map((body) => t.store.jobs.edit([entry!.ref], { cancel: { ...record(1), body } })),
    );
    assertEquals(kept.toSorted(), [0, 1]);
    assertEquals((await t.store.results.read({ jids: [job(1).jid] })).records[0], bodies[kept.indexOf(1)]);
  },

  "an aborted wait returns undefined": async (open) => {
    await using t = await open();
    const abort = new AbortController();
    const wait = awaitResult(t.store, job(1).jid, abort.signal);
    abort.abort();
    assertEquals(await wait, undefined);
  },
};
