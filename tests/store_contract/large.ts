/**
 * Large jobs: every batch is bounded by bytes as well as by number.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { MAX_BATCH_BYTES } from "../../src/store/port/batch_bytes.ts";
import type { Lease, NewJob } from "../../src/store/port/jobs.ts";
import type { Store } from "../../src/store/admin/store.ts";
import type { Cases } from "./harness.ts";
import { entries, HOUR_MS, jid, job, lapse, numbers, numbersIn, register, rescueFor, takeUpTo } from "./jobs.ts";
import { keepRecord } from "../support/records.ts";

const MB = 1_000_000;

/** Returns the n-th job, of about `bytes` bytes. */
function largeJob(n: number, bytes: number, change: Partial<NewJob> = {}): NewJob {
  const payload = `{"class":"HardJob","args":[${n},"${"x".repeat(bytes)}"],"queue":"default","jid":"${jid(n)}"}`;
  return { jid: jid(n), queue: "default", payload, ...change };
}

function largeJobs(from: number, to: number, bytes: number, change: Partial<NewJob> = {}): NewJob[] {
  return Array.from({ length: to - from + 1 }, (_, i) => largeJob(from + i, bytes, change));
}

function bytesOf(leases: readonly { readonly payload: string }[]): number {
  return leases.reduce((sum, { payload }) => sum + payload.length, 0);
}

/** Rescues all leases of offline workers. Returns how many each step has moved. */
async function rescueSteps(store: Store): Promise<number[]> {
  const steps: number[] = [];
  for (let more = true; more;) {
    const step = await rescueFor(store);
    more = step.more;
    steps.push(step.rescued);
  }
  return steps;
}

