/**
 * Unique locks against duplicates.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { NewJob } from "../../src/store/port/jobs.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import type { Cases, TestStore } from "./harness.ts";
import { doom, entries, HOUR_MS, jid, job, numbersIn, register, takeUpTo, TTL_MS } from "./jobs.ts";
import { cancelJob } from "../../src/store/ops/cancel.ts";

const KEY = "HardJob:bob";
/** Longer than any case runs. */
const LONG_MS = 1_000 * HOUR_MS;

export const unique: Cases = {
  "refuses a second job while the first has the lock, and names the first": async (open) => {
    await using t = await open();
    assertEquals(await t.store.jobs.enqueue([locked(1)]), [{ kind: "stored" }]);
    assertEquals(await t.store.jobs.enqueue([locked(2), job(3)]), [{ kind: "duplicate", holder: jid(1) }, {
      kind: "stored",
    }]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [1, 3]);
    assertEquals(await (await t.another()).jobs.enqueue([locked(4)]), [{ kind: "duplicate", holder: jid(1) }]);
  },

  "different keys are different locks": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([locked(1)]);
    assertEquals(await t.store.jobs.enqueue([locked(2, { unique: { key: "else", ttlMs: LONG_MS } })]), [{
      kind: "stored",
    }]);
  },

  "the first job of a call gets the lock": async (open) => {
    await using t = await open();
    assertEquals(await t.store.jobs.enqueue([locked(1), locked(2)]), [{ kind: "stored" }, {
      kind: "duplicate",
      holder: jid(1),
    }]);
  },

  "the first job of a call gets the lock, whichever of them runs later or may replace a job": async (open) => {
    await using t = await open();
    const refused = { kind: "duplicate", holder: jid(1) } as const;
    const kinds: Partial<NewJob>[] = [{ delayMs: HOUR_MS }, {}, {
      unique: { key: KEY, ttlMs: LONG_MS, replace: true },
    }];
    for (const first of kinds.slice(0, 2)) {
      const jobs = [locked(1, first), ...kinds.map((change, i) => locked(2 + i, change))];
      assertEquals(await t.store.jobs.enqueue(jobs), [{ kind: "stored" }, refused, refused, refused]);
      assertEquals(await cancelJob(t.store, jid(1), t.now()), "removed");
    }
  },

  "refuses a second job with the ID of the first, too": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([locked(1)]);
    assertEquals(await t.store.jobs.enqueue([locked(1)]), [{ kind: "duplicate", holder: jid(1) }]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [1]);
  },

  "a scheduled job has the lock, and keeps it when promoted and taken": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([locked(1, { delayMs: TTL_MS / 4 })]);
    assertEquals(await held(t), true);
    t.advance(TTL_MS / 2);
    await t.store.jobs.promote(10);
    assertEquals(await held(t), true);
    await takeUpTo(t.store, worker);
    assertEquals(await held(t), true);
  },

  "a lock until the start ends when the job is taken, however that job ends, and not that of the next one": async (
    open,
  ) => {
    await using t = await open();
    const worker = await register(t.store);
    const untilStart = (n: number, fields = '"unique_until":"start"') => {
      const one = locked(n);
      return { ...one, payload: one.payload.replace(/}$/, `,"unique_key":"${KEY}",${fields}}`) };
    };
    await t.store.jobs.enqueue([untilStart(1)]);
    assertEquals((await t.store.jobs.enqueue([untilStart(2)])).map(({ kind }) => kind), ["duplicate"]);
    const [first] = await takeUpTo(t.store, worker);
    assertEquals(await t.store.jobs.enqueue([untilStart(3)]), [{ kind: "stored" }], "the first one runs");
    assertEquals(await t.store.jobs.enqueue([untilStart(4)]), [{ kind: "duplicate", holder: jid(3) }]);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: first!.token, unlock: KEY, jid: jid(1) }]);
    assertEquals(await t.store.jobs.enqueue([untilStart(5)]), [{ kind: "duplicate", holder: jid(3) }]);
    const [third] = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [{ kind: "release", token: third!.token }]);
    assertEquals(await t.store.jobs.enqueue([untilStart(6)]), [{ kind: "stored" }]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [3, 6]);
    await takeUpTo(t.store, worker);
    await t.store.jobs.enqueue([untilStart(7, '"unique_for":60,"tags":["\\"unique_until\\":\\"start\\""]')]);
    await takeUpTo(t.store, worker);
    assertEquals((await t.store.jobs.enqueue([untilStart(8)])).map(({ kind }) => kind), ["duplicate"]);
  },

  "a job keeps the lock while it retries, snoozes or is released": async (open) => {
    await using t = await open();
    for (const kind of ["release", "retry", "snooze"] as const) {
      await settleOne(t, (token) => ({ kind, token, delayMs: HOUR_MS, payload: locked(1).payload }));
      assertEquals(await held(t), true, kind);
      await empty(t);
    }
  },

  "releases the lock when the job is acknowledged, discarded or buried": async (open) => {
    await using t = await open();
    for (const kind of ["ack", "discard", "bury"] as const) {
      await settleOne(t, (token) => ({ kind, token, payload: locked(1).payload, unlock: KEY, jid: jid(1) }));
      assertEquals(await held(t), false, kind);
      await empty(t);
    }
  },

  "a lost outcome doesn't release the lock": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([locked(1)]);
    const [lease] = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [{ kind: "release", token: lease!.token }]);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: lease!.token, unlock: KEY, jid: jid(1) }]);
    assertEquals(await held(t), true);
  },

  "the lock expires, and its late holder doesn't release the next holder's": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([locked(1, { unique: { key: KEY, ttlMs: HOUR_MS } })]);
    t.advance(2 * HOUR_MS);
    assertEquals(await t.store.jobs.enqueue([locked(2)]), [{ kind: "stored" }]);
    await register(t.store, worker);
    const [first] = await takeUpTo(t.store, worker, 1);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: first!.token, unlock: KEY, jid: jid(1) }]);
    assertEquals(await t.store.jobs.enqueue([locked(3)]), [{ kind: "duplicate", holder: jid(2) }]);
  },

  "releases the lock when the job is deleted or killed, in a queue or a set": async (open) => {
    await using t = await open();
    for (const edit of ["delete", "kill"] as const) {
      for (const change of [{}, { delayMs: HOUR_MS }]) {
        await t.store.jobs.enqueue([locked(1, change)]);
        const [entry] = await t.store.jobs.find([jid(1)]);
        assertEquals(await t.store.jobs.edit([entry!.ref], edit), 1);
        assertEquals(await held(t), false, edit);
        await empty(t);
      }
    }
  },

  "releases the locks of many deleted jobs": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(5), locked(1)]);
    assertEquals(await t.store.jobs.edit({ in: { in: "queue", queue: "default" }, limit: 100 }, "delete"), 2);
    assertEquals(await held(t), false);
  },

  "a job keeps the lock through rescues until it is doomed and buried": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([locked(1)]);
    const { worker, token, payload } = await doom(t);
    assertEquals(await held(t), true);
    await t.store.jobs.settle(worker, [{ kind: "bury", token, payload, unlock: KEY, jid: jid(1) }]);
    assertEquals(await held(t), false);
  },

  "a job without a lock doesn't affect one that has it": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([locked(1), job(2)]);
    const leases = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: leases[1]!.token }]);
    assertEquals(await held(t), true);
  },
};

