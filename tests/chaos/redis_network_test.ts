/**
 * A bad network between jobs and Redis: an acknowledged job is stored once, and a taken job is never stuck.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "../../src/store/port/errors.ts";
import { openStore, type StoreOptions } from "../../src/store/open.ts";
import { Connection } from "../../src/store/redis/client/connection.ts";
import { ConnectionLost } from "../../src/store/redis/client/errors.ts";
import { job, jobs, takeUpTo, TTL_MS, workerRecord } from "../store_contract/jobs.ts";
import { until } from "../support/eventually.ts";
import { type RedisServer, startRedis } from "../support/redis.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import type { Store } from "../../src/store/admin/store.ts";

const WORKER = "host:1:aaaaaaaaaaaa";

/** A store behind a proxy. */
interface Bench extends AsyncDisposable {
  readonly redis: RedisServer;
  readonly proxy: TcpProxy;
  readonly store: Store;
  /** Another store on the same Redis, without the proxy. */
  readonly direct: Store;
}

async function openBench(options: StoreOptions = {}): Promise<Bench> {
  const redis = await startRedis();
  const proxy = await TcpProxy.start(redis.port);
  const store = await openStore(`redis://127.0.0.1:${proxy.port}`, options);
  const direct = await openStore(redis.url);
  return {
    redis,
    proxy,
    store,
    direct,
    async [Symbol.asyncDispose]() {
      for (const one of [store, direct, proxy, redis]) await one[Symbol.asyncDispose]();
    },
  };
}

/** Returns the jids in a queue. */
async function jidsIn(store: Store, queue = "default"): Promise<string[]> {
  const { entries } = await store.admin.page({ in: "queue", queue }, { limit: 100_000 });
  return entries.map((entry) => JSON.parse(entry.payload).jid);
}

/** Cuts each connection within a reply, after one of these numbers of bytes. */
function cutAfter(proxy: TcpProxy, sizes: readonly number[]): void {
  let next = 0;
  proxy.bytesToLive = () => sizes[next++ % sizes.length]!;
  proxy.cut();
}

Deno.test("redis chaos: pushes over a connection that breaks constantly are stored, each once", async () => {
  await using t = await openBench();
  // Connecting takes about 150 bytes, the reply to a push four.
  cutAfter(t.proxy, [170, 163, 181, 240, 100, 161]);
  const pushed = await Promise.all(Array.from({ length: 8 }, async (_, lane) => {
    const jids: string[] = [];
    for (let i = 0; i < 60; i++) {
      const batch = jobs(lane * 10_000 + i * 10, lane * 10_000 + i * 10 + 4);
      const results = await t.store.jobs.enqueue(batch);
      assert(results.every((result) => result.kind === "stored"));
      jids.push(...batch.map((job) => job.jid));
    }
    return jids;
  }));
  assert(t.proxy.accepted > 10, `It was cut, ${t.proxy.accepted} connections`);
  assertEquals((await jidsIn(t.direct)).sort(), pushed.flat().sort());
});

Deno.test("redis chaos: jobs taken over a connection that breaks constantly are settled, each once", async () => {
  await using t = await openBench();
  const total = 2_000;
  await t.direct.jobs.enqueue(jobs(1, total));
  await t.direct.workers.heartbeat(workerRecord(WORKER), TTL_MS);
  cutAfter(t.proxy, [500, 4_000, 9_000, 3_300, 20_000, 163]);
  const taken: string[] = [];
  let lost = 0;
  while (taken.length < total) {
    const leases = await t.store.jobs.take({ queues: ["default"], limit: 17, worker: WORKER });
    assert(leases.length <= 17);
    taken.push(...leases.map((lease) => JSON.parse(lease.payload).jid));
    lost += (await t.store.jobs.settle(WORKER, leases.map(({ token }) => ({ kind: "ack", token })))).lost.length;
    if (leases.length === 0) break;
  }
  assert(t.proxy.accepted > 10, `It was cut, ${t.proxy.accepted} connections`);
  assertEquals([taken.length, new Set(taken).size, lost], [total, total, 0]);
  const { enqueued, running, processed } = await t.direct.admin.stats();
  assertEquals([enqueued, running], [0, 0]);
  // Finished jobs are counted in the step that ends them.
  assertEquals(processed, total);
});

