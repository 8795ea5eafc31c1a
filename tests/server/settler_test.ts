/** The settler: outcomes that come too late, and outcomes that the store rejects. */
import { assert, assertEquals } from "@std/assert";
import { Settler } from "../../src/server/work/settler.ts";
import { Counters } from "../../src/server/stats/counters.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import { openStore } from "../../src/store/open.ts";
import type { JobStore } from "../../src/store/port/jobs.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import { job, workerRecord } from "../store_contract/jobs.ts";
import { FakeClock } from "../support/clock.ts";
import { until } from "../support/eventually.ts";
import { KeptLog } from "../support/log.ts";
import { startRedis } from "../support/redis.ts";
import type { ServerStore } from "../../src/store/port/store.ts";

const WORKER = "host:1:a";

/** A settler on a clock that the test moves. */
function lab(store: { readonly jobs: Pick<JobStore, "settle"> }) {
  const clock = new FakeClock();
  const log = new KeptLog();
  const counters = new Counters();
  let lost = 0;
  const settler = new Settler({
    store: store as ServerStore,
    worker: WORKER,
    clock,
    log,
    counters,
    onLost: () => lost++,
  });
  return { settler, clock, log, counters, lost: () => lost };
}

/** A store that rejects outcomes with these tokens. */
function refusing(tokens: Set<string>) {
  const calls: string[][] = [];
  const stored: string[] = [];
  const settle = (_worker: string, outcomes: readonly Outcome[]) => {
    calls.push(outcomes.map(({ token }) => token));
    if (outcomes.some(({ token }) => tokens.has(token))) return Promise.reject(new StoreError("wrong", "no such key"));
    stored.push(...outcomes.map(({ token }) => token));
    return Promise.resolve({ lost: [], dropped: 0 });
  };
  return { store: { jobs: { settle } }, calls, stored };
}

Deno.test("late outcomes are logged once with the readable jids, whatever other clients wrote as a jid", async () => {
  const t = lab({
    jobs: {
      settle: (_worker, outcomes) => Promise.resolve({ lost: outcomes.map(({ token }) => token), dropped: 0 }),
    },
  });
  const jids = [`"a"`, `{"toString":1,"join":2}`, `["x","y"]`, "7"];
  for (const [i, jid] of jids.entries()) {
    t.settler.add({ kind: "bury", token: `${i}`, payload: `{"class":"A","args":[],"jid":${jid}}` });
  }
  const flushed = t.settler.flush();
  await t.clock.untilSleeping();
  await t.clock.advance(1_000);
  await flushed;
  assertEquals(t.log.lines, [{
    level: "warn",
    message: "Leases lost: this worker was offline, and these jobs run again elsewhere",
    fields: { count: 4, jids: "a 7" },
  }]);
  assertEquals([t.counters.leasesLost, t.lost()], [4, 1]);
});

Deno.test("a rejected outcome is kept and retried, and doesn't delay the others", async () => {
  const refused = new Set(["500"]);
  const { store, calls, stored } = refusing(refused);
  const t = lab(store);
  for (let i = 0; i < 1_000; i++) t.settler.add({ kind: "ack", token: `${i}` });
  await t.clock.untilSleeping();
  assertEquals([stored.length, t.settler.unsettled], [999, 1]);
  assert(calls.length < 25, `${calls.length} calls to find one outcome among 1,000`);
  // The store accepts it after ten minutes.
  await t.clock.advance(600_000);
  assertEquals(t.settler.unsettled, 1);
  t.settler.add({ kind: "ack", token: "later" });
  await t.clock.turn();
  await t.clock.turn();
  assert(stored.includes("later"), "a later outcome doesn't wait for the refused one");
  refused.clear();
  await t.clock.advance(5_000);
  await t.settler.flush();
  assertEquals([stored.at(-1), t.settler.unsettled], ["500", 0]);
  assertEquals(t.log.said, [
    "error Store rejects an outcome: its job stays leased here, and the outcome is retried",
    "info Rejected outcomes are stored",
  ]);
});

