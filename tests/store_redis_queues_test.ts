/**
 * Thousands of queues on Redis, and queues that another program has written.
 *
 * @module
 */
import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { systemClock } from "../src/clock.ts";
import { StoreError } from "../src/store/port/errors.ts";
import { openStore } from "../src/store/open.ts";
import { jid, job, numbers, register, takeUpTo, woken } from "./store_contract/jobs.ts";
import { until } from "./support/eventually.ts";
import { startRedis } from "./support/redis.ts";
import type { Store } from "../src/store/admin/store.ts";

const WORKER = "host:1:aaaaaaaaaaaa";
const MANY = Array.from({ length: 9_000 }, (_, i) => `q${i}`);

const redis = await startRedis();
Deno.test.afterAll(async () => await redis[Symbol.asyncDispose]());

async function openEmpty(): Promise<Store> {
  await redis.cli("FLUSHALL");
  return await openStore(redis.url);
}

async function connectionsNamed(name: string): Promise<number> {
  return (await redis.cli("CLIENT", "LIST")).split("\n").filter((line) => line.includes(` name=${name} `)).length;
}

Deno.test("redis: a worker takes from thousands of queues, some of them paused or limited", async () => {
  await using store = await openEmpty();
  await store.jobs.enqueue([job(1, { queue: "q0" }), job(2, { queue: "q8500" }), job(3, { queue: "q8999" })]);
  await store.jobs.enqueue([job(4, { queue: "q8600" }), job(5, { queue: "q8700" }), job(6, { queue: "q8700" })]);
  await store.admin.configure("q8600", { pause: true });
  await store.admin.configure("q8700", { limit: { running: 1 } });
  assertEquals(numbers(await takeUpTo(store, WORKER, 100, MANY)), [1, 2, 5, 3]);
  assertEquals(await takeUpTo(store, WORKER, 100, MANY), []);
  assertEquals(
    (await store.admin.stats({ queues: MANY })).queues.filter(({ paused }) => paused).map(({ name }) => name),
    ["q8600"],
  );
  assertEquals(await store.jobs.hasQueuedJobs(MANY), true);
});

Deno.test("redis: waiting for thousands of queues opens a connection for 32 of them, and wakes for each", async () => {
  await using store = await openEmpty();
  for (const queue of ["q0", "q8999"]) {
    await woken((signal) => store.watch({ work: MANY }, signal), async () => {
      await until(async () => await connectionsNamed("jobs:queue") === 32, "32 queues are watched");
      await store.jobs.enqueue([job(1, { queue })]);
    });
    assertEquals(numbers(await takeUpTo(store, WORKER, 100, MANY)), [1]);
  }
  // The same queues in another order share these connections: idle ones stay open for a while.
  await woken((signal) => store.watch({ work: MANY.toReversed() }, signal), async () => {
    await store.admin.stats();
    await store.jobs.enqueue([job(2, { queue: "q4500" })]);
  });
  assertEquals(await connectionsNamed("jobs:queue"), 32);
});

Deno.test("redis: a queue whose key another program uses hides no other queue, and health names it", async () => {
  await using store = await openEmpty();
  await store.jobs.enqueue([job(1), job(2, { queue: "mail" })]);
  await redis.cli("SADD", "queues", "theirs");
  await redis.cli("SET", "queue:theirs", "x");
  await store.admin.configure("theirs", { limit: { running: 1 } });
  await redis.cli("SET", "jobs:running:theirs", "x");
  const { enqueued, queues } = await store.admin.stats();
  assertEquals(enqueued, 2);
  assertEquals(queues.map(({ name, size }) => [name, size]), [["default", 1], ["mail", 1], ["theirs", 0]]);
  assertEquals((await store.jobs.find([jid(2)])).length, 1);
  assertEquals((await store.jobs.find({ text: "HardJob", limit: 10 })).length, 2);
  const { findings } = await store.admin.health();
  const [finding] = findings.filter(({ message }) => message.includes("theirs"));
  assert(finding!.message.includes('"queue:theirs" is not a list'), finding!.message);
  const error = await assertRejects(() => store.admin.page({ in: "queue", queue: "theirs" }), StoreError);
  assertEquals(error.code, "wrong");
});

Deno.test("redis: the age of a queue's oldest job is read without its payload, also of a large one", async () => {
  await using store = await openEmpty();
  const filler = "x".repeat(100_000);
  const payload = (n: number) => `{"class":"HardJob","args":[${n},"${filler}"],"jid":"${jid(n)}"}`;
  await store.jobs.enqueue([job(1, { payload: payload(1) })]);
  // Another program puts the time elsewhere in the payload.
  const hourAgo = `${(systemClock.now() - 3_600_000) / 1_000}`;
  const theirs = `{"class":"HardJob","enqueued_at":${hourAgo},"args":["${filler}",{"x":{"enqueued_at":1.5}}]}`;
  await redis.cli("EVAL", "redis.call('LPUSH', 'queue:theirs', ARGV[1])", "0", theirs);
  await redis.cli("SADD", "queues", "theirs");
  const { queues } = await store.admin.stats();
  const [ours, others] = queues.map(({ latencyMs }) => latencyMs);
  assertAlmostEquals(ours!, 0, 30_000);
  assertAlmostEquals(others!, 3_600_000, 30_000);
});