Deno.test("redis chaos: jobs whose take lost its reply, and that the next take has no room for, return to their queue", async () => {
  await using t = await openBench({ waitMs: 2_000 });
  await t.direct.workers.heartbeat(workerRecord(WORKER), TTL_MS);
  // Loads the script into Redis.
  assertEquals(await takeUpTo(t.store, WORKER), []);
  await t.direct.jobs.enqueue(jobs(1, 10));
  t.proxy.cutNextAnswer();
  t.proxy.weather = "closed";
  await assertRejects(
    () => t.store.jobs.take({ queues: ["default"], limit: 8, worker: WORKER }),
    StoreError,
    "cannot be reached",
  );
  assertEquals((await t.direct.admin.stats()).running, 8);
  t.proxy.weather = "fair";
  await until(async () => (await t.store.admin.stats().catch(() => undefined)) !== undefined);
  const leases = await takeUpTo(t.store, WORKER, 3);
  assertEquals(leases.map((lease) => JSON.parse(lease.payload).args[0]), [1, 2, 3]);
  assertEquals((await t.direct.admin.stats()).running, 3);
  assertEquals((await takeUpTo(t.store, WORKER, 100)).map((lease) => JSON.parse(lease.payload).args[0]), [
    4,
    5,
    6,
    7,
    8,
    9,
    10,
  ]);
});

Deno.test("redis chaos: a duplicate whose reply was lost stays rejected if the lock is released before it is resent", async () => {
  await using t = await openBench();
  const unique = { key: "HardJob:bob", ttlMs: 3_600_000 };
  await t.direct.workers.heartbeat(workerRecord(WORKER), TTL_MS);
  await t.direct.jobs.enqueue([job(1, { unique })]);
  // Loads the script into Redis.
  await t.store.jobs.enqueue([job(2)]);
  t.proxy.cutNextAnswer();
  const accepted = t.proxy.accepted;
  t.proxy.weather = "closed";
  const pushing = t.store.jobs.enqueue([job(3, { unique }), job(4)]);
  await until(() => t.proxy.accepted > accepted);
  const [holder] = await takeUpTo(t.direct, WORKER, 1);
  await t.direct.jobs.settle(WORKER, [{ kind: "ack", token: holder!.token, unlock: unique.key, jid: job(1).jid }]);
  t.proxy.weather = "fair";
  assertEquals(await pushing, [{ kind: "duplicate", holder: job(1).jid }, { kind: "stored" }]);
  assertEquals(await jidsIn(t.direct), [job(2).jid, job(4).jid]);
  // The lock is free. Redis remembers the number of the rejected batch, not the lock.
  assertEquals(await t.store.jobs.enqueue([job(5, { unique })]), [{ kind: "stored" }]);
});

Deno.test("redis chaos: a command whose reply cuts the connection each time fails after waitMs, and others succeed", async () => {
  // Longer than the pause before a connection.
  await using t = await openBench({ waitMs: 4_000 });
  await t.direct.jobs.enqueue(jobs(1, 100));
  // Connecting takes about 150 bytes, a push four, and this page 15,000.
  t.proxy.bytesToLive = () => 2_000;
  t.proxy.cut();
  await assertRejects(() => jidsIn(t.store), StoreError, "it closed the connection");
  assertEquals(await t.store.jobs.enqueue(jobs(101, 101)), [{ kind: "stored" }]);
  assert(t.proxy.accepted < 30, `${t.proxy.accepted} connections`);
});

