/**
 * Scripts on Redis process a bounded part of large data. The next calls process the rest.
 *
 * @module
 */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { openScratch, openStore } from "../src/store/open.ts";
import { HOUR_MS, jid, job, jobs, register, takeUpTo } from "./store_contract/jobs.ts";
import { startRedis } from "./support/redis.ts";
import type { Store } from "../src/store/admin/store.ts";

const redis = await startRedis();
Deno.test.afterAll(async () => await redis[Symbol.asyncDispose]());

async function openEmpty(): Promise<Store> {
  await redis.cli("FLUSHALL");
  return await openStore(redis.url);
}

/** Runs a line of Lua for each `n` from 1 to `count`. */
async function fill(count: number, line: string): Promise<void> {
  await redis.cli("EVAL", `for n = 1, ${count} do ${line} end`, "0");
}

/** The number of script calls since the counts were reset, without those of redis-cli. */
async function scriptRuns(): Promise<number> {
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.cli("INFO", "commandstats"))?.[1] ?? 0);
}

Deno.test("redis: stats reads all queues, 500 per script", async () => {
  await using store = await openEmpty();
  await fill(1_200, `redis.call('SADD', 'queues', 'q' .. n) redis.call('LPUSH', 'queue:q' .. n, '{"n":1}')`);
  await store.admin.configure("q1200", { pause: HOUR_MS });
  await store.admin.configure("limited", { limit: { running: 3 } });
  await store.admin.stats();
  await redis.cli("CONFIG", "RESETSTAT");
  const { queues, enqueued } = await store.admin.stats();
  assertEquals(await scriptRuns(), 3);
  assertEquals([queues.length, enqueued], [1_201, 1_200]);
  assertEquals(queues.filter(({ paused }) => paused).map(({ name }) => name), ["q1200"]);
  assertEquals(queues.find(({ name }) => name === "limited")!.limit!.running, 3);
});

Deno.test("redis: stats returns the latency of a queue without reading the large payload of its oldest job", async () => {
  await using store = await openEmpty();
  const enqueuedAt = (Date.now() - HOUR_MS) / 1_000;
  const payload = `{"class":"A","args":["${"x".repeat(100_000)}"],"enqueued_at":${enqueuedAt}}`;
  await redis.cli("SADD", "queues", "large", "raw");
  await redis.cli("LPUSH", "queue:large", payload);
  await redis.cli("LPUSH", "queue:raw", "x".repeat(100_000));
  const { queues } = await store.admin.stats();
  assertAlmostEquals(queues.find(({ name }) => name === "large")!.latencyMs, HOUR_MS, 20_000);
  assertEquals(queues.find(({ name }) => name === "raw")!.latencyMs, 0);
});

Deno.test("redis: a limit of groups counts 1,000 leases and wakes 500 groups per script", async () => {
  await using store = await openEmpty();
  const worker = await register(store);
  const pushes = (from: number) =>
    jobs(from, from + 1_199).map((one, i) => ({
      ...one,
      group: `g${i}`,
      payload: one.payload.replace(/}$/, `,"group":"g${i}"}`),
    }));
  await store.jobs.enqueue([...pushes(1), ...pushes(2_000)]);
  assertEquals((await takeUpTo(store, worker, 1_200)).length, 1_200);
  await store.admin.configure("default", { eachGroup: true, limit: { running: 1 } });
  for (let i = 0; i < 2; i++) assertEquals(await takeUpTo(store, worker, 1_200), []);
  await redis.cli("CONFIG", "RESETSTAT");
  await store.admin.configure("default", { eachGroup: true, limit: { running: 2 } });
  assertEquals(await scriptRuns(), 1 + 2 + 1 + 3);
  assertEquals((await takeUpTo(store, worker, 1_300)).length, 1_200);
  await store.admin.configure("default", { eachGroup: true, limit: {} });
  const left = await redis.cli("--scan", "--pattern", "jobs:running:*");
  assertEquals(left.trim(), "");
});

Deno.test("redis: a settled job leaves the index of its limited queue", async () => {
  await using store = await openEmpty();
  const worker = await register(store);
  await store.admin.configure("default", { limit: { running: 100 } });
  await store.jobs.enqueue(jobs(1, 10));
  const leases = await takeUpTo(store, worker);
  assertEquals(await redis.cli("HLEN", "jobs:running:default"), "10");
  await store.jobs.settle(worker, leases.slice(0, 9).map(({ token }) => ({ kind: "ack", token })));
  assertEquals(await redis.cli("HLEN", "jobs:running:default"), "1");
});

