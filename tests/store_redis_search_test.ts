/**
 * Searching for jobs on Redis while they move.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { Connection } from "../src/store/redis/client/connection.ts";
import { ReconnectingClient } from "../src/store/redis/client/reconnecting_client.ts";
import { find } from "../src/store/redis/search.ts";
import { startRedis } from "./support/redis.ts";
import { jid, job } from "./store_contract/jobs.ts";

Deno.test("redis: find returns a queued job although others return to the front of its queue during the search", async () => {
  await using redis = await startRedis();
  const endpoint = { host: "127.0.0.1", port: redis.port };
  const options = { endpoint, login: {}, database: 0, name: "jobs:test", replyTimeoutMs: 5_000 };
  const client = new ReconnectingClient({
    connect: (signal) => Connection.connect(options, signal),
    shown: redis.url,
    waitMs: 5_000,
  });
  // The short queue is read together with others, the long one separately.
  for (const length of [3, 1_200]) {
    await redis.cli("FLUSHALL");
    await client.call(["SADD", "queues", "default"]);
    await client.call(["LPUSH", "queue:default", ...Array.from({ length }, (_, n) => job(n).payload)]);
    const call = client.call.bind(client);
    client.call = async (args, options) => {
      const answer = await call(args, options);
      if (args[0] === "LLEN") await call(["RPUSH", "queue:default", job(5_000).payload, job(5_001).payload]);
      return answer;
    };
    const newest = jid(length - 1);
    assertEquals((await find(client, [newest])).map(({ payload }) => payload), [job(length - 1).payload]);
    client.call = call;
  }
  await client.close();
});