Deno.test("redis chaos: a slow network causes delays and no errors", async () => {
  await using t = await openBench();
  t.proxy.delayMs = 40;
  await t.store.jobs.enqueue(jobs(1, 100));
  await t.store.workers.heartbeat(workerRecord(WORKER), TTL_MS);
  const leases = await takeUpTo(t.store, WORKER, 100);
  assertEquals((await t.store.jobs.settle(WORKER, leases.map(({ token }) => ({ kind: "ack", token })))).lost, []);
  assertEquals(t.proxy.accepted, 1);
});

Deno.test("redis chaos: a half-closed connection is replaced", async () => {
  await using t = await openBench();
  await t.store.jobs.enqueue(jobs(1, 1));
  t.proxy.halfClose();
  await t.store.jobs.enqueue(jobs(2, 2));
  assertEquals((await jidsIn(t.direct)).length, 2);
  assertEquals(t.proxy.accepted, 2);
});

Deno.test("redis chaos: a connection that silently drops bytes is closed, and blocking ones with it", async () => {
  await using t = await openBench({ waitMs: 8_000 });
  const patience = new AbortController();
  const waiting = t.store.watch({ work: ["default"] }, patience.signal);
  // For commands, for the queue, and for announcements.
  await until(() => t.proxy.accepted === 3);
  t.proxy.freeze();
  assertEquals(await t.store.jobs.enqueue(jobs(1, 1)), [{ kind: "stored" }]);
  let isOver = false;
  void waiting.then(() => isOver = true);
  // The blocking connection would detect it, too, but much later.
  await until(() => isOver, "The wait's end", 5_000);
  patience.abort();
  assertEquals(await jidsIn(t.direct), jobs(1, 1).map((job) => job.jid));
});

Deno.test("redis chaos: outcomes whose reply was lost are stored, and not logged as lost", async () => {
  await using t = await openBench();
  await t.store.workers.heartbeat(workerRecord(WORKER), TTL_MS);
  await t.store.jobs.enqueue(jobs(1, 4));
  const [first, ...rest] = await takeUpTo(t.store, WORKER);
  // Loads the script into Redis.
  await t.store.jobs.settle(WORKER, [{ kind: "ack", token: first!.token }]);
  t.proxy.cutNextAnswer();
  const outcomes = rest.map(({ token }) => ({ kind: "ack", token } as const));
  assertEquals(await t.store.jobs.settle(WORKER, outcomes), { lost: [], dropped: 0 });
  assertEquals((await t.direct.admin.stats()).processed, 4);
  assertEquals(t.proxy.accepted, 2);
});

Deno.test("redis chaos: opening a store that never replies fails in time and leaves nothing behind", async () => {
  await using redis = await startRedis();
  await using proxy = await TcpProxy.start(redis.port);
  proxy.weather = "blackhole";
  const opening = openStore(`redis://127.0.0.1:${proxy.port}`, { waitMs: 100 });
  await assertRejects(() => opening, StoreError, "cannot be reached");
  const options = {
    endpoint: { host: "127.0.0.1", port: proxy.port },
    login: {},
    database: 0,
    name: "x",
    replyTimeoutMs: 5_000,
  };
  await assertRejects(() => Connection.connect(options, AbortSignal.abort()), ConnectionLost);
});

Deno.test("redis chaos: a frozen server is waited for, and its late commands are not repeated", async () => {
  await using t = await openBench({ waitMs: 8_000 });
  // Loads the script into Redis.
  await t.store.jobs.enqueue(jobs(0, 0));
  t.redis.signal("SIGSTOP");
  const pushing = t.store.jobs.enqueue(jobs(1, 3));
  await until(() => t.proxy.accepted > 1);
  t.redis.signal("SIGCONT");
  assertEquals(await pushing, jobs(1, 3).map(() => ({ kind: "stored" })));
  assertEquals((await jidsIn(t.direct)).length, 4);
});

