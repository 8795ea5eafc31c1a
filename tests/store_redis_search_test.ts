/**
 * Looking for jobs on Redis while they move.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { Connection } from "../src/store/redis/client/connection.ts";
import { ReconnectingClient } from "../src/store/redis/client/reconnecting_client.ts";
import { find } from "../src/store/redis/search.ts";
import { startRedis } from "./support/redis.ts";
import { jid, job } from "./store_contract/jobs.ts";

Deno.test("redis: a job that waits is found also when others are given back before it while it is looked for", async () => {
  await using redis = await startRedis();
  const endpoint = { host: "127.0.0.1", port: redis.port };
  const options = { endpoint, login: {}, database: 0, name: "jobs:test", silenceMs: 5_000 };
  const link = new ReconnectingClient({
    dial: (signal) => Connection.dial(options, signal),
    shown: redis.url,
    waitMs: 5_000,
  });
  // One queue is read together with others, and one by itself.
  for (const length of [3, 1_200]) {
    await redis.cli("FLUSHALL");
    await link.call(["SADD", "queues", "default"]);
    await link.call(["LPUSH", "queue:default", ...Array.from({ length }, (_, n) => job(n).payload)]);
    const call = link.call.bind(link);
    link.call = async (args, options) => {
      const answer = await call(args, options);
      if (args[0] === "LLEN") await call(["RPUSH", "queue:default", job(5_000).payload, job(5_001).payload]);
      return answer;
    };
    const newest = jid(length - 1);
    assertEquals((await find(link, [newest])).map(({ payload }) => payload), [job(length - 1).payload]);
    link.call = call;
  }
  await link.close();
});
