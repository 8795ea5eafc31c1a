/**
 * Large jobs on a Redis with default settings: it closes a subscribed connection with more than 32 MB of pending output.
 *
 * @module
 */
import { awaitResult } from "../src/store/ops/await.ts";
import { assert, assertEquals } from "@std/assert";
import { type Clock, systemClock } from "../src/clock.ts";
import { parsePayload } from "../src/job/job.ts";
import { openStore, type StoreOptions } from "../src/store/open.ts";
import { jid, job, lapse, rescueAll, TTL_MS, workerRecord } from "./store_contract/jobs.ts";
import { until } from "./support/eventually.ts";
import { type RedisServer, startRedis } from "./support/redis.ts";
import type { Store } from "../src/store/admin/store.ts";

const WORKER = "host:1:aaaaaaaaaaaa";

const redis = await startRedis();
Deno.test.afterAll(async () => await redis[Symbol.asyncDispose]());

/** Two stores on an empty Redis. The first one waits for due jobs, queues and results as a worker does. */
interface Bench extends AsyncDisposable {
  readonly redis: RedisServer;
  readonly store: Store;
  readonly other: Store;
  /** The lines that the first store has logged. */
  readonly lines: string[];
  advance(ms: number): void;
}

async function openBench(options: StoreOptions = {}): Promise<Bench> {
  await redis.cli("FLUSHALL");
  let ahead = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead };
  const lines: string[] = [];
  const log: StoreOptions["log"] = (level, message) => lines.push(`${level}: ${message}`);
  const store = await openStore(redis.url, { clock, log, waitMs: 60_000, ...options });
  const other = await openStore(redis.url, { clock });
  await store.workers.heartbeat(workerRecord(WORKER), TTL_MS);
  const stop = new AbortController();
  const waits = [store.watch("due", stop.signal), awaitResult(store, "a job that never ends", stop.signal)];
  await until(async () => {
    const channels = await redis.cli("PUBSUB", "CHANNELS");
    return channels.includes("jobs:wake") && channels.includes("jobs:results");
  }, "the store is subscribed");
  return {
    redis,
    store,
    other,
    lines,
    advance: (ms) => ahead += ms,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all(waits);
      for (const one of [store, other]) await one[Symbol.asyncDispose]();
    },
  };
}

/** Fills a queue, or `schedule`, with `count` jobs of `bytes` bytes each, by a script in Redis. */
async function fill(count: number, bytes: number, dueAt?: number): Promise<void> {
  const script = `
    local filler = string.rep('x', ARGV[2])
    redis.call('SADD', 'queues', 'default')
    for i = 1, ARGV[1] do
      local payload = '{"class":"HardJob","args":[' .. i .. ',"' .. filler .. '"],"queue":"default","jid":"' .. i .. '"}'
      if ARGV[3] == '' then redis.call('LPUSH', 'queue:default', payload)
      else redis.call('ZADD', 'schedule', ARGV[3], payload) end
    end`;
  const dueAtS = dueAt === undefined ? "" : `${dueAt / 1_000}`;
  await redis.cli("EVAL", script, "0", `${count}`, `${bytes}`, dueAtS);
}

Deno.test("redis: a take pops few jobs that don't fit, and pushes them back in order", async () => {
  await using t = await openBench();
  await fill(100, 100_000);
  await t.redis.cli("CONFIG", "RESETSTAT");
  const first = await t.store.jobs.take({ queues: ["default"], limit: 100, worker: WORKER });
  const stats = await t.redis.cli("INFO", "commandstats");
  const pushedBack = Number(/cmdstat_rpush:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  const second = await t.store.jobs.take({ queues: ["default"], limit: 100, worker: WORKER });
  const jids = [...first, ...second].map(({ payload }) => parsePayload(payload)?.jid);
  assertEquals(jids, Array.from({ length: jids.length }, (_, i) => `${i + 1}`));
  assert(first.length > 30 && second.length > 30, `${first.length} and ${second.length} jobs`);
  assert(pushedBack <= 2, `${pushedBack} jobs were popped for nothing`);
});

Deno.test("redis: 1,000 due jobs of 40 kB are promoted to their queue", async () => {
  await using t = await openBench();
  await fill(1_000, 40_000, systemClock.now() - 1_000);
  let moved = 0;
  for (let calls = 0; moved < 1_000 && calls < 10; calls++) moved += (await t.store.jobs.promote(1_000)).moved;
  assertEquals(moved, 1_000);
  assertEquals(t.lines, []);
});

Deno.test("redis: a script of a promotion reads at most 4 MiB, and one moves at most 1 MiB of old and new payloads", async () => {
  await using t = await openBench();
  const scriptsFor = async (count: number, bytes: number) => {
    await fill(count, bytes, systemClock.now() - 1_000);
    await redis.cli("CONFIG", "RESETSTAT");
    assertEquals((await t.store.jobs.promote(1_000)).moved, count);
    return /cmdstat_evalsha:calls=(\d+)/.exec(await redis.cli("INFO", "commandstats"))?.[1];
  };
  // Also loads the scripts.
  await scriptsFor(1, 10);
  assertEquals(await scriptsFor(9, 1_000_000), "12", "reads of 4, 4 and 1 jobs; each job moves alone");
  assertEquals(await scriptsFor(16, 250_000), "9", "one read, moves of 2 jobs");
  assertEquals(await scriptsFor(1_000, 10), "5", "one read, moves of 250 jobs");
});

Deno.test("redis: 45 queued jobs of 900 kB reach the worker that takes them", async () => {
  await using t = await openBench();
  await fill(45, 900_000);
  let taken = 0;
  for (let calls = 0; taken < 45 && calls < 45; calls++) {
    taken += (await t.store.jobs.take({ queues: ["default"], limit: 50, worker: WORKER })).length;
  }
  assertEquals(taken, 45);
  assertEquals(t.lines, []);
});

Deno.test("redis: 100 leases of 400 kB are rescued", async () => {
  await using t = await openBench();
  const offline = "host:2:bbbbbbbbbbbb";
  await t.other.workers.heartbeat(workerRecord(offline), TTL_MS);
  await fill(100, 400_000);
  for (let taken = 0; taken < 100;) {
    taken += (await t.other.jobs.take({ queues: ["default"], limit: 100, worker: offline })).length;
  }
  await lapse(t);
  assertEquals(await rescueAll(t.store), 100);
  assertEquals((await t.store.admin.stats()).queues.map(({ name, size }) => [name, size]), [["default", 100]]);
  assertEquals(t.lines, []);
});

Deno.test("redis: reads a page of large jobs, and finds one of them, while the store is subscribed to a channel", async () => {
  await using t = await openBench();
  await fill(50, 900_000);
  await t.other.jobs.enqueue([job(1_000)]);
  const found = await t.store.jobs.find([jid(1_000)]);
  assertEquals(found.length, 1);
  const { entries, next } = await t.store.admin.page({ in: "queue", queue: "default" }, { limit: 100 });
  assert(entries.length >= 1 && next !== undefined);
  assertEquals(t.lines, []);
});
