/**
 * The streams of jobs: what they print while they run.
 *
 * @module
 */
import { assert, assertEquals, assertLess } from "@std/assert";
import { getField } from "../../src/job/raw.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { readStream } from "../../src/store/ops/streams.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import type { StepLease } from "../../src/store/port/steps.ts";
import { MAX_STREAM_CHARACTERS, TAIL_MS } from "../../src/store/port/streams.ts";
import { type Cases, SLACK_MS, type TestStore } from "./harness.ts";
import { entries, HOUR_MS, jid, job, lapse, register, rescueFor, takeUpTo } from "./jobs.ts";

const RECORD = { jid: jid(1), ttlMs: HOUR_MS, body: `{"jid":"${jid(1)}","state":"succeeded"}` };

/** Takes the only job. */
async function take(store: Store, worker: string): Promise<StepLease & { readonly payload: string }> {
  const [lease] = await takeUpTo(store, worker, 1);
  return { worker, token: lease!.token, jid: String(getField(lease!.payload, "jid")), payload: lease!.payload };
}

/** Pushes job 1 and takes it. */
async function running(t: TestStore) {
  const worker = await register(t.store);
  await t.store.jobs.enqueue([job(1)]);
  return await take(t.store, worker);
}

function settle(store: Store, { worker, token, jid }: StepLease, outcome: Partial<Outcome> & { kind: string }) {
  return store.jobs.settle(worker, [{ token, jid, steps: true, ...outcome } as Outcome]);
}

function append({ store }: TestStore, lease: StepLease, from: number, ...values: readonly unknown[]) {
  return store.streams.append(lease, { attempt: 1, from, chunks: values.map((value) => JSON.stringify(value)) });
}

/** The chunks after a number, as `NUMBER/RUN VALUE`, and gaps, as `FIRST..LAST`. */
async function chunks(store: Store, after = 0): Promise<string[]> {
  const page = await readStream(store, jid(1), after);
  return page!.items.map((item) =>
    "gapFrom" in item ? `${item.gapFrom}..${item.number}` : `${item.number}/${item.run} ${JSON.parse(item.chunk)}`
  );
}

async function keepsLatest(opened: TestStore, character: string): Promise<void> {
  await using t = opened;
  const lease = await running(t);
  const bytes = 50_000;
  const text = character.repeat(bytes / new TextEncoder().encode(character).length);
  for (let i = 0; i < 30; i++) await append(t, lease, i, text);
  const first = (await t.store.streams.read(jid(1), 0))!;
  assertEquals(first.last, 30);
  const kept = 30 - first.parts[0]!.last + 1;
  assert(kept * bytes <= MAX_STREAM_CHARACTERS && (kept + 1) * bytes > MAX_STREAM_CHARACTERS - 5_000);
  assert(first.parts.length < 7, `${first.parts.length} parts of 50,000 characters`);
  assertEquals((await readStream(t.store, jid(1), 0))!.items[0], {
    number: first.parts[0]!.last - 1,
    gapFrom: 1,
  });
}