/** Returns the n-th job, with the lock. */
function locked(n: number, change: Partial<NewJob> = {}): NewJob {
  return job(n, { unique: { key: KEY, ttlMs: LONG_MS }, ...change });
}

/** Returns whether a job has the lock, and changes nothing. */
async function held({ store }: TestStore): Promise<boolean> {
  const [result] = await store.jobs.enqueue([locked(99)]);
  if (result!.kind !== "stored") return true;
  const [entry] = await store.jobs.find([jid(99)]);
  await store.jobs.edit([entry!.ref], "delete");
  return false;
}

/** Enqueues the locked job, takes it, and settles it in the given way. */
async function settleOne({ store }: TestStore, outcome: (token: string) => Outcome): Promise<void> {
  const worker = await register(store);
  await store.jobs.enqueue([locked(1)]);
  const [lease] = await takeUpTo(store, worker);
  await store.jobs.settle(worker, [outcome(lease!.token)]);
}

/** Deletes all jobs in queues and sets. */
async function empty({ store }: TestStore): Promise<void> {
  for (
    const place of [{ in: "queue", queue: "default" }, { in: "scheduled" }, { in: "retry" }, { in: "dead" }] as const
  ) {
    await store.jobs.edit((await entries(store, place)).map((entry) => entry.ref), "delete");
  }
}
