/** A worker that was frozen starts no job that another worker has rescued. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { systemClock } from "../../src/clock.ts";
import { defaultSettings } from "../../src/config/settings.ts";
import { Registry } from "../../src/handlers/registry.ts";
import { Launcher } from "../../src/server/launcher.ts";
import { LeaseGuard, momentOf } from "../../src/server/work/lease_guard.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import { openStore } from "../../src/store/open.ts";
import { jobs, takeUpTo, workerRecord } from "../store_contract/jobs.ts";
import { FakeClock } from "../support/clock.ts";
import { until } from "../support/eventually.ts";
import { temporaryFolder } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import type { Store } from "../../src/store/admin/store.ts";

const OTHER = "host:2:b";

/** The number of jobs that the worker takes ahead while one job runs. */
const AHEAD = 20;

/** A worker, two connections to its store, and clocks that the test moves. */
interface Lab {
  readonly launcher: Launcher;
  readonly clock: FakeClock;
  readonly other: Store;
  /** The numbers of the jobs that the worker has started, after the first 50. */
  readonly started: number[];
  /** Lets the running job end. */
  readonly end: () => void;
  /** Suspends the worker's machine for a minute, while another worker sends heartbeats. */
  readonly sleep: () => Promise<void>;
}

/** Lets a worker run one job and take {@linkcode AHEAD} more ahead. */
async function lab(url: string, stack: AsyncDisposableStack): Promise<Lab> {
  let slept = 0;
  const storeClock = { ...systemClock, now: () => systemClock.now() + slept };
  const store = stack.use(await openStore(url, { clock: storeClock }));
  const other = stack.use(await openStore(url, { clock: storeClock }));
  const clock = new FakeClock();
  const last = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const started: number[] = [];
  const running = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const registry = new Registry().add("HardJob", async (_ctx, n) => {
    if (typeof n !== "number" || n < 50) return;
    if (n === 50) {
      last.resolve();
      return await go.promise;
    }
    started.push(n);
    if (n > 51) return;
    running.resolve();
    await ended.promise;
  });
  // With this address, the heartbeat runs in this thread, and on the launcher's clock.
  const settings = { ...defaultSettings(), concurrency: 1 };
  const launcher = new Launcher({ store, storeUrl: "sqlite::memory:", registry, settings, clock });
  await launcher.start();
  await store.jobs.enqueue(jobs(1, 50));
  await last.promise;
  await store.jobs.enqueue(jobs(51, 51 + AHEAD));
  // At 50 jobs in 10 ms, the next take brings up to 100 jobs ahead.
  await clock.advance(10);
  go.resolve();
  await running.promise;
  await until(async () => {
    await clock.advance(1);
    return (await other.admin.stats()).running === 1 + AHEAD;
  }, "jobs are taken ahead");
  stack.defer(async () => {
    ended.resolve();
    const stopped = launcher.stop();
    await clock.advance(60_000);
    await stopped;
  });
  const sleep = async () => {
    for (let step = 0; step < 12; step++) {
      slept += 5_000;
      clock.set(clock.now() + 5_000);
      await other.workers.heartbeat(workerRecord(OTHER), 20_000);
    }
  };
  return { launcher, clock, other, started, end: ended.resolve, sleep };
}

const STORES: Readonly<Record<string, (stack: AsyncDisposableStack) => Promise<string>>> = {
  SQLite: async (stack) => `sqlite:${stack.use(await temporaryFolder()).path}/jobs.db`,
  Redis: async (stack) => stack.use(await startRedis()).url,
};