Deno.test("redis: reads the age of a payload of 20 MB from its ends, without transferring it", async () => {
  await using store = await openEmpty();
  const hourAgo = (systemClock.now() - 3_600_000) / 1_000;
  const args = "' .. string.rep('1,', 10000000) .. '1";
  const huge = (name: string, front: string, back: string) =>
    redis.cli(
      "EVAL",
      `redis.call('LPUSH', KEYS[1], '{"class":"A"${front},"args":[${args}]${back}}')`,
      "1",
      `queue:${name}`,
    );
  await huge("back", "", `,"enqueued_at":${hourAgo},"tags":[]`);
  await huge("front", `,"enqueued_at":${hourAgo}`, "");
  await huge("without", "", "");
  await redis.cli("SADD", "queues", "back", "front", "without");
  const sent = async () => Number((await redis.cli("INFO", "stats")).match(/total_net_output_bytes:(\d+)/)![1]);
  const before = await sent();
  const { queues } = await store.admin.stats();
  const [back, front, without] = queues.map(({ latencyMs }) => latencyMs);
  assertAlmostEquals(back!, 3_600_000, 30_000);
  assertAlmostEquals(front!, 3_600_000, 30_000);
  assertEquals(without, 0);
  const bytes = await sent() - before;
  assert(bytes < 100_000, `${bytes} bytes`);
});

Deno.test("redis: a job that another program pushes with a group is sorted into its group, and limited with it", async () => {
  await using store = await openEmpty();
  await store.admin.configure("default", { eachGroup: true, limit: { running: 1 } });
  const payload = (n: number, more: string) =>
    `{"class":"HardJob","args":[${n}],"jid":"${jid(n)}","queue":"default"${more}}`;
  const texts = [
    ...[payload(1, `,"group":"a"`), payload(2, `,"group":"a"`), payload(3, `,"group":"b"`)],
    // Not a group: in the arguments, of another type, too long, in invalid JSON.
    ...[`{"class":"HardJob","args":[{"group":"a"}],"jid":"4"}`, payload(5, `,"group":7`)],
    ...[payload(6, `,"group":"${"x".repeat(257)}"`), `"group" 7`],
  ];
  await redis.cli("SADD", "queues", "default");
  for (const text of texts) await redis.cli("LPUSH", "queue:default", text);
  const leases = await takeUpTo(store, WORKER);
  assertEquals(leases.map(({ group }) => group ?? "-").sort(), ["-", "-", "-", "-", "a", "b"]);
  assertEquals(await takeUpTo(store, WORKER), []);
  assertEquals(await redis.cli("LLEN", "queue:default|a"), "1");
  assertEquals(await redis.cli("SMEMBERS", "queues"), "default");
});

Deno.test("redis: a queue without groups costs no command for groups", async () => {
  await using store = await openEmpty();
  const calls = async () =>
    [...(await redis.cli("INFO", "commandstats")).matchAll(/cmdstat_(\w+):calls=(\d+)/g)]
      .flatMap(([, name, count]) => name === "info" || name === "config|resetstat" ? [] : [`${name} ${count}`]).sort();
  const once = async () => {
    await store.jobs.enqueue([job(1)]);
    const leases = await takeUpTo(store, WORKER);
    await store.jobs.settle(WORKER, leases.map(({ token }) => ({ kind: "ack", token })));
  };
  await once();
  await redis.cli("CONFIG", "RESETSTAT");
  await once();
  // None of them concerns groups: the limits, which a take reads anyway, show whether a queue has groups. The settlement looks once
  // whether events are recorded (hget).
  assertEquals((await calls()).filter((call) => /^(exists|h|l|r|s|z)/.test(call)), [
    ...["exists 1", "hdel 1", "hget 1", "hlen 2", "hmget 1", "hset 1", "llen 1", "lpush 1"],
    ...["rpop 2", "sadd 1", "scard 1", "set 1", "sismember 1", "smismember 1", "zadd 1", "zmscore 1"],
  ]);
});

Deno.test("redis: a job isn't put aside where Sidekiq takes from its queue, and returns from there when Sidekiq comes", async () => {
  await using store = await openEmpty();
  await register(store, WORKER);
  const sidekiq = async (queue: string) => {
    await redis.cli("HSET", "ruby:1:f", "info", JSON.stringify({ queues: [queue, "low"], concurrency: 5 }));
    await redis.cli("SADD", "processes", "ruby:1:f");
  };
  const setAside = async () => {
    const leases = await store.jobs.take({ queues: ["default"], limit: 10, worker: WORKER, classes: [] });
    const { lost } = await store.jobs.settle(
      WORKER,
      leases.map(({ token, payload }) => ({
        ...{ kind: "aside", token, class: "HardJob", delayMs: 60_000, payload } as const,
      })),
    );
    assertEquals(lost, []);
    return numbers(leases);
  };
  await sidekiq("other");
  await store.jobs.enqueue([job(1), job(2), job(3)]);
  assertEquals(await setAside(), [1, 2, 3]);
  assertEquals((await store.admin.stats()).queues[0]!.aside, 3);
  assertEquals(await redis.cli("LLEN", "queue:default"), "0");

  await sidekiq("default");
  await store.jobs.rescue({ worker: WORKER, limit: 100, maxRescues: 3 });
  assertEquals((await store.admin.stats()).queues.map(({ size, aside }) => [size, aside]), [[3, undefined]]);
  assertEquals(await redis.cli("LLEN", "queue:default"), "3");
  assertEquals(await redis.cli("EXISTS", "jobs:asides", "jobs:groups:aside:default", "jobs:limits"), "0");

  assertEquals(await setAside(), [1, 2, 3]);
  const { enqueued, scheduled } = await store.admin.stats();
  assertEquals([enqueued, scheduled], [0, 3]);
});
