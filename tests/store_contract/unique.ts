/**
 * Locks on "a job like this is already there".
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { NewJob, Outcome } from "../../src/store/port/jobs.ts";
import type { Cases, TestStore } from "./harness.ts";
import { doom, entries, HOUR_MS, jid, job, numbersIn, register, takeUpTo, TTL_MS } from "./jobs.ts";

const KEY = "HardJob:bob";
/** Longer than any case. */
const LONG_MS = 1_000 * HOUR_MS;

export const unique: Cases = {
  "while one has the lock, a second is refused and learns which has it": async (open) => {
    await using t = await open();
    assertEquals(await t.store.jobs.enqueue([locked(1)]), [{ stored: true }]);
    assertEquals(await t.store.jobs.enqueue([locked(2), job(3)]), [{ stored: false, holder: jid(1) }, {
      stored: true,
    }]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [1, 3]);
    assertEquals(await (await t.another()).jobs.enqueue([locked(4)]), [{ stored: false, holder: jid(1) }]);
  },

  "other keys are other locks": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([locked(1)]);
    assertEquals(await t.store.jobs.enqueue([locked(2, { unique: { key: "else", ttlMs: LONG_MS } })]), [{
      stored: true,
    }]);
  },

  "in one batch the first has it": async (open) => {
    await using t = await open();
    assertEquals(await t.store.jobs.enqueue([locked(1), locked(2)]), [{ stored: true }, {
      stored: false,
      holder: jid(1),
    }]);
  },

  "one that is scheduled has it too, and keeps it when promoted and taken": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.jobs.enqueue([locked(1, { delayMs: TTL_MS / 4 })]);
    assertEquals(await held(t), true);
    t.advance(TTL_MS / 2);
    await t.store.jobs.promote(10);
    assertEquals(await held(t), true);
    await takeUpTo(t.store, owner);
    assertEquals(await held(t), true);
  },

  "kept while the job retries, snoozes or is given back": async (open) => {
    await using t = await open();
    for (const kind of ["release", "retry", "snooze"] as const) {
      await settleOne(t, (token) => ({ kind, token, delayMs: HOUR_MS, payload: locked(1).payload }));
      assertEquals(await held(t), true, kind);
      await empty(t);
    }
  },

  "free when the job is done, discarded or dead": async (open) => {
    await using t = await open();
    for (const kind of ["ack", "discard", "bury"] as const) {
      await settleOne(t, (token) => ({ kind, token, payload: locked(1).payload, unlock: KEY, jid: jid(1) }));
      assertEquals(await held(t), false, kind);
      await empty(t);
    }
  },

  "an outcome that came too late does not free it": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.jobs.enqueue([locked(1)]);
    const [lease] = await takeUpTo(t.store, owner);
    await t.store.jobs.settle(owner, [{ kind: "release", token: lease!.token }]);
    await t.store.jobs.settle(owner, [{ kind: "ack", token: lease!.token, unlock: KEY, jid: jid(1) }]);
    assertEquals(await held(t), true);
  },

  "free after its time, and then the late holder does not free the next one's": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.jobs.enqueue([locked(1, { unique: { key: KEY, ttlMs: HOUR_MS } })]);
    t.advance(2 * HOUR_MS);
    assertEquals(await t.store.jobs.enqueue([locked(2)]), [{ stored: true }]);
    await register(t.store, owner);
    const [first] = await takeUpTo(t.store, owner, 1);
    await t.store.jobs.settle(owner, [{ kind: "ack", token: first!.token, unlock: KEY, jid: jid(1) }]);
    assertEquals(await t.store.jobs.enqueue([locked(3)]), [{ stored: false, holder: jid(2) }]);
  },

  "free when the job is deleted or killed, in a queue or a set": async (open) => {
    await using t = await open();
    for (const edit of ["delete", "kill"] as const) {
      for (const change of [{}, { delayMs: HOUR_MS }]) {
        await t.store.jobs.enqueue([locked(1, change)]);
        const [entry] = await t.store.admin.find([jid(1)]);
        assertEquals(await t.store.admin.edit([entry!.ref], edit), 1);
        assertEquals(await held(t), false, edit);
        await empty(t);
      }
    }
  },

  "free when many are deleted at once": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(5), locked(1)]);
    assertEquals(await t.store.admin.editSome({ in: "queue", queue: "default" }, "delete", 100), 2);
    assertEquals(await held(t), false);
  },

  "kept through rescues, free when the doomed job is buried": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([locked(1)]);
    const { owner, token, payload } = await doom(t);
    assertEquals(await held(t), true);
    await t.store.jobs.settle(owner, [{ kind: "bury", token, payload, unlock: KEY, jid: jid(1) }]);
    assertEquals(await held(t), false);
  },

  "a job without a lock takes nothing from one that has it": async (open) => {
    await using t = await open();
    const owner = await register(t.store);
    await t.store.jobs.enqueue([locked(1), job(2)]);
    const leases = await takeUpTo(t.store, owner);
    await t.store.jobs.settle(owner, [{ kind: "ack", token: leases[1]!.token }]);
    assertEquals(await held(t), true);
  },
};

/** The n-th job, with the lock. */
function locked(n: number, change: Partial<NewJob> = {}): NewJob {
  return job(n, { unique: { key: KEY, ttlMs: LONG_MS }, ...change });
}

/** Whether some job has the lock. Leaves no trace. */
async function held({ store }: TestStore): Promise<boolean> {
  const [result] = await store.jobs.enqueue([locked(99)]);
  if (!result!.stored) return true;
  const [entry] = await store.admin.find([jid(99)]);
  await store.admin.edit([entry!.ref], "delete");
  return false;
}

/** Enqueues the locked job, takes it, and settles it in the given way. */
async function settleOne({ store }: TestStore, outcome: (token: string) => Outcome): Promise<void> {
  const owner = await register(store);
  await store.jobs.enqueue([locked(1)]);
  const [lease] = await takeUpTo(store, owner);
  await store.jobs.settle(owner, [outcome(lease!.token)]);
}

/** Deletes everything that is in a queue or a set. */
async function empty({ store }: TestStore): Promise<void> {
  for (
    const place of [{ in: "queue", queue: "default" }, { in: "scheduled" }, { in: "retry" }, { in: "dead" }] as const
  ) {
    await store.admin.edit((await entries(store, place)).map((entry) => entry.ref), "delete");
  }
}
