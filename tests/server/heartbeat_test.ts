/**
 * A worker whose heartbeats do not reach the store.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { until } from "../support/eventually.ts";
import { JobsProcess } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";

Deno.test("a worker takes no jobs before its heartbeat thread reaches the store", async () => {
  await using redis = await startRedis();
  await using proxy = await TcpProxy.start(redis.port);
  await using bench = await Bench.open(redis.url);
  const jid = await bench.push("Note", [bench.notes]);
  // One connection is enough to register and to take jobs, and leaves none for the thread.
  proxy.maxConnections = 1;
  await using _worker = new JobsProcess({ store: `redis://127.0.0.1:${proxy.port}/0`, args: [bench.handlers] });
  await until(() => proxy.accepted > 4, "the thread tries to connect");
  assertEquals(await bench.readNotes(), []);
  proxy.maxConnections = Infinity;
  await bench.noted(jid);
});