Deno.test("redis chaos: SCRIPT FLUSH at any moment loses and repeats no job", async () => {
  await using t = await openBench();
  await t.store.workers.heartbeat(workerRecord(WORKER), TTL_MS);
  const flushing = new AbortController();
  const flushes = (async () => {
    while (!flushing.signal.aborted) await t.redis.cli("SCRIPT", "FLUSH");
  })();
  for (let i = 0; i < 100; i++) {
    await Promise.all([
      t.store.jobs.enqueue(jobs(i, i)),
      t.store.jobs.promote(10),
      t.store.jobs.rescue({ worker: WORKER, limit: 10, maxRescues: 3 }),
      t.store.admin.stats(),
    ]);
    const leases = await takeUpTo(t.store, WORKER, 10);
    assertEquals((await t.store.jobs.settle(WORKER, leases.map(({ token }) => ({ kind: "ack", token })))).lost, []);
  }
  flushing.abort();
  await flushes;
  const { enqueued, running, processed } = await t.direct.admin.stats();
  assertEquals([enqueued, running, processed], [0, 0, 100]);
});

Deno.test("redis chaos: with a small maximum backoff, a store tries to connect more often", async () => {
  await using redis = await startRedis();
  await using often = await TcpProxy.start(redis.port);
  await using usual = await TcpProxy.start(redis.port);
  await using _a = await openStore(`redis://127.0.0.1:${often.port}`, { maxBackoffMs: 25 });
  await using _b = await openStore(`redis://127.0.0.1:${usual.port}`);
  for (const proxy of [often, usual]) {
    proxy.weather = "closed";
    proxy.cut();
  }
  await until(() => often.accepted > 50);
  assert(usual.accepted < 25, `${usual.accepted}`);
});

Deno.test("redis chaos: a rescue that waited for the connection decides again, and finds no worker offline", async () => {
  const said: string[] = [];
  await using t = await openBench({ log: (_level, message) => said.push(message) });
  const ttlMs = 1_000;
  const [a, b] = ["host:1:aaaaaaaaaaaa", "host:2:bbbbbbbbbbbb"];
  await t.store.workers.heartbeat(workerRecord(a), ttlMs);
  await t.redis.cli("HSET", `jobs:worker:${a}`, "since", "1");
  await t.store.workers.heartbeat(workerRecord(b), ttlMs);
  await t.store.jobs.enqueue(jobs(1, 1));
  await takeUpTo(t.store, b);
  t.proxy.weather = "closed";
  t.proxy.cut();
  await until(() => said.some((line) => line.includes("lost, reconnecting")));
  const rescuing = t.store.jobs.rescue({ worker: a, limit: 10, maxRescues: 3 });
  await until(async () => (await t.direct.workers.list()).every(({ alive }) => !alive));
  t.proxy.weather = "fair";
  assertEquals(await rescuing, { rescued: 0, doomed: [], offline: [], more: false, waits: true });
});

Deno.test("redis chaos: jobs whose settling a restarted server has lost run again", async () => {
  await using t = await openBench();
  await t.store.workers.heartbeat(workerRecord(WORKER), TTL_MS);
  await t.store.jobs.enqueue(jobs(1, 4));
  const leases = await takeUpTo(t.store, WORKER, 3);
  const before = JSON.parse(await t.redis.cli("--json", "HGETALL", `jobs:leases:${WORKER}`));
  await t.store.jobs.settle(WORKER, leases.slice(0, 2).map(({ token }) => ({ kind: "ack", token })));
  for (const [token, payload] of Object.entries<string>(before)) {
    await t.redis.cli("HSET", `jobs:leases:${WORKER}`, token, payload);
  }
  t.proxy.cut();
  const numbers = (await takeUpTo(t.store, WORKER, 10)).map((lease) => JSON.parse(lease.payload).args[0]);
  assertEquals(numbers, [1, 2, 4]);
  assertEquals((await t.store.jobs.settle(WORKER, [{ kind: "ack", token: leases[2]!.token }])).lost, []);
});