Deno.test("the pauses before rejected outcomes are retried double up to 2 s, and are short again after some were stored", async () => {
  const refused = new Set(["0", "1"]);
  const { store, calls } = refusing(refused);
  const t = lab(store);
  for (const token of refused) t.settler.add({ kind: "ack", token });
  await t.clock.untilSleeping();
  // Outcomes that follow soon share the next call.
  await t.clock.advance(2);
  /** Asserts the next pause, which varies by half, and passes it. */
  const pause = async (ms: number) => {
    const [left] = t.clock.sleeping;
    assert(left! >= ms / 2 - 2 && left! <= ms * 1.5, `${left} ms instead of ${ms}`);
    const before = calls.length;
    await t.clock.advance(left! - 1);
    assertEquals(calls.length, before);
    await t.clock.advance(1);
    await t.clock.untilSleeping();
    assert(calls.length > before);
  };
  for (const ms of [500, 1_000, 2_000, 2_000]) await pause(ms);
  refused.delete("1");
  await pause(2_000);
  assertEquals(t.settler.unsettled, 1);
  await pause(500);
  await pause(1_000);
  t.settler.abandon();
  await t.settler.flush();
});

Deno.test("outcomes that are being retried count as not stored", async () => {
  const tokens = Array.from({ length: 2_500 }, (_, i) => `${i}`);
  const { store, calls } = refusing(new Set(tokens));
  const unsettled: number[] = [];
  const settle: JobStore["settle"] = (worker, outcomes) => {
    unsettled.push(t.settler.unsettled);
    return store.jobs.settle(worker, outcomes);
  };
  const t = lab({ jobs: { settle } });
  for (const token of tokens) t.settler.add({ kind: "ack", token });
  await t.clock.untilSleeping();
  const first = calls.length;
  await t.clock.advance(10_000);
  assert(calls.length > first, "no retry");
  assertEquals(new Set(unsettled), new Set([2_500]));
  t.settler.abandon();
  await t.settler.flush();
});

Deno.test("a batch that the store rejects as a whole is split in few calls, and stored in one when the store accepts it", async () => {
  const refused = new Set(Array.from({ length: 1_000 }, (_, i) => `${i}`));
  const { store, calls, stored } = refusing(refused);
  const t = lab(store);
  for (const token of refused) t.settler.add({ kind: "ack", token });
  await t.clock.untilSleeping();
  assertEquals([t.settler.unsettled, calls.length], [1_000, 32]);
  refused.clear();
  await t.clock.advance(5_000);
  await t.settler.flush();
  assertEquals([calls.length, t.settler.unsettled], [33, 0]);
  assertEquals(stored, calls[0], "in the order in which they were added");
});

Deno.test("parts of a rejected batch are stored from its end, so that released jobs keep their order", async () => {
  const { store, stored } = refusing(new Set(["0"]));
  const t = lab(store);
  for (let i = 0; i < 4; i++) t.settler.add({ kind: "release", token: `${i}` });
  await t.clock.untilSleeping();
  assertEquals(stored, ["2", "3", "1"]);
  t.settler.abandon();
  await t.settler.flush();
  assertEquals(t.settler.unsettled, 1);
});

Deno.test("a call carries at most 4 MiB of payloads", async () => {
  const { store, calls } = refusing(new Set());
  const t = lab(store);
  for (let i = 0; i < 10; i++) t.settler.add({ kind: "bury", token: `${i}`, payload: "x".repeat(1024 * 1024) });
  await t.clock.untilSleeping();
  await t.clock.advance(1_000);
  await t.settler.flush();
  assertEquals(calls.map((call) => call.length), [4, 4, 2]);
});

Deno.test("every outcome is stored when a Redis user loses the permission for EVAL and regains it", async () => {
  await using redis = await startRedis();
  await redis.cli("ACL", "SETUSER", "worker", "on", ">secret", "~*", "&*", "+@all");
  await using store = await openStore(`redis://worker:secret@127.0.0.1:${redis.port}/0`);
  await store.workers.heartbeat(workerRecord(WORKER), 300_000);
  await store.jobs.enqueue([job(1), job(2), job(3)]);
  const leases = await store.jobs.take({ queues: ["default"], limit: 3, worker: WORKER });
  const t = lab(store);
  await redis.cli("ACL", "SETUSER", "worker", "-eval", "-evalsha");
  for (const { token } of leases) t.settler.add({ kind: "ack", token });
  for (let attempts = 0; attempts < 10; attempts++) {
    await t.clock.untilSleeping();
    await t.clock.advance(3_000);
  }
  assertEquals(t.settler.unsettled, 3);
  await redis.cli("ACL", "SETUSER", "worker", "+eval", "+evalsha");
  await until(async () => {
    await t.clock.advance(500);
    return t.settler.unsettled === 0;
  }, "the outcomes are stored");
  const { processed, running } = await store.admin.stats();
  assertEquals({ processed, running }, { processed: 3, running: 0 });
});