for (const [name, open] of Object.entries(STORES)) {
  Deno.test(`a worker that continues after a freeze starts none of the jobs that were rescued, on ${name}`, async () => {
    await using stack = new AsyncDisposableStack();
    const t = await lab(await open(stack), stack);
    await t.sleep();
    assertEquals((await t.other.jobs.rescue({ worker: OTHER, limit: 1_000, maxRescues: 3 })).rescued, 1 + AHEAD);
    assertEquals((await takeUpTo(t.other, OTHER, 10)).length, 10);
    t.end();
    await until(async () => {
      await t.clock.advance(100);
      return (await t.other.admin.stats()).processed === 50 + 11;
    }, "the other jobs are performed");
    assertEquals(t.started.filter((n) => n !== 51), Array.from({ length: 11 }, (_, i) => 61 + i));
    assertEquals(t.launcher.counts().leasesLost, 1 + AHEAD);
  });

  Deno.test(`a worker that continues and has lost no job starts the jobs that it has taken, each once, on ${name}`, async () => {
    await using stack = new AsyncDisposableStack();
    const t = await lab(await open(stack), stack);
    await t.sleep();
    t.end();
    await until(async () => {
      await t.clock.advance(100);
      return (await t.other.admin.stats()).processed === 51 + AHEAD;
    }, "all jobs are performed");
    assertEquals(t.started, Array.from({ length: 1 + AHEAD }, (_, i) => 51 + i));
    assertEquals(t.launcher.counts().leasesLost, 0);
  });
}

/** Ownership with a store that replies as the test sets it. */
function owning() {
  const clock = new FakeClock();
  const calls: string[] = [];
  let isAway = false;
  const answer = (call: string) => {
    calls.push(call);
    return isAway ? Promise.reject(new StoreError("unavailable", "away")) : Promise.resolve();
  };
  const ownership: LeaseGuard = new LeaseGuard({
    clock,
    ttlMs: 20_000,
    sendHeartbeat: async () => {
      const sentAt = momentOf(clock);
      await answer("heartbeat");
      ownership.noteHeartbeat(sentAt, false);
    },
    dropLost: () => answer("held"),
  });
  return { ownership, clock, calls, goAway: (away: boolean) => isAway = away };
}

Deno.test("ownership is certain for one heartbeat timeout after a heartbeat was sent, by both clocks", async () => {
  const t = owning();
  await t.clock.advance(19_999);
  assert(t.ownership.isSure);
  await t.clock.advance(1);
  assert(!t.ownership.isSure);
  t.ownership.noteHeartbeat(momentOf(t.clock), false);
  assert(t.ownership.isSure, "a heartbeat in time, as the store says, needs no comparison");
  t.clock.set(t.clock.now() + 20_000);
  assert(!t.ownership.isSure, "the machine slept");
  t.ownership.noteHeartbeat(momentOf(t.clock), false);
  assert(t.ownership.isSure);
  t.clock.set(t.clock.now() - 3_600_000);
  await t.clock.advance(19_999);
  assert(t.ownership.isSure, "the wall clock was set back");
  await t.clock.advance(1);
  assert(!t.ownership.isSure, "which hides nothing");
});

Deno.test("after a lapse, ownership is certain when a heartbeat was sent and then the leases were compared", async () => {
  const t = owning();
  t.ownership.noteHeartbeat(momentOf(t.clock), true);
  assert(!t.ownership.isSure);
  t.goAway(true);
  await assertRejects(() => t.ownership.confirm(), StoreError);
  assert(!t.ownership.isSure);
  t.goAway(false);
  await t.ownership.confirm();
  assert(t.ownership.isSure);
  assertEquals(t.calls, ["heartbeat", "heartbeat", "held"]);
});

Deno.test("a job that had to wait is compared with the store before it is performed, as soon as that replies", async () => {
  const t = owning();
  await t.ownership.recheck(new AbortController().signal);
  assertEquals(t.calls, [], "ownership was certain");
  await t.clock.advance(20_000);
  t.goAway(true);
  const checked = t.ownership.recheck(new AbortController().signal);
  await t.clock.advance(1_000);
  t.goAway(false);
  await t.clock.advance(500);
  await checked;
  assertEquals(t.calls.filter((call) => call === "held"), ["held"]);
  await t.clock.advance(20_000);
  t.goAway(true);
  const over = new AbortController();
  const ended = t.ownership.recheck(over.signal);
  over.abort();
  await ended;
});

Deno.test("a lapse that is reported during the comparison needs another one", async () => {
  const t = owning();
  const confirmed = t.ownership.confirm();
  await t.clock.turn();
  await confirmed;
  const next = t.ownership.confirm();
  // The heartbeat has been accepted by then.
  await Promise.resolve();
  await Promise.resolve();
  await Promise.resolve();
  t.ownership.noteHeartbeat(momentOf(t.clock), true);
  await next;
  assert(!t.ownership.isSure);
});