export const large: Cases = {
  "take returns at most 4 MiB, in order, and the rest with the next calls": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(largeJobs(1, 10, MB));
    const taken: Lease[] = [];
    for (let calls = 0; taken.length < 10; calls++) {
      assert(calls < 10, `${taken.length} taken by ${calls} calls`);
      const leases = await takeUpTo(t.store, worker);
      assert(bytesOf(leases) <= MAX_BATCH_BYTES, `${bytesOf(leases)} bytes`);
      taken.push(...leases);
      assertEquals((await t.store.admin.stats()).running, taken.length);
    }
    assertEquals(numbers(taken), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assertEquals((await t.store.jobs.settle(worker, taken.map(({ token }) => ({ kind: "ack", token })))).lost, []);
  },

  "take returns a job that is larger than the bound alone": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1), largeJob(2, MAX_BATCH_BYTES + MB), job(3)]);
    assertEquals(numbers(await takeUpTo(t.store, worker)), [1]);
    assertEquals(numbers(await takeUpTo(t.store, worker)), [2]);
    assertEquals(numbers(await takeUpTo(t.store, worker)), [3]);
  },

  "all groups of a page are read, and the slowest is found, although their oldest jobs are large": async (open) => {
    await using t = await open();
    const names = Array.from({ length: 12 }, (_, i) => `g${10 + i}`);
    for (const [i, group] of names.toReversed().entries()) {
      await t.store.jobs.enqueue([largeJob(i + 1, MB, { group })]);
      t.advance(HOUR_MS);
    }
    const page = await t.store.admin.groups("default", { withSlowest: true });
    assertEquals(page.groups.map(({ name, size }) => [name, size]), names.map((name) => [name, 1]));
    const hours = page.groups.map(({ latencyMs }) => Math.round(latencyMs / HOUR_MS));
    assertEquals(hours, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    assertEquals(page.slowest?.name, "g21");
  },

  "take keeps the order of a queue when large jobs follow many small ones": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const small = Array.from({ length: 300 }, (_, i) => job(i + 1));
    await t.store.jobs.enqueue([...small, ...largeJobs(301, 306, MB), job(307, { queue: "low" })]);
    const taken: Lease[] = [];
    for (let calls = 0; calls < 3; calls++) taken.push(...await takeUpTo(t.store, worker, 1_000, ["default", "low"]));
    assertEquals(numbers(taken), Array.from({ length: 307 }, (_, i) => i + 1));
  },

  "promote moves large due jobs, earliest first, until none is left": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue(largeJobs(1, 6, MB).map((one, i) => ({ ...one, delayMs: HOUR_MS + i * 1_000 })));
    await t.store.jobs.enqueue([largeJob(7, MAX_BATCH_BYTES + MB, { delayMs: HOUR_MS + 60_000 })]);
    t.advance(2 * HOUR_MS);
    let moved = 0;
    for (let calls = 0;; calls++) {
      assert(calls < 10, `${moved} moved by ${calls} calls`);
      const result = await t.store.jobs.promote(1_000);
      moved += result.moved;
      if (result.nextInMs === undefined) break;
      assertEquals(result.nextInMs, 0);
    }
    assertEquals(moved, 7);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [1, 2, 3, 4, 5, 6, 7]);
  },

  "rescue returns large jobs to the front of their queue in their order, at most 4 MiB in one step": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const all = [...largeJobs(1, 9, MB), largeJob(10, MAX_BATCH_BYTES + MB)];
    await t.store.jobs.enqueue(all);
    for (let taken = 0; taken < all.length;) taken += (await takeUpTo(t.store, worker)).length;
    await t.store.jobs.enqueue([job(11)]);
    await lapse(t);
    // The largest job goes alone. Four of the others fit into a step, five don't.
    assertEquals((await rescueSteps(t.store)).toSorted(), [1, 1, 4, 4]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assertEquals((await t.store.admin.stats()).running, 0);
  },

  "a step of a rescue moves at most 4 MiB of the jobs of all offline workers": async (open) => {
    await using t = await open();
    const workers = [await register(t.store), await register(t.store, "host:2:bbbbbbbbbbbb")];
    await t.store.jobs.enqueue([...largeJobs(1, 9, MB), largeJob(10, MAX_BATCH_BYTES + MB)]);
    for (let taken = 0, turn = 0; taken < 10; turn++) taken += (await takeUpTo(t.store, workers[turn % 2]!)).length;
    await lapse(t);
    assertEquals((await rescueSteps(t.store)).toSorted(), [1, 1, 4, 4]);
    const queued = await numbersIn(t.store, { in: "queue", queue: "default" });
    assertEquals(queued.map(Number).sort((a, b) => a - b), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  },

  "a page of large jobs ends early, and the next one continues": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const all = [...largeJobs(1, 6, MB), largeJob(7, MAX_BATCH_BYTES + MB), ...largeJobs(8, 9, MB)];
    await t.store.jobs.enqueue([...all, ...all.map((one) => ({ ...one, delayMs: HOUR_MS }))]);
    const expected = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    for (const place of [{ in: "queue", queue: "default" }, { in: "scheduled" }, { in: "running" }] as const) {
      if (place.in === "running") {
        for (let taken = 0; taken < all.length;) taken += (await takeUpTo(t.store, worker)).length;
      }
      const first = await t.store.admin.page(place, { limit: 100 });
      assert(bytesOf(first.entries) <= MAX_BATCH_BYTES, `${place.in}: ${bytesOf(first.entries)} bytes`);
      const forward = await entries(t.store, place, { limit: 100 });
      const backward = await entries(t.store, place, { limit: 100, reverse: true });
      if (place.in === "scheduled") {
        // They are due at the same moment.
        assertEquals(numbers(forward).map(Number).sort(), expected);
        assertEquals(numbers(backward).map(Number).sort(), expected);
      } else {
        assertEquals(numbers(forward), expected, place.in);
        assertEquals(numbers(backward), expected.toReversed(), place.in);
      }
    }
  },

  "edits all large jobs of a place": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([...largeJobs(1, 9, MB), ...largeJobs(10, 18, MB, { delayMs: HOUR_MS })]);
    const editAll = async (edit: () => Promise<number>) => {
      let changed = 0;
      for (let step = await edit(); step > 0; step = await edit()) changed += step;
      return changed;
    };
    assertEquals(await editAll(() => t.store.jobs.edit({ in: { in: "scheduled" }, limit: 100 }, "requeue")), 9);
    assertEquals(
      await editAll(() => t.store.jobs.edit({ in: { in: "queue", queue: "default" }, limit: 100 }, "kill")),
      18,
    );
    assertEquals(await editAll(() => t.store.jobs.edit({ in: { in: "dead" }, limit: 100 }, "delete")), 18);
  },

  "edit edits large jobs of any total size": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([...largeJobs(1, 9, MB), ...largeJobs(10, 18, MB, { delayMs: HOUR_MS })]);
    const refs = [
      ...await entries(t.store, { in: "queue", queue: "default" }),
      ...await entries(t.store, { in: "scheduled" }),
    ].map(({ ref }) => ref);
    assertEquals(await t.store.jobs.edit(["nonsense", ...refs, ...refs], "kill"), 18);
    assertEquals((await t.store.admin.stats()).dead, 18);
  },

  "pages read all large records": async (open) => {
    await using t = await open();
    const body = (n: number) => JSON.stringify({ jid: jid(n), text: "x".repeat(MB) });
    for (let n = 1; n <= 9; n++) await keepRecord(t.store, { jid: jid(n), ttlMs: HOUR_MS, body: body(n) });
    const all: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await t.store.results.read({ limit: 100, ...(cursor !== undefined && { cursor }) });
      assert(bytesOf(page.records.map((payload) => ({ payload }))) <= MAX_BATCH_BYTES);
      all.push(...page.records);
      cursor = page.next;
    } while (cursor !== undefined);
    assertEquals(all.map((text) => JSON.parse(text).jid), [9, 8, 7, 6, 5, 4, 3, 2, 1].map(jid));
    assertEquals((await t.store.results.read({ text: jid(1), limit: 10 })).records.length, 1);
  },
};
