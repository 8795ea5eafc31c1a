/**
 * Which workers are offline: never those that could not reach the store.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { Cases, TestStore } from "./harness.ts";
import { HOUR_MS, job, LAPSE_MS, register, rescueFor, RESCUER, takeUpTo, TTL_MS, workerRecord } from "./jobs.ts";

const NOTHING = { rescued: 0, doomed: [], offline: [], more: false, waits: false };
const WAITS = { ...NOTHING, waits: true };
const OTHER = "host:1:aaaaaaaaaaaa";

/** A worker that runs a job. */
async function withJob(t: TestStore, ttlMs = TTL_MS): Promise<void> {
  await t.store.workers.heartbeat(workerRecord(OTHER), ttlMs);
  await t.store.jobs.enqueue([job(1)]);
  await takeUpTo(t.store, OTHER);
}

/** Advances time while these workers send heartbeats. */
async function pass(t: TestStore, ms: number, ...beating: readonly string[]): Promise<void> {
  for (let passed = 0; passed < ms; passed += TTL_MS / 4) {
    t.advance(TTL_MS / 4);
    for (const worker of beating) await register(t.store, worker);
  }
}

export const offline: Cases = {
  "a new worker rescues nothing until its heartbeats have been continuous for a whole timeout": async (
    open,
  ) => {
    await using t = await open();
    await withJob(t);
    t.advance(LAPSE_MS);
    assertEquals(await rescueFor(t.store), WAITS, "not registered");
    await register(t.store, RESCUER);
    assertEquals(await rescueFor(t.store), WAITS, "first heartbeat");
    await pass(t, TTL_MS / 2, RESCUER);
    assertEquals(await rescueFor(t.store), WAITS, "half a timeout later");
    await pass(t, TTL_MS, RESCUER);
    assertEquals((await rescueFor(t.store)).rescued, 1);
  },

  "a worker that sends a heartbeat after an outage keeps its leases from workers that started meanwhile": async (
    open,
  ) => {
    await using t = await open();
    await withJob(t);
    await pass(t, LAPSE_MS, RESCUER);
    t.advance(LAPSE_MS);
    await register(t.store, RESCUER);
    assertEquals(await rescueFor(t.store), WAITS);
    const fresh = await register(t.store, "host:2:bbbbbbbbbbbb");
    assertEquals(await t.store.jobs.rescue({ worker: fresh, limit: 100, maxRescues: 3 }), WAITS);
    await pass(t, TTL_MS / 2, RESCUER, fresh);
    await register(t.store, OTHER);
    await pass(t, LAPSE_MS, RESCUER, fresh, OTHER);
    assertEquals(await rescueFor(t.store), NOTHING);
    assertEquals((await t.store.admin.stats()).running, 1);
  },

  "an outage counts that ends just before the rescuer's own heartbeat lapses": async (open) => {
    await using t = await open();
    await pass(t, LAPSE_MS, RESCUER);
    await withJob(t);
    t.advance(TTL_MS / 4);
    await register(t.store, RESCUER);
    // Then no worker reaches the store until the other heartbeat has lapsed.
    t.advance(TTL_MS * 0.75);
    assertEquals(await rescueFor(t.store), WAITS, "what was asked during the outage");
    await register(t.store, RESCUER);
    assertEquals(await rescueFor(t.store), WAITS, "the heartbeat that was held up by it");
  },

  "a clock that jumps forward takes no worker offline, the rescuer included": async (open) => {
    await using t = await open();
    await withJob(t);
    await pass(t, LAPSE_MS, RESCUER, OTHER);
    t.advance(HOUR_MS);
    const other = await t.another();
    assertEquals(await rescueFor(t.store), WAITS);
    assertEquals(await other.jobs.rescue({ worker: OTHER, limit: 100, maxRescues: 3 }), WAITS);
    await register(t.store, RESCUER);
    assertEquals(await rescueFor(t.store), WAITS);
    await register(t.store, OTHER);
    await pass(t, LAPSE_MS, RESCUER, OTHER);
    assertEquals(await rescueFor(t.store), NOTHING);
    assertEquals((await t.store.workers.list()).map(({ alive }) => alive), [true, true]);
  },

  "a clock that is set back keeps no offline worker alive": async (open) => {
    for (const starts of [RESCUER, "host:2:bbbbbbbbbbbb"]) {
      await using t = await open();
      await withJob(t);
      await register(t.store, RESCUER);
      t.advance(-5 * HOUR_MS);
      await register(t.store, starts);
      await pass(t, LAPSE_MS, starts);
      assertEquals((await t.store.jobs.rescue({ worker: starts, limit: 100, maxRescues: 3 })).rescued, 1, starts);
    }
  },

  "a heartbeat after the clock was set back isn't continuous with the earlier ones": async (open) => {
    await using t = await open();
    await pass(t, LAPSE_MS, RESCUER);
    await withJob(t);
    t.advance(-HOUR_MS);
    await register(t.store, RESCUER);
    assertEquals(await rescueFor(t.store), NOTHING);
    t.advance(TTL_MS / 4);
    await register(t.store, RESCUER);
    t.advance(TTL_MS / 4);
    await register(t.store, RESCUER);
    t.advance(TTL_MS / 4);
    assertEquals((await rescueFor(t.store)).rescued, 0);
  },

  "a worker is offline after its timeout, for a rescuer with continuous heartbeats of that length": async (open) => {
    await using t = await open();
    await withJob(t, 10 * TTL_MS);
    await pass(t, 5 * TTL_MS, RESCUER);
    assertEquals(await rescueFor(t.store), NOTHING);
    await pass(t, 5.5 * TTL_MS);
    await pass(t, 9.5 * TTL_MS, RESCUER);
    assertEquals(await rescueFor(t.store), WAITS, "after an outage it waits for the longer timeout");
    await pass(t, TTL_MS, RESCUER);
    assertEquals((await rescueFor(t.store)).rescued, 1);
  },

  "a rescuer with a longer timeout grants it to others": async (open) => {
    await using t = await open();
    const patient = () => t.store.workers.heartbeat(workerRecord(RESCUER), HOUR_MS);
    for (let i = 0; i < 5; i++) {
      await patient();
      t.advance(HOUR_MS / 4);
    }
    await patient();
    await withJob(t);
    t.advance(HOUR_MS / 4);
    await patient();
    assertEquals(await rescueFor(t.store), WAITS);
    for (let i = 0; i < 3; i++) {
      t.advance(HOUR_MS / 4);
      await patient();
    }
    assertEquals((await rescueFor(t.store)).rescued, 1);
  },
};
