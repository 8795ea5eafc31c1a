/**
 * Worker names, each with one holder at a time.
 *
 * @module
 */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { type Cases, SLACK_MS } from "./harness.ts";
import { HOUR_MS, lapse, LAPSE_MS, register, rescueFor, TTL_MS, workerRecord } from "./jobs.ts";

const A = "host:1:aaaaaaaaaaaa";
const B = "host:2:bbbbbbbbbbbb";

export const claim: Cases = {
  "the first worker gets the name, the second doesn't": async (open) => {
    await using t = await open();
    await register(t.store, A);
    await register(t.store, B);
    assert(await t.store.workers.claimName("cron", A, HOUR_MS));
    assertEquals(await t.store.workers.claimName("cron", B, HOUR_MS), false);
    assert(await t.store.workers.claimName("other", B, HOUR_MS));
  },

  "the holder renews its claim": async (open) => {
    await using t = await open();
    await t.store.workers.heartbeat(workerRecord(A), 24 * HOUR_MS);
    await t.store.workers.heartbeat(workerRecord(B), 24 * HOUR_MS);
    assert(await t.store.workers.claimName("cron", A, 2 * HOUR_MS));
    t.advance(HOUR_MS);
    assert(await t.store.workers.claimName("cron", A, 2 * HOUR_MS));
    t.advance(1.5 * HOUR_MS);
    assertEquals(await t.store.workers.claimName("cron", B, HOUR_MS), false);
  },

  "another worker gets the name after its TTL": async (open) => {
    await using t = await open();
    await t.store.workers.heartbeat(workerRecord(A), 24 * HOUR_MS);
    await t.store.workers.heartbeat(workerRecord(B), 24 * HOUR_MS);
    assert(await t.store.workers.claimName("cron", A, HOUR_MS));
    t.advance(2 * HOUR_MS);
    assert(await t.store.workers.claimName("cron", B, HOUR_MS));
    assertEquals(await t.store.workers.claimName("cron", A, HOUR_MS), false);
  },

  "a worker takes a name over once it has sent heartbeats for one timeout without one of the holder": async (open) => {
    await using t = await open();
    await register(t.store, A);
    assert(await t.store.workers.claimName("cron", A, 24 * HOUR_MS));
    // An outage, or a freeze of the machine: the holder may live, and B has just started.
    t.advance(LAPSE_MS);
    for (let passed = 0; passed < TTL_MS; passed += TTL_MS / 4) {
      await register(t.store, B);
      assertEquals(await t.store.workers.claimName("cron", B, HOUR_MS), false, `${passed} ms after its start`);
      t.advance(TTL_MS / 4);
    }
    await register(t.store, B);
    assert(await t.store.workers.claimName("cron", B, HOUR_MS));
  },

  "a worker that sends a heartbeat after an outage keeps its name": async (open) => {
    await using t = await open();
    await register(t.store, A);
    assert(await t.store.workers.claimName("cron", A, 24 * HOUR_MS));
    t.advance(LAPSE_MS);
    await register(t.store, B);
    assertEquals(await t.store.workers.claimName("cron", B, HOUR_MS), false);
    await register(t.store, A);
    for (let passed = 0; passed < 2 * TTL_MS; passed += TTL_MS / 4) {
      t.advance(TTL_MS / 4);
      await register(t.store, A);
      await register(t.store, B);
      assertEquals(await t.store.workers.claimName("cron", B, HOUR_MS), false);
    }
  },

  "an unregistered worker can't take over the name of one whose heartbeat has lapsed": async (open) => {
    await using t = await open();
    await register(t.store, A);
    assert(await t.store.workers.claimName("cron", A, 24 * HOUR_MS));
    t.advance(LAPSE_MS);
    assertEquals(await t.store.workers.claimName("cron", B, HOUR_MS), false);
  },

  "another worker gets the name of a removed worker": async (open) => {
    await using t = await open();
    await register(t.store, A);
    await t.store.workers.claimName("cron", A, 24 * HOUR_MS);
    await lapse(t);
    await register(t.store, B);
    await rescueFor(t.store);
    assert(await t.store.workers.claimName("cron", B, HOUR_MS));
  },

  "another worker gets the name of a deregistered worker": async (open) => {
    await using t = await open();
    await register(t.store, A);
    await register(t.store, B);
    await t.store.workers.claimName("cron", A, 24 * HOUR_MS);
    await t.store.workers.deregister(A);
    assert(await t.store.workers.claimName("cron", B, HOUR_MS));
  },

  "only its holder can release a name": async (open) => {
    await using t = await open();
    await register(t.store, A);
    await register(t.store, B);
    assert(await t.store.workers.claimName("cron", A, HOUR_MS));
    await t.store.workers.releaseName("cron", B);
    assertEquals(await t.store.workers.claimName("cron", B, HOUR_MS), false);
    await t.store.workers.releaseName("cron", A);
    assert(await t.store.workers.claimName("cron", B, HOUR_MS));
    await t.store.workers.releaseName("cron", B);
    assert(await t.store.workers.claimName("cron", A, HOUR_MS));
  },

  "nameHolder returns the holder, and a new value with each of its heartbeats": async (open) => {
    await using t = await open();
    assertEquals(await t.store.workers.nameHolder("cron"), undefined);
    await register(t.store, A);
    await t.store.workers.claimName("cron", A, 24 * HOUR_MS);
    const first = (await t.store.workers.nameHolder("cron"))!;
    assertEquals(first.worker, A);
    assertAlmostEquals(first.freeInMs, TTL_MS, SLACK_MS);
    assertAlmostEquals(first.heartbeatUntil, t.now() + TTL_MS, SLACK_MS);
    t.advance(TTL_MS / 2);
    const waited = (await t.store.workers.nameHolder("cron"))!;
    assertEquals(waited.heartbeatUntil, first.heartbeatUntil);
    assert(waited.freeInMs < first.freeInMs);
    await register(t.store, A);
    assert((await t.store.workers.nameHolder("cron"))!.heartbeatUntil > first.heartbeatUntil);
    t.advance(LAPSE_MS);
    assertEquals(await t.store.workers.nameHolder("cron"), undefined);
  },

  "nameHolder returns undefined for a released name, that of a deregistered worker, and an expired claim": async (
    open,
  ) => {
    await using t = await open();
    await t.store.workers.heartbeat(workerRecord(A), 24 * HOUR_MS);
    await t.store.workers.claimName("cron", A, HOUR_MS);
    assertAlmostEquals((await t.store.workers.nameHolder("cron"))!.freeInMs, HOUR_MS, SLACK_MS);
    t.advance(2 * HOUR_MS);
    assertEquals(await t.store.workers.nameHolder("cron"), undefined);
    await t.store.workers.claimName("cron", A, HOUR_MS);
    await t.store.workers.releaseName("cron", A);
    assertEquals(await t.store.workers.nameHolder("cron"), undefined);
    await t.store.workers.claimName("cron", A, HOUR_MS);
    await t.store.workers.deregister(A);
    assertEquals(await t.store.workers.nameHolder("cron"), undefined);
  },

  "one of many concurrent claims succeeds": async (open) => {
    await using t = await open();
    const other = await t.another();
    const workers = ["a", "b", "c", "d", "e", "f"].map((letter, i) => `host:${i}:${letter.repeat(12)}`);
    for (const worker of workers) await register(t.store, worker);
    const claims = await Promise.all(
      workers.map((worker, i) => (i % 2 === 0 ? t.store : other).workers.claimName("cron", worker, HOUR_MS)),
    );
    assertEquals(claims.filter((isClaimed) => isClaimed).length, 1);
  },
};
