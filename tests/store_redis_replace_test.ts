/**
 * Replaced jobs on Redis: lost replies, and how much of long queues a script searches.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { getField } from "../src/job/raw.ts";
import { openStore } from "../src/store/open.ts";
import type { NewJob } from "../src/store/port/jobs.ts";
import { until } from "./support/eventually.ts";
import { entries, HOUR_MS, jid, job } from "./store_contract/jobs.ts";
import { startRedis } from "./support/redis.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";

const redis = await startRedis();
Deno.test.afterAll(async () => await redis[Symbol.asyncDispose]());

function replacing(n: number, key = "one"): NewJob {
  const one = job(n, { unique: { key, ttlMs: HOUR_MS, replace: true } });
  return { ...one, payload: one.payload.replace(/}$/, `,"unique_key":"${key}","on_duplicate":"replace"}`) };
}

Deno.test("redis replace: a push sent again because its reply was lost doesn't replace a later one", async () => {
  await using proxy = await TcpProxy.start(redis.port);
  await redis.cli("FLUSHALL");
  await using direct = await openStore(redis.url);
  await using store = await openStore(`redis://127.0.0.1:${proxy.port}/0`);
  await direct.jobs.enqueue([replacing(1)]);
  // Loads the script into Redis.
  await store.jobs.enqueue([job(9)]);
  proxy.cutNextAnswer();
  const accepted = proxy.accepted;
  proxy.weather = "closed";
  const pushing = store.jobs.enqueue([replacing(2)]);
  await until(() => proxy.accepted > accepted);
  assertEquals(await direct.jobs.enqueue([replacing(3)]), [{ kind: "replaced", jid: jid(1) }]);
  proxy.weather = "fair";
  assertEquals(await pushing, [{ kind: "replaced", jid: jid(1) }]);
  const queued = await entries(direct, { in: "queue", queue: "default" });
  assertEquals(queued.map(({ payload }) => getField(payload, "args")), [[3], [9]]);
});

Deno.test("redis replace: a script searches a million entries of queues, and the rest follows in the next one", async () => {
  await using store = await openStore(redis.url);
  const some = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => replacing(from + i, `key-${i}`));
  /** Replaces the first jobs of a queue. Returns the number of scripts. */
  const replaceOf = async (size: number, count: number) => {
    await redis.cli("FLUSHALL");
    await store.jobs.enqueue(some(1, size));
    await redis.cli("CONFIG", "RESETSTAT");
    const results = await store.jobs.enqueue(some(size + 1, count));
    assertEquals(results, Array.from({ length: count }, (_, i) => ({ kind: "replaced", jid: jid(i + 1) })));
    const calls = /cmdstat_evalsha:calls=(\d+)/.exec(await redis.cli("INFO", "commandstats"))?.[1];
    const queued = await entries(store, { in: "queue", queue: "default" }, { limit: 1_000 });
    const expected = Array.from({ length: size }, (_, i) => [jid(i + 1), [i < count ? size + 1 + i : i + 1]]);
    assertEquals(queued.map(({ payload }) => [getField(payload, "jid"), getField(payload, "args")]), expected);
    return Number(calls);
  };
  // 666 searches of 1,500 entries are less than a million, and 667 are more.
  assertEquals(await replaceOf(1_500, 2 * 666), 2);
  assertEquals(await replaceOf(1_500, 2 * 666 + 1), 3);
  // A thousand searches of a thousand entries are exactly a million.
  assertEquals(await replaceOf(1_000, 1_000), 1);
});