Deno.test("redis: leases that no longer exist under a large limit make room over time", async () => {
  await using store = await openEmpty();
  const worker = await register(store);
  await store.admin.configure("default", { limit: { running: 2_000 } });
  await fill(2_000, "redis.call('HSET', 'jobs:running:default', n .. ':default', 'offline')");
  await store.jobs.enqueue(jobs(1, 1_500));
  await redis.cli("CONFIG", "RESETSTAT");
  let taken = 0;
  for (let calls = 1; taken < 1_500; calls++) {
    assert(calls <= 20, `${taken} taken by ${calls} calls`);
    taken += (await takeUpTo(store, worker, 1_000)).length;
    const stats = await redis.cli("INFO", "commandstats");
    assert(Number(/cmdstat_hexists:calls=(\d+)/.exec(stats)![1]) <= calls * 600);
  }
});

Deno.test("redis: 250 cron entries are written in order, 64 per script", async () => {
  await using store = await openEmpty();
  const write = { definition: "d", state: "s", awaited: false, records: [] };
  const writes = Array.from({ length: 250 }, (_, n) => ({ ...write, name: `${n}`, version: 0, jobs: [job(n)] }));
  await store.cron.write(writes.slice(0, 1));
  await redis.cli("CONFIG", "RESETSTAT");
  await store.cron.write(writes.slice(1));
  assertEquals(await scriptRuns(), 4);
  const again = await store.cron.write(writes.map((one, n) => n === 120 ? { ...one, version: 121, jobs: [] } : one));
  assertEquals(again.flatMap((version, n) => version === undefined ? [] : [n]), [120]);
  const { entries } = await store.admin.page({ in: "queue", queue: "default" }, { limit: 1_000 });
  assertEquals(entries.length, 250);
});

Deno.test("redis: the database of a bench is cleared in steps", async () => {
  await openEmpty().then((store) => store[Symbol.asyncDispose]());
  {
    await using scratch = await openScratch(redis.url, {
      queue: "bench",
      warn: (line) => assertEquals(line, "nothing"),
    });
    const database = new URL(scratch.url).searchParams.get("db")!;
    await redis.cli("-n", database, "EVAL", "for n = 1, 3000 do redis.call('SET', 'jobs:result:' .. n, n) end", "0");
    await redis.cli("CONFIG", "RESETSTAT");
  }
  const stats = await redis.cli("INFO", "commandstats");
  const [scripts, unlinks] = ["eval", "unlink"].map((name) =>
    Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)![1])
  );
  assert(unlinks! >= 3_000 && scripts! >= 5, `${unlinks} keys by ${scripts} scripts`);
  assertEquals(await redis.cli("INFO", "keyspace"), "# Keyspace\r");
});

Deno.test("redis: steps that end together share scripts, 32 per script and 1 MiB", async () => {
  await using store = await openEmpty();
  const worker = await register(store);
  await store.jobs.enqueue(jobs(1, 70));
  const leases = (await takeUpTo(store, worker)).map(({ token }, i) => ({ worker, token, jid: jid(i + 1) }));
  const write = (record: string) =>
    Promise.all(leases.map((lease) => store.steps.remember(lease, { name: record.slice(0, 5), record })));
  // Loads the script.
  await write("first");
  await redis.cli("CONFIG", "RESETSTAT");
  assertEquals(await write("small"), Array(70).fill("small"));
  assertEquals(await scriptRuns(), 3);
  const large = "large".padEnd(100_000);
  await redis.cli("CONFIG", "RESETSTAT");
  assertEquals(await write(large), Array(70).fill(large));
  assertEquals(await scriptRuns(), 7);
});

Deno.test("redis: a step that can't be stored doesn't fail those that share its script", async () => {
  await using store = await openEmpty();
  const worker = await register(store);
  await store.jobs.enqueue(jobs(1, 3));
  const leases = (await takeUpTo(store, worker)).map(({ token }, i) => ({ worker, token, jid: jid(i + 1) }));
  await redis.cli("SET", `jobs:steps:${jid(2)}`, "x");
  const written = await Promise.allSettled(
    leases.map((lease) => store.steps.remember(lease, { name: "a", record: "1" })),
  );
  assertEquals(written.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  assertEquals(await store.steps.read(jid(3)), [{ name: "a", record: "1" }]);
});