export const streams: Cases = {
  "numbers chunks from 1, and returns those after a number": async (open) => {
    await using t = await open();
    const lease = await running(t);
    assertEquals(await t.store.streams.read(jid(1), 0), undefined);
    assertEquals(await append(t, lease, 0, "a", "b"), true);
    assertEquals(await append(t, lease, 2, "c\0d"), true);
    assertEquals(await chunks(t.store), ["1/1 a", "2/1 b", "3/1 c\0d"]);
    assertEquals(await chunks(t.store, 1), ["2/1 b", "3/1 c\0d"]);
    assertEquals(await t.store.streams.read(jid(1), 3), { parts: [], last: 3, ended: false });
  },

  "a write that is repeated, as a whole or in part, changes nothing": async (open) => {
    await using t = await open();
    const lease = await running(t);
    for (let i = 0; i < 2; i++) assertEquals(await append(t, lease, 0, "a", "b"), true);
    await append(t, lease, 1, "b", "c");
    assertEquals(await chunks(t.store), ["1/1 a", "2/1 b", "3/1 c"]);
  },

  "chunks that a worker has dropped are a gap in the numbers": async (open) => {
    await using t = await open();
    const lease = await running(t);
    await append(t, lease, 2, "c");
    await append(t, lease, 5, "f");
    assertEquals(await chunks(t.store), ["1..2", "3/1 c", "4..5", "6/1 f"]);
  },

  "a worker that has lost its lease writes nothing, and the next one continues as another run": async (open) => {
    await using t = await open();
    const lease = await running(t);
    await append(t, lease, 0, "a");
    await lapse(t);
    await rescueFor(t.store);
    const other = await register(t.store, "host:2:bbbbbbbbbbbb");
    assertEquals(await append(t, lease, 1, "late"), false);
    const again = await take(t.store, other);
    assertEquals(getField(again.payload, "has_steps"), true);
    assertEquals(await append(t, again, 0, "b"), true);
    assertEquals(await append(t, lease, 1, "late"), false);
    assertEquals(await chunks(t.store), ["1/1 a", "2/2 b"]);
  },

  "stays as long as the record of its job": async (open) => {
    await using t = await open();
    const lease = await running(t);
    await append(t, lease, 0, "a");
    await settle(t.store, lease, { kind: "ack", record: RECORD });
    assertEquals(await t.store.streams.read(jid(1), 1), { parts: [], last: 1, ended: true });
    t.advance(HOUR_MS - SLACK_MS);
    assertEquals(await chunks(t.store), ["1/1 a"]);
  },

  "stays for a minute after its job has left no record": async (open) => {
    for (const way of ["ack", "delete"] as const) {
      await using t = await open();
      const lease = await running(t);
      await append(t, lease, 0, "a");
      if (way === "ack") await settle(t.store, lease, { kind: "ack" });
      else {
        await t.store.jobs.settle(lease.worker, [{ kind: "release", token: lease.token }]);
        const [queued] = await entries(t.store, { in: "queue", queue: "default" });
        assertEquals(await t.store.jobs.edit([queued!.ref], "delete"), 1);
      }
      const page = await t.store.streams.read(jid(1), 0);
      assertEquals([page?.ended, page?.parts.length], [true, 1], way);
    }
    assertLess(TAIL_MS, HOUR_MS);
  },

  "a job that was cancelled while it waited ends its stream with its record": async (open) => {
    await using t = await open();
    const lease = await running(t);
    await append(t, lease, 0, "a");
    await t.store.jobs.settle(lease.worker, [{ kind: "release", token: lease.token }]);
    const [queued] = await entries(t.store, { in: "queue", queue: "default" });
    await t.store.jobs.edit([queued!.ref], { cancel: RECORD });
    assertEquals((await t.store.streams.read(jid(1), 0))?.ended, true);
  },

  "a dead job that is retried continues its stream": async (open) => {
    await using t = await open();
    const lease = await running(t);
    await append(t, lease, 0, "a");
    const payload = lease.payload.replace(/}$/, `,"has_steps":true}`);
    await settle(t.store, lease, { kind: "bury", payload, record: RECORD });
    assertEquals((await t.store.streams.read(jid(1), 0))?.ended, true);
    const [dead] = await entries(t.store, { in: "dead" });
    await t.store.jobs.edit([dead!.ref], "requeue");
    const again = await take(t.store, lease.worker);
    await append(t, again, 0, "b");
    const page = await t.store.streams.read(jid(1), 0);
    assertEquals([page?.last, page?.ended], [2, false]);
    assertEquals(await chunks(t.store), ["1/1 a", "2/2 b"]);
    // It no longer goes with the record of the end before.
    t.advance(2 * HOUR_MS);
    assertEquals(await chunks(t.store), ["1/1 a", "2/2 b"]);
  },

  "keeps the latest bytes of a long stream, and a page of it is bounded, also of characters of several bytes": async (
    open,
  ) => {
    for (const character of ["x", "\u20ac", "\u{1f600}"]) await keepsLatest(await open(), character);
  },

  "watch: resolves when the stream has another chunk, and when the job has ended": async (open) => {
    await using t = await open();
    const other = await t.another();
    const lease = await running(t);
    await append(t, lease, 0, "a");
    const { signal } = new AbortController();
    assertEquals(await other.watch({ stream: jid(1), after: 0 }, signal), true);
    const more = other.watch({ stream: jid(1), after: 1 }, signal);
    await append(t, lease, 1, "b");
    assertEquals(await more, true);
    const end = other.watch({ stream: jid(1), after: 2 }, signal);
    await settle(t.store, lease, { kind: "ack", record: RECORD });
    assertEquals(await end, true);
  },
};
