/**
 * A Redis that can be reached and isn't usable: a replica, a master without its replicas, a failover.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ShutdownBudget } from "../src/server/component.ts";
import { UniqueName } from "../src/server/liveness/unique_name.ts";
import { openStore } from "../src/store/open.ts";
import type { Endpoint } from "../src/store/redis/client/address.ts";
import { Connection } from "../src/store/redis/client/connection.ts";
import { SentinelMaster } from "../src/store/redis/client/sentinel.ts";
import { job, workerRecord } from "./store_contract/jobs.ts";
import { FakeClock } from "./support/clock.ts";
import { until } from "./support/eventually.ts";
import { KeptLog } from "./support/log.ts";
import { freePort, type RedisServer, startRedis } from "./support/redis.ts";
import { startRedisGroup } from "./support/redis_group.ts";
import { collectLog, fails } from "./support/store_errors.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";

/** Returns how many connections a server has accepted, without that of this question. */
async function accepted(redis: RedisServer): Promise<number> {
  return Number(/total_connections_received:(\d+)/.exec(await redis.cli("INFO", "stats"))?.[1]) - 1;
}

Deno.test("redis: a replica logs one line, gets few connections, and one line when it is the master", async () => {
  await using master = await startRedis();
  await using replica = await startRedis({ config: { replicaof: `127.0.0.1 ${master.port}` } });
  await until(async () => (await replica.cli("ROLE")).includes("connected"));
  const { lines, log } = collectLog();
  await using store = await openStore(replica.url, { log, waitMs: 1_000 });
  assertEquals((await store.admin.stats()).enqueued, 0, "it can be read");
  assertEquals(lines, []);
  const before = await accepted(replica);
  for (let i = 0; i < 3; i++) {
    const pushes = Array.from({ length: 20 }, (_, n) => store.jobs.enqueue([job(100 * i + n)]));
    await fails(() => Promise.all(pushes), "unavailable", "is a replica now", replica.url);
    await Promise.allSettled(pushes);
  }
  assertEquals(lines.length, 1, lines.join("\n"));
  assertStringIncludes(lines[0]!, "lost, reconnecting: it is a replica now");
  const connections = await accepted(replica) - before;
  assert(connections > 0 && connections < 30, `${connections} connections`);
  await replica.cli("REPLICAOF", "NO", "ONE");
  await until(async () => (await store.jobs.enqueue([job(1)]).catch(() => undefined)) !== undefined);
  assertEquals(lines.length, 2, lines.join("\n"));
  assertStringIncludes(lines[1]!, "is back after");
});

Deno.test("redis: a master without its replicas logs one line, and calls wait until it has them", async () => {
  await using redis = await startRedis();
  const { lines, log } = collectLog();
  await using store = await openStore(redis.url, { log });
  await store.jobs.enqueue([job(1)]);
  await redis.cli("CONFIG", "SET", "min-replicas-to-write", "1");
  const pushes = Array.from({ length: 20 }, (_, n) => store.jobs.enqueue([job(2 + n)]));
  await until(() => lines.length === 1);
  assertStringIncludes(lines[0]!, "lost, reconnecting: it has fewer replicas than its min-replicas-to-write requires");
  await redis.cli("CONFIG", "SET", "min-replicas-to-write", "0");
  await Promise.all(pushes);
  assertEquals((await store.admin.stats()).enqueued, 21);
  assertEquals(lines.length, 2, lines.join("\n"));
});

Deno.test("redis: a connection that breaks again and again is made with growing pauses", async () => {
  await using redis = await startRedis();
  await using proxy = await TcpProxy.start(redis.port);
  await using store = await openStore(`redis://127.0.0.1:${proxy.port}`, { waitMs: 2_000 });
  await store.jobs.enqueue([job(1)]);
  // Enough for the login.
  proxy.bytesToLive = () => 300;
  proxy.cut();
  const calls = Array.from({ length: 100 }, () => store.admin.stats());
  await fails(() => Promise.all(calls), "unavailable", "cannot be reached");
  await Promise.allSettled(calls);
  assert(proxy.accepted > 2 && proxy.accepted < 30, `${proxy.accepted} connections`);
});

Deno.test("redis: reconnects to the new master after a failover", async () => {
  await using one = await startRedis();
  await using two = await startRedis({ config: { replicaof: `127.0.0.1 ${one.port}` } });
  await until(async () => (await two.cli("ROLE")).includes("connected"));
  // Later, the address leads to another server, as behind a load balancer.
  let target = one.port;
  await using proxy = await TcpProxy.start(() => target);
  await using store = await openStore(`redis://127.0.0.1:${proxy.port}`);
  await store.jobs.enqueue([job(1)]);
  await until(async () => (await two.cli("LLEN", "queue:default")) === "1");
  await two.cli("REPLICAOF", "NO", "ONE");
  await one.cli("REPLICAOF", "127.0.0.1", `${two.port}`);
  target = two.port;
  assertEquals(await store.jobs.enqueue([job(2)]), [{ kind: "stored" }]);
  assertEquals(await two.cli("LLEN", "queue:default"), "2");
});

