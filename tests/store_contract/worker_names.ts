/**
 * Named leases, each with one owner at a time and a fencing number.
 *
 * @module
 */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { type Cases, SLACK_MS } from "./harness.ts";
import { HOUR_MS, lapse, LAPSE_MS, processRecord, register, rescueFor, TTL_MS } from "./jobs.ts";

const A = "host:1:aaaaaaaaaaaa";
const B = "host:2:bbbbbbbbbbbb";

export const claim: Cases = {
  "the first has it, the second does not": async (open) => {
    await using t = await open();
    await register(t.store, A);
    await register(t.store, B);
    assert(await t.store.claim("cron", A, HOUR_MS) !== undefined);
    assertEquals(await t.store.claim("cron", B, HOUR_MS), undefined);
    assert(await t.store.claim("other", B, HOUR_MS) !== undefined);
  },

  "its owner renews it with the same number": async (open) => {
    await using t = await open();
    await t.store.beat(processRecord(A), 24 * HOUR_MS);
    await t.store.beat(processRecord(B), 24 * HOUR_MS);
    const fence = await t.store.claim("cron", A, 2 * HOUR_MS);
    t.advance(HOUR_MS);
    assertEquals(await t.store.claim("cron", A, 2 * HOUR_MS), fence);
    t.advance(1.5 * HOUR_MS);
    assertEquals(await t.store.claim("cron", B, HOUR_MS), undefined);
  },

  "when its time is over another takes it, with a higher number": async (open) => {
    await using t = await open();
    await t.store.beat(processRecord(A), 24 * HOUR_MS);
    await t.store.beat(processRecord(B), 24 * HOUR_MS);
    const first = await t.store.claim("cron", A, HOUR_MS);
    t.advance(2 * HOUR_MS);
    const second = await t.store.claim("cron", B, HOUR_MS);
    assert(second! > first!);
    assertEquals(await t.store.claim("cron", A, HOUR_MS), undefined);
  },

  "when its owner is dead another takes it, however long it had": async (open) => {
    await using t = await open();
    await register(t.store, A);
    const first = await t.store.claim("cron", A, 24 * HOUR_MS);
    t.advance(LAPSE_MS);
    await register(t.store, B);
    const second = await t.store.claim("cron", B, HOUR_MS);
    assert(second! > first!);
  },

  "when its owner was forgotten another takes it": async (open) => {
    await using t = await open();
    await register(t.store, A);
    await t.store.claim("cron", A, 24 * HOUR_MS);
    await lapse(t);
    await register(t.store, B);
    await rescueFor(t.store);
    assert(await t.store.claim("cron", B, HOUR_MS) !== undefined);
  },

  "when its owner has deregistered another takes it": async (open) => {
    await using t = await open();
    await register(t.store, A);
    await register(t.store, B);
    await t.store.claim("cron", A, 24 * HOUR_MS);
    await t.store.deregister(A);
    assert(await t.store.claim("cron", B, HOUR_MS) !== undefined);
  },

  "its owner lets go of it, nobody else does": async (open) => {
    await using t = await open();
    await register(t.store, A);
    await register(t.store, B);
    const first = await t.store.claim("cron", A, HOUR_MS);
    await t.store.release("cron", B);
    assertEquals(await t.store.claim("cron", B, HOUR_MS), undefined);
    await t.store.release("cron", A);
    const second = await t.store.claim("cron", B, HOUR_MS);
    await t.store.release("cron", B);
    const third = await t.store.claim("cron", A, HOUR_MS);
    assert(first! < second! && second! < third!);
  },

  "whoever has it is told, and each beat of the owner tells that it lives": async (open) => {
    await using t = await open();
    assertEquals(await t.store.holder("cron"), undefined);
    await register(t.store, A);
    await t.store.claim("cron", A, 24 * HOUR_MS);
    const first = (await t.store.holder("cron"))!;
    assertEquals(first.owner, A);
    assertAlmostEquals(first.freeInMs, TTL_MS, SLACK_MS);
    assertAlmostEquals(first.beatUntil, t.now() + TTL_MS, SLACK_MS);
    t.advance(TTL_MS / 2);
    const waited = (await t.store.holder("cron"))!;
    assertEquals(waited.beatUntil, first.beatUntil);
    assert(waited.freeInMs < first.freeInMs);
    await register(t.store, A);
    assert((await t.store.holder("cron"))!.beatUntil > first.beatUntil);
    t.advance(LAPSE_MS);
    assertEquals(await t.store.holder("cron"), undefined);
  },

  "nobody has what was let go, what a process had that has deregistered, and what its time is over for": async (
    open,
  ) => {
    await using t = await open();
    await t.store.beat(processRecord(A), 24 * HOUR_MS);
    await t.store.claim("cron", A, HOUR_MS);
    assertAlmostEquals((await t.store.holder("cron"))!.freeInMs, HOUR_MS, SLACK_MS);
    t.advance(2 * HOUR_MS);
    assertEquals(await t.store.holder("cron"), undefined);
    await t.store.claim("cron", A, HOUR_MS);
    await t.store.release("cron", A);
    assertEquals(await t.store.holder("cron"), undefined);
    await t.store.claim("cron", A, HOUR_MS);
    await t.store.deregister(A);
    assertEquals(await t.store.holder("cron"), undefined);
  },

  "of many who claim at once one has it": async (open) => {
    await using t = await open();
    const other = await t.another();
    const owners = ["a", "b", "c", "d", "e", "f"].map((letter, i) => `host:${i}:${letter.repeat(12)}`);
    for (const owner of owners) await register(t.store, owner);
    const fences = await Promise.all(
      owners.map((owner, i) => (i % 2 === 0 ? t.store : other).claim("cron", owner, HOUR_MS)),
    );
    assertEquals(fences.filter((fence) => fence !== undefined).length, 1);
  },
};
