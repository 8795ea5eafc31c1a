/**
 * The log of events: one for each end, in its step, for readers that come and go.
 *
 * @module
 */
import { assert, assertEquals, assertGreater } from "@std/assert";
import { endMembers, type JobEvent, membersOf } from "../../src/job/event.ts";
import { setFields } from "../../src/job/raw.ts";
import { systemClock } from "../../src/clock.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { cancelBatch } from "../../src/store/ops/batches.ts";
import { cancelJob } from "../../src/store/ops/cancel.ts";
import { followEvents, readEvents } from "../../src/store/ops/events.ts";
import { MAX_PAGE_EVENT_CHARACTERS } from "../../src/store/port/events.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import { DIAMOND, ending, ID, start, take } from "./flow_nodes.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import { entries, HOUR_MS, inDead, inRetry, jid, job, jobs, lapse, register, rescueFor, takeUpTo } from "./jobs.ts";

/** Reads all events after an ID. */
async function all(store: Store, after = 0): Promise<JobEvent[]> {
  const events: JobEvent[] = [];
  for (let last = after;;) {
    const page = await readEvents(store, last);
    events.push(...page.events);
    if (page.isEnd) return events;
    last = page.last;
  }
}

/** Returns of each event the type, and the job, batch or worker. */
async function recorded(store: Store, after = 0): Promise<unknown[]> {
  return (await all(store, after)).map(({ type, jid, batch, worker }) => [type, jid ?? batch ?? worker]);
}

/** Pushes jobs, and ends them. */
async function end(store: Store, from: number, to: number, outcome: Partial<Outcome> = { kind: "ack" }): Promise<void> {
  const worker = await register(store);
  await store.jobs.enqueue(jobs(from, to));
  const leases = await takeUpTo(store, worker, to - from + 1);
  await store.jobs.settle(worker, leases.map(({ token, payload }) => ({ token, payload, ...outcome } as Outcome)));
}

