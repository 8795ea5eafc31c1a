/**
 * Worker names, each with one holder at a time.
 *
 * @module
 */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { Store } from "../../src/store/admin/store.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import { HOUR_MS, lapse, LAPSE_MS, register, rescueFor, TTL_MS, workerRecord } from "./jobs.ts";

const A = "host:1:aaaaaaaaaaaa";
const B = "host:2:bbbbbbbbbbbb";

/** Returns whether a worker has a name after it has claimed it. */
async function claims(store: Store, name: string, worker: string, ttlMs: number): Promise<boolean> {
  return (await store.workers.claim(name, worker, ttlMs))?.worker === worker;
}

export const claim: Cases = {
  "the first worker gets the name, the second doesn't": async (open) => {
    await using t = await open();
    await register(t.store, A);
    await register(t.store, B);
    assert(await claims(t.store, "cron", A, HOUR_MS));
    assertEquals(await claims(t.store, "cron", B, HOUR_MS), false);
    assert(await claims(t.store, "other", B, HOUR_MS));
  },

  "the holder renews its claim": async (open) => {
    await using t = await open();
    await t.store.workers.heartbeat(workerRecord(A), 24 * HOUR_MS);
    await t.store.workers.heartbeat(workerRecord(B), 24 * HOUR_MS);
    assert(await claims(t.store, "cron", A, 2 * HOUR_MS));
    t.advance(HOUR_MS);
    assert(await claims(t.store, "cron", A, 2 * HOUR_MS));
    t.advance(1.5 * HOUR_MS);
    assertEquals(await claims(t.store, "cron", B, HOUR_MS), false);
  },

  "another worker gets the name after its TTL": async (open) => {
    await using t = await open();
    await t.store.workers.heartbeat(workerRecord(A), 24 * HOUR_MS);
    await t.store.workers.heartbeat(workerRecord(B), 24 * HOUR_MS);
    assert(await claims(t.store, "cron", A, HOUR_MS));
    t.advance(2 * HOUR_MS);
    assert(await claims(t.store, "cron", B, HOUR_MS));
    assertEquals(await claims(t.store, "cron", A, HOUR_MS), false);
  },

  "a worker takes a name over once it has sent heartbeats for one timeout without one of the holder": async (open) => {
    await using t = await open();
    await register(t.store, A);
    assert(await claims(t.store, "cron", A, 24 * HOUR_MS));
    // An outage, or a freeze of the machine: the holder may live, and B has just started.
    t.advance(LAPSE_MS);
    for (let passed = 0; passed < TTL_MS; passed += TTL_MS / 4) {
      await register(t.store, B);
      assertEquals(await claims(t.store, "cron", B, HOUR_MS), false, `${passed} ms after its start`);
      t.advance(TTL_MS / 4);
    }
    await register(t.store, B);
    assert(await claims(t.store, "cron", B, HOUR_MS));
  },

  "a worker that sends a heartbeat after an outage keeps its name": async (open) => {
    await using t = await open();
    await register(t.store, A);
    assert(await claims(t.store, "cron", A, 24 * HOUR_MS));
    t.advance(LAPSE_MS);
    await register(t.store, B);
    assertEquals(await claims(t.store, "cron", B, HOUR_MS), false);
    await register(t.store, A);
    for (let passed = 0; passed < 2 * TTL_MS; passed += TTL_MS / 4) {
      t.advance(TTL_MS / 4);
      await register(t.store, A);
      await register(t.store, B);
      assertEquals(await claims(t.store, "cron", B, HOUR_MS), false);
    }
  },

  "an unregistered worker can't take over the name of one whose heartbeat has lapsed": async (open) => {
    await using t = await open();
    await register(t.store, A);
    assert(await claims(t.store, "cron", A, 24 * HOUR_MS));
    t.advance(LAPSE_MS);
    assertEquals(await claims(t.store, "cron", B, HOUR_MS), false);
  },

  "another worker gets the name of a removed worker": async (open) => {
    await using t = await open();
    await register(t.store, A);
    await t.store.workers.claim("cron", A, 24 * HOUR_MS);
    await lapse(t);
    await register(t.store, B);
    await rescueFor(t.store);
    assert(await claims(t.store, "cron", B, HOUR_MS));
  },

  "another worker gets the name of a deregistered worker": async (open) => {
    await using t = await open();
    await register(t.store, A);
    await register(t.store, B);
    await t.store.workers.claim("cron", A, 24 * HOUR_MS);
    await t.store.workers.deregister(A);
    assert(await claims(t.store, "cron", B, HOUR_MS));
  },

  "only its holder can release a name": async (open) => {
    await using t = await open();
    await register(t.store, A);
    await register(t.store, B);
    assert(await claims(t.store, "cron", A, HOUR_MS));
    await t.store.workers.claim("cron", B, 0);
    assertEquals(await claims(t.store, "cron", B, HOUR_MS), false);
    await t.store.workers.claim("cron", A, 0);
    assert(await claims(t.store, "cron", B, HOUR_MS));
    await t.store.workers.claim("cron", B, 0);
    assert(await claims(t.store, "cron", A, HOUR_MS));
  },

  "a claim returns the holder, with a new value after each of its heartbeats": async (open) => {
    await using t = await open();
    assertEquals(await t.store.workers.claim("cron", B, 0), undefined);
    await register(t.store, A);
    await register(t.store, B);
    const first = (await t.store.workers.claim("cron", A, 24 * HOUR_MS))!;
    assertEquals(first.worker, A);
    assertAlmostEquals(first.heartbeatUntil, t.now() + TTL_MS, SLACK_MS);
    assertEquals(await t.store.workers.claim("cron", B, HOUR_MS), first);
    t.advance(TTL_MS / 2);
    assertEquals(await t.store.workers.claim("cron", B, HOUR_MS), first);
    await register(t.store, A);
    const later = (await t.store.workers.claim("cron", B, HOUR_MS))!;
    assert(later.worker === A && later.heartbeatUntil > first.heartbeatUntil);
    t.advance(LAPSE_MS);
    assertEquals(await t.store.workers.claim("cron", B, HOUR_MS), later, "a lapsed holder may be alive");
  },

  "a worker that has sent no heartbeat claims a free name": async (open) => {
    await using t = await open();
    assertEquals(await t.store.workers.claim("cron", A, HOUR_MS), { worker: A, heartbeatUntil: 0 });
    await register(t.store, B);
    assert(await claims(t.store, "cron", B, HOUR_MS));
  },

  "a released name, that of a deregistered worker, and an expired claim have no holder": async (open) => {
    await using t = await open();
    const holder = async () => (await t.store.workers.claim("cron", B, 0))?.worker;
    await t.store.workers.heartbeat(workerRecord(A), 24 * HOUR_MS);
    await t.store.workers.claim("cron", A, HOUR_MS);
    assertEquals(await holder(), A);
    t.advance(2 * HOUR_MS);
    assertEquals(await holder(), undefined);
    await t.store.workers.claim("cron", A, HOUR_MS);
    assertEquals(await t.store.workers.claim("cron", A, 0), undefined);
    assertEquals(await holder(), undefined);
    await t.store.workers.claim("cron", A, HOUR_MS);
    await t.store.workers.deregister(A);
    assertEquals(await holder(), undefined);
  },

  "one of many concurrent claims succeeds": async (open) => {
    await using t = await open();
    const other = await t.another();
    const workers = ["a", "b", "c", "d", "e", "f"].map((letter, i) => `host:${i}:${letter.repeat(12)}`);
    for (const worker of workers) await register(t.store, worker);
    const claimed = await Promise.all(
      workers.map((worker, i) => claims(i % 2 === 0 ? t.store : other, "cron", worker, HOUR_MS)),
    );
    assertEquals(claimed.filter((isClaimed) => isClaimed).length, 1);
  },
};
