/**
 * Steps on Redis between which something happens: a reply is lost, a heartbeat arrives, or the clock jumps.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { openStore } from "../src/store/open.ts";
import type { WorkerInfo } from "../src/store/port/workers.ts";
import { jid, job, jobs, lapse, LAPSE_MS, register, rescueFor, takeUpTo } from "./store_contract/jobs.ts";
import { emptyRedisStores } from "./support/redis_stores.ts";
import { startRedis } from "./support/redis.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";

const HOUR_MS = 3_600_000;
const redis = await startRedis();
Deno.test.afterAll(async () => await redis[Symbol.asyncDispose]());
const open = await emptyRedisStores(redis);

Deno.test("redis: a signal whose reply was lost is kept once, and reaches one of two jobs that wait", async () => {
  await redis.cli("FLUSHALL");
  await using proxy = await TcpProxy.start(redis.port);
  await using store = await openStore(`redis://127.0.0.1:${proxy.port}`);
  const signal = (key: string) => store.steps.signal({ key, data: "1", ttlMs: HOUR_MS });
  // Loads the script into Redis.
  await signal("other");
  proxy.cutNextAnswer();
  assertEquals(await signal("kept"), {});
  assertEquals(await redis.cli("LLEN", "jobs:signals:kept"), "1");

  const worker = await register(store);
  await store.jobs.enqueue(jobs(1, 2));
  const jids = [1, 2].map((n) => job(n).jid);
  const leases = await takeUpTo(store, worker);
  for (const [i, { token }] of leases.entries()) {
    const wait = { name: "w", about: `"kind":"wait","key":"k"`, forMs: HOUR_MS, key: "k" };
    await store.steps.wait({ worker, token, jid: jids[i]! }, wait);
  }
  proxy.cutNextAnswer();
  const first = await signal("k");
  const second = await signal("k");
  assertEquals([first.reached, second.reached].sort(), jids);
  assertEquals(await signal("k"), {});
});

Deno.test("redis: a take that arrives after its worker has given it up leases nothing", async () => {
  await redis.cli("FLUSHALL");
  await using proxy = await TcpProxy.start(redis.port);
  await using store = await openStore(`redis://127.0.0.1:${proxy.port}`, { waitMs: 4_000 });
  const worker = await register(store);
  assertEquals(await takeUpTo(store, worker), []);
  const release = proxy.hold();
  // Its reply is awaited for a second or two. Then it is repeated on another connection.
  assertEquals(await takeUpTo(store, worker), []);
  await store.jobs.enqueue(jobs(1, 1));
  await release();
  assertEquals([await redis.cli("LLEN", "queue:default"), await redis.cli("HLEN", `jobs:leases:${worker}`)], [
    "1",
    "0",
  ]);
  assertEquals((await takeUpTo(store, worker)).length, 1);
});

Deno.test("redis: a rescue takes no lease of a worker whose heartbeat arrived after the leases were read", async () => {
  await using t = await open();
  const worker = await register(t.store);
  await t.store.jobs.enqueue(jobs(1, 2));
  const tokens = (await takeUpTo(t.store, worker)).map(({ token }) => token);
  await t.store.workers.note(worker, { running: { tokens: [tokens[0]!], alone: true } });
  // Loads the first script into Redis.
  await rescueFor(t.store);
  await lapse(t);
  // One job would return, and the other one would be dead. The heartbeat is sent between the two scripts.
  const [{ rescued, doomed, offline }] = await Promise.all([rescueFor(t.store, 100, 1), register(t.store, worker)]);
  assertEquals([rescued, doomed, offline], [0, [], []]);
  assertEquals(await t.store.jobs.stillLeased(worker, tokens), tokens);
});

Deno.test("redis: a rescue takes no lease if its worker's heartbeats stopped being continuous after the leases were read", async () => {
  await using t = await open();
  const worker = await register(t.store);
  await t.store.jobs.enqueue(jobs(1, 1));
  const tokens = (await takeUpTo(t.store, worker)).map(({ token }) => token);
  // Loads the first script into Redis.
  await rescueFor(t.store);
  await lapse(t);
  const rescue = rescueFor(t.store);
  // The clock jumps: from the script that follows on, the heartbeats of the rescuer are old.
  t.advance(LAPSE_MS);
  assertEquals((await rescue).offline, []);
  assertEquals(await t.store.jobs.stillLeased(worker, tokens), tokens);
});

Deno.test("redis: a command that is sent later doesn't shorten how long a cancellation waits for a frozen worker", async () => {
  await redis.cli("FLUSHALL");
  await using t = await open();
  const worker = await register(t.store);
  await t.store.jobs.enqueue(jobs(1, 1));
  await takeUpTo(t.store, worker);
  const { entries: [entry] } = await t.store.admin.page({ in: "running" });
  const ttl = async () => Number(await redis.cli("TTL", `jobs:commands:${worker}`));
  assertEquals(await t.store.workers.send(worker, { verb: "cancel", jid: jid(1), ref: entry!.ref }), true);
  assertEquals(await t.store.workers.send(worker, { verb: "dump" }), true);
  assert(await ttl() > 604_000, `${await ttl()} s`);
});

Deno.test("redis: a worker whose key has expired is listed as before, with the time of its last heartbeat", async () => {
  await redis.cli("FLUSHALL");
  await using t = await open();
  const worker = await register(t.store);
  const listed = async (): Promise<Partial<WorkerInfo>> => {
    const [{ heartbeatAt, busy: _busy, rss: _rss, work: _work, quiet: _quiet, ...info }] = await t.store.workers
      .list() as [WorkerInfo];
    return { ...info, heartbeatAt: Math.round(heartbeatAt) };
  };
  const before = await listed();
  await redis.cli("DEL", worker);
  assertEquals(await listed(), before);
});