export const events: Cases = {
  "records nothing until a reader asks, and then for that time": async (open) => {
    await using t = await open();
    await end(t.store, 1, 2);
    assertEquals([await recorded(t.store), await t.store.events.last()], [[], 0]);
    await (await t.another()).events.keep(HOUR_MS);
    await end(t.store, 3, 4);
    assertEquals(await recorded(t.store), [["succeeded", jid(3)], ["succeeded", jid(4)]]);
    t.advance(HOUR_MS + SLACK_MS);
    await end(t.store, 5, 5);
    assertEquals((await recorded(t.store)).length, 2);
  },

  "a reader that asks for a shorter time ends no other's": async (open) => {
    await using t = await open();
    await t.store.events.keep(2 * HOUR_MS);
    await t.store.events.keep(HOUR_MS);
    t.advance(HOUR_MS + SLACK_MS);
    await end(t.store, 1, 1);
    assertEquals(await recorded(t.store), [["succeeded", jid(1)]]);
    t.advance(HOUR_MS);
    await end(t.store, 2, 2);
    assertEquals((await recorded(t.store)).length, 1);
  },

  "records a gap after a time without records, but not at the first": async (open) => {
    await using t = await open();
    await t.store.events.keep(HOUR_MS);
    const until = t.now() + HOUR_MS;
    await end(t.store, 1, 1);
    const before = await t.store.events.last();
    t.advance(2 * HOUR_MS);
    await end(t.store, 2, 2);
    await t.store.events.keep(HOUR_MS);
    await end(t.store, 3, 3);
    const [gap, next, ...rest] = await all(t.store, before);
    assertEquals([gap!.type, next!.jid, rest.length], ["gap", jid(3), 0]);
    assert(Math.abs(gap!.since! - until) < SLACK_MS);
  },

  "keeps the fields that identify a job, but no arguments and no results": async (open) => {
    await using t = await open();
    await t.store.events.keep(HOUR_MS);
    const worker = await register(t.store);
    const plain = job(1, { queue: "low" });
    const batch = "b-1";
    const payload = setFields(plain.payload, { tags: '["a","ä"]', batch: `"${batch}"`, class: '"Bil\\"ling::Ä"' });
    const odd = setFields(job(2).payload, { tags: '[1,{"a":[]}]', batch: "7", queue: "null" });
    const nested = setFields(job(3).payload, { args: "[".repeat(1_500) + "]".repeat(1_500) });
    await t.store.jobs.enqueue([{ ...plain, payload }, { ...job(2), payload: odd }, { ...job(3), payload: nested }]);
    const leases = await takeUpTo(t.store, worker, 10, ["low", "default"]);
    const record = { jid: jid(1), ttlMs: HOUR_MS, body: '{"result":"secret"}' };
    const error = { class: "Boom", message: "x".repeat(1_000) };
    const [one, two, three] = leases;
    await t.store.jobs.settle(worker, [
      { kind: "ack", token: one!.token, record },
      { kind: "bury", token: two!.token, payload: two!.payload, event: endMembers("dead", error) },
      { kind: "discard", token: three!.token, event: endMembers("failed", { class: "E", message: 'a "b"\n' }) },
    ]);
    const read = await all(t.store);
    for (const { at } of read) assert(Math.abs(at - t.now()) < SLACK_MS);
    assertEquals(read.map(({ id: _, at: __, ...event }) => event), [
      { type: "succeeded", jid: jid(1), class: 'Bil"ling::Ä', queue: "low", batch, tags: ["a", "ä"] },
      {
        type: "dead",
        jid: jid(2),
        class: "HardJob",
        queue: "default",
        error: { class: "Boom", message: "x".repeat(300) },
      },
      read[2]!.class === undefined ? { type: "failed", jid: jid(3), error: { class: "E", message: 'a "b"\n' } } : {
        type: "failed",
        jid: jid(3),
        class: "HardJob",
        queue: "default",
        error: { class: "E", message: 'a "b"\n' },
      },
    ]);
    assertEquals((await t.holding("secret")).some((name) => name.includes("event")), false);
  },

  "has an event for each way to end, and none for what runs again": async (open) => {
    await using t = await open();
    await t.store.events.keep(HOUR_MS);
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 9));
    const leases = await takeUpTo(t.store, worker);
    const [ack, cancelled, expired, discard, bury, retry, snooze, release, lost] = leases.map(({ token }) => token);
    const payload = leases[4]!.payload;
    const outcomes: Outcome[] = [
      { kind: "ack", token: ack! },
      { kind: "ack", token: cancelled!, event: endMembers("cancelled") },
      { kind: "ack", token: expired!, event: endMembers("expired") },
      { kind: "discard", token: discard! },
      { kind: "bury", token: bury!, payload, unlock: "key", jid: jid(5) },
      { kind: "retry", token: retry!, payload: leases[5]!.payload, delayMs: HOUR_MS },
      { kind: "snooze", token: snooze!, payload: leases[6]!.payload, delayMs: HOUR_MS },
      { kind: "release", token: release! },
    ];
    await t.store.jobs.settle(worker, [{ kind: "ack", token: lost! }]);
    await t.store.jobs.settle(worker, [...outcomes, { kind: "ack", token: lost! }]);
    assertEquals(await recorded(t.store), [
      ["succeeded", jid(9)],
      ...["succeeded", "cancelled", "expired", "failed", "dead"].map((type, i) => [type, jid(i + 1)]),
    ]);
    // The same, as the functions of hot verbs see it.
    const more = await t.store.events.last();
    await t.store.jobs.enqueue(jobs(11, 13));
    const [one, two, three] = await takeUpTo(t.store, worker, 10).then((all) => all.slice(-3));
    await t.store.jobs.settle(worker, [
      { kind: "ack", token: one!.token, event: endMembers("cancelled") },
      { kind: "bury", token: two!.token, payload: two!.payload },
      { kind: "ack", token: three!.token },
    ]);
    assertEquals((await recorded(t.store, more)).length, 3);
    assertEquals(new Set((await recorded(t.store, more)).map((one) => (one as string[])[0])).size, 3);
  },

  "records jobs that operators cancel and kill, but not deleted and requeued ones": async (open) => {
    await using t = await open();
    await t.store.events.keep(HOUR_MS);
    const worker = await register(t.store);
    await inDead(t.store, worker, [job(1)]);
    await inRetry(t.store, worker, [job(2)], HOUR_MS);
    const after = await t.store.events.last();
    await t.store.jobs.enqueue([job(3), job(4, { delayMs: HOUR_MS }), job(5)]);
    const refOf = async (n: number) => (await t.store.jobs.find([jid(n)]))[0]!.ref;
    assertEquals(await cancelJob(t.store, jid(3), t.now()), "removed");
    assertEquals(await cancelJob(t.store, jid(4), t.now()), "removed");
    assertEquals(await t.store.jobs.edit([await refOf(2)], "kill"), 1);
    assertEquals(await t.store.jobs.edit([await refOf(1)], "requeue"), 1);
    assertEquals(await t.store.jobs.edit([await refOf(5)], "delete"), 1);
    assertEquals(await recorded(t.store, after), [["cancelled", jid(3)], ["cancelled", jid(4)], ["dead", jid(2)]]);
  },

  "records a complete batch and an ended flow once, in the step that ends them": async (open) => {
    await using t = await open();
    await t.store.events.keep(HOUR_MS);
    const worker = await start(t.store, DIAMOND);
    for (const names of ["a", "bc", "d"]) {
      const taken = await take(t.store, worker);
      await t.store.jobs.settle(worker, [...names].map((name) => ending(taken[name]!)));
    }
    const ofFlow = await all(t.store);
    assertEquals(ofFlow.map(({ type, batch }) => [type, batch]), [
      ...Array.from({ length: 4 }, () => ["succeeded", ID]),
      ["flow.ended", ID],
    ]);
    assertEquals(ofFlow.at(-1)!.state, "succeeded");
    const after = await t.store.events.last();
    const more = { name: 'import "1"', tags: ["a", "ä"] };
    await t.store.batches.create({ id: "b1", callbacks: {}, closeWithinMs: HOUR_MS, keepMs: HOUR_MS, ...more });
    const members = jobs(1, 2).map((one) => ({
      ...one,
      payload: setFields(one.payload, { batch: '"b1"', batch_counted: '"pending"' }),
      batch: { id: "b1" },
    }));
    await t.store.jobs.enqueue(members);
    await t.store.batches.close("b1", "closed");
    const [lease] = await takeUpTo(t.store, worker, 1);
    const batch = { id: "b1", from: "pending", to: "dead" } as const;
    await t.store.jobs.settle(worker, [{
      kind: "bury",
      token: lease!.token,
      payload: setFields(lease!.payload, { batch_counted: '"dead"' }),
      batch,
    }]);
    assertEquals((await recorded(t.store, after)).length, 1);
    await cancelBatch(t.store, "b1", t.now());
    const ofBatch = await all(t.store, after);
    assertEquals(ofBatch.map(({ type, jid }) => [type, jid]), [
      ["dead", jid(1)],
      ["cancelled", jid(2)],
      ["batch.complete", undefined],
    ]);
    const { id: _, at: __, ...complete } = ofBatch.at(-1)!;
    assertEquals(complete, { type: "batch.complete", batch: "b1", ...more, state: "cancelled" });
  },

  "records an offline worker once, and events with a cron entry": async (open) => {
    await using t = await open();
    await t.store.events.keep(HOUR_MS);
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 3));
    await takeUpTo(t.store, worker, 3);
    await lapse(t);
    for (let i = 0; i < 4; i++) await rescueFor(t.store, 1);
    assertEquals(await recorded(t.store), [["worker.offline", worker]]);
    const after = await t.store.events.last();
    const missed = membersOf({ type: "cron.missed", entry: "nightly", class: "C", count: 2 });
    const write = { name: "nightly", version: 0, state: "{}", jobs: [], awaited: false, records: [], events: [missed] };
    await t.store.cron.write([{ ...write, definition: "{}" }]);
    assertEquals(await t.store.cron.write([{ ...write, version: 99 }]), [undefined]);
    const [event, ...rest] = await all(t.store, after);
    assertEquals([event!.type, event!.entry, event!.count, rest.length], ["cron.missed", "nightly", 2, 0]);
  },

  "gives rising IDs, and pages by number and by size": async (open) => {
    await using t = await open();
    await t.store.events.keep(HOUR_MS);
    await end(t.store, 1, 100);
    await end(t.store, 101, 200);
    const ids = (await all(t.store)).map(({ id }) => id);
    assertEquals([ids.length, ids.toSorted((a, b) => a - b), new Set(ids).size], [200, ids, 200]);
    assertEquals(ids.at(-1), await t.store.events.last());
    const few = await t.store.events.read(ids[9]!, 5);
    assertEquals([few.events.map(({ id }) => id), few.missing], [ids.slice(10, 15), undefined]);
    const worker = await register(t.store);
    const tags = JSON.stringify(["x".repeat(MAX_PAGE_EVENT_CHARACTERS / 2)]);
    await t.store.jobs.enqueue(jobs(301, 304).map((one) => ({ ...one, payload: setFields(one.payload, { tags }) })));
    const leases = await takeUpTo(t.store, worker, 4);
    await t.store.jobs.settle(worker, leases.map(({ token }) => ({ kind: "ack", token })));
    const large = await t.store.events.read(ids.at(-1)!);
    assertEquals(large.events.length, 1);
    assertEquals((await all(t.store, ids.at(-1))).length, 4);
  },

  "drops what is too old, and returns a gap to a reader that was behind": async (open) => {
    await using t = await open();
    await t.store.events.keep(HOUR_MS);
    await end(t.store, 1, 3);
    const [first, , third] = await all(t.store);
    t.advance(HOUR_MS / 2);
    await t.store.events.keep(HOUR_MS);
    await end(t.store, 4, 4);
    t.advance(HOUR_MS / 2 + SLACK_MS);
    await t.store.events.keep(HOUR_MS);
    const [gap, fourth] = await all(t.store, first!.id);
    assertEquals([gap!.type, gap!.id, gap!.after, fourth!.jid], ["gap", third!.id, first!.id, jid(4)]);
    assertEquals(await recorded(t.store, third!.id), [["succeeded", jid(4)]], "it has missed nothing");
    assertEquals(await recorded(t.store), [["succeeded", jid(4)]], "0 is the oldest that is kept");
    t.advance(HOUR_MS);
    await t.store.events.keep(0);
    const last = await t.store.events.last();
    assertEquals(last, fourth!.id);
    await t.store.events.keep(HOUR_MS);
    await end(t.store, 5, 5);
    assertGreater((await all(t.store)).at(-1)!.id, last);
  },

  "a reader that stops at any event continues with the next one, while others write": async (open) => {
    await using t = await open();
    await t.store.events.keep(HOUR_MS);
    const stores = [t.store, await t.another(), await t.another()];
    const rounds = 12;
    let open_ = stores.length;
    const write = async (store: Store, i: number) => {
      const worker = await register(store, `host:${i + 1}:aaaaaaaaaaaa`);
      for (let round = 0; round < rounds; round++) {
        const from = 1 + (i * rounds + round) * 10;
        await store.jobs.enqueue(jobs(from, from + 9));
        const leases = await takeUpTo(store, worker, 10);
        await store.jobs.settle(worker, leases.map(({ token }) => ({ kind: "ack", token })));
      }
      open_--;
    };
    const reader = await t.another();
    const seen: string[] = [];
    const read = async () => {
      for (let last = 0, isLast = false;;) {
        isLast = open_ === 0;
        const { events } = await readEvents(reader, last, { limit: 7 });
        // It is killed somewhere within the page.
        const some = events.slice(0, 1 + seen.length % 7);
        seen.push(...some.map((event) => event.jid!));
        last = some.at(-1)?.id ?? last;
        if (some.length > 0) continue;
        if (isLast) return;
        await systemClock.turn();
      }
    };
    await Promise.all([read(), ...stores.map(write)]);
    assertEquals(seen.length, rounds * stores.length * 10);
    assertEquals(new Set(seen).size, seen.length);
    assertEquals(await entries(t.store, { in: "queue", queue: "default" }), []);
  },

  "wakes a reader, and passes on what its filter lets through": async (open) => {
    await using t = await open();
    const stop = new AbortController();
    const filter = { class: ["Hard*"], type: ["dead"] } as const;
    const events = followEvents(await t.another(), { clock: systemClock, after: 0, filter, signal: stop.signal });
    const next = events.next();
    while (await t.store.events.last() === 0) {
      // The reader has it recorded from now on.
      await end(t.store, 1, 1);
    }
    const first = (await next).value!;
    assertEquals(first.events, []);
    await end(t.store, 2, 2, { kind: "bury" });
    for await (const page of events) {
      if (page.events.length === 0) continue;
      assertEquals(page.events.map(({ type, jid }) => [type, jid]), [["dead", jid(2)]]);
      break;
    }
    stop.abort();
  },
};