Deno.test("redis: a worker has its name again after a failover to a replica without its claim", async () => {
  await using one = await startRedis();
  await using two = await startRedis();
  let target = one.port;
  await using proxy = await TcpProxy.start(() => target);
  await using store = await openStore(`redis://127.0.0.1:${proxy.port}`);
  const [mine, other] = ["host:1:aaaaaaaaaaaa", "host:2:bbbbbbbbbbbb"] as const;
  const clock = new FakeClock();
  const name = new UniqueName({ store, name: "mail", worker: mine, ttlMs: 60_000, clock, log: new KeptLog() });
  const beat = async () => name.beat(await store.workers.heartbeat(workerRecord(mine), 60_000));
  await beat();
  await name.start();
  assertEquals((await store.workers.claim("name:mail", other, 1_000))?.worker, mine);
  target = two.port;
  proxy.cut();
  await beat();
  assertEquals((await store.workers.claim("name:mail", other, 1_000))?.worker, mine);
  await name.stop(new ShutdownBudget(clock));
});

Deno.test("redis: connects to Sentinel's master, and to the next one when it dies", async () => {
  await using one = await startRedis();
  await using two = await startRedis({ config: { replicaof: `127.0.0.1 ${one.port}` } });
  await until(async () => (await two.cli("ROLE")).includes("connected"));
  await using sentinel = await startRedis({
    args: ["--sentinel"],
    config: {
      "sentinel monitor mymaster 127.0.0.1": `${one.port} 1`,
      "sentinel down-after-milliseconds mymaster": "2000",
      "sentinel failover-timeout mymaster": "2000",
    },
  });
  await until(async () => (await sentinel.cli("SENTINEL", "REPLICAS", "mymaster")).includes(`${two.port}`));
  const { lines, log } = collectLog();
  const nodes = `127.0.0.1:${freePort()},127.0.0.1:${sentinel.port}`;
  await using store = await openStore(`redis+sentinel://${nodes}/mymaster/1`, { log, waitMs: 60_000 });
  await store.jobs.enqueue([job(1)]);
  await until(async () => (await two.cli("-n", "1", "LLEN", "queue:default")) === "1");
  await one.kill();
  assertEquals(await store.jobs.enqueue([job(2)]), [{ kind: "stored" }]);
  assertEquals(await two.cli("-n", "1", "LLEN", "queue:default"), "2");
  assertEquals(lines.length, 2);
  await fails(
    () => openStore(`redis+sentinel://${nodes}/other`, { waitMs: 2_000 }),
    "unavailable",
    'has no master "other"',
  );
});

Deno.test("redis: begins with the Sentinel that has named the master, not with one that is down", async () => {
  await using group = await startRedisGroup();
  await using down = await TcpProxy.start(group.sentinel.port);
  down.weather = "closed";
  const nodes = [down.port, group.sentinel.port].map((port) => ({ host: "127.0.0.1", port }));
  const master = new SentinelMaster({ master: "mymaster", nodes, login: {} });
  const { signal } = new AbortController();
  for (let i = 0; i < 3; i++) {
    const connect = (endpoint: Endpoint) =>
      Connection.connect({ endpoint, login: {}, database: 0, name: "x", replyTimeoutMs: 5_000 }, signal);
    (await master.connect({ name: "x" }, signal, connect)).destroy();
  }
  assertEquals(down.accepted, 1);
});

Deno.test("redis: an idle client uses the new master as soon as Sentinel names it", async () => {
  await using group = await startRedisGroup();
  const { lines, log } = collectLog();
  await using store = await openStore(group.url, { log });
  await until(async () => (await group.sentinel.cli("CLIENT", "LIST")).includes("sub=4"));
  const old = await group.master();
  await group.failover();
  // The old master still accepts writes.
  assertEquals(await store.jobs.enqueue([job(1)]), [{ kind: "stored" }]);
  assertEquals(await (await group.master()).cli("LLEN", "queue:default"), "1");
  assertEquals(await old.cli("LLEN", "queue:default"), "0");
  assertEquals(lines.length, 2, lines.join("\n"));
  assertStringIncludes(lines[0]!, `lost, reconnecting: Sentinel replaces the master 127.0.0.1:${old.port}`);
});

Deno.test("redis: a planned failover under load loses no acknowledged push", async () => {
  await using group = await startRedisGroup({ config: { "min-replicas-to-write": "1" } });
  await using store = await openStore(group.url, { waitMs: 60_000 });
  await until(async () => (await group.sentinel.cli("CLIENT", "LIST")).includes("sub=4"));
  let isOver = false;
  const acknowledged: string[] = [];
  const producers = Array.from({ length: 4 }, async (_, producer) => {
    for (let i = 0; !isOver; i++) {
      const next = job(producer * 1_000_000 + i);
      await store.jobs.enqueue([next]);
      acknowledged.push(next.jid);
    }
  });
  await until(() => acknowledged.length > 100);
  await group.failover();
  const before = acknowledged.length;
  await until(() => acknowledged.length > before + 100);
  isOver = true;
  await Promise.all(producers);
  const roles = await Promise.all(group.servers.map((one) => one.cli("ROLE")));
  assertEquals((await store.admin.stats()).enqueued, acknowledged.length, roles.join("\n"));
});
