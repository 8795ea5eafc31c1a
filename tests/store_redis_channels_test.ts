/**
 * Channels of Redis: those that a user may not read, and those whose connection breaks.
 *
 * @module
 */
import { awaitResult } from "../src/store/ops/await.ts";
import { assert } from "@std/assert";
import { openStore } from "../src/store/open.ts";
import { Connection } from "../src/store/redis/client/connection.ts";
import { ReconnectingClient } from "../src/store/redis/client/reconnecting_client.ts";
import { until } from "./support/eventually.ts";
import { startRedis } from "./support/redis.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";
import { job } from "./store_contract/jobs.ts";

Deno.test("redis: a client reconnects after its user lost the permission for its channels", async () => {
  await using redis = await startRedis();
  await redis.cli("ACL", "SETUSER", "bob", "on", ">s3cret", "~*", "&*", "+@all");
  await using store = await openStore(`redis://bob:s3cret@127.0.0.1:${redis.port}`, { waitMs: 2_000 });
  const stop = new AbortController();
  const waiting = awaitResult(store, "a job that never ends", stop.signal);
  await until(async () => (await redis.cli("PUBSUB", "CHANNELS")).includes("jobs:"), "the store is subscribed");
  // Redis revokes the permission and closes the connection.
  await redis.cli("ACL", "SETUSER", "bob", "resetchannels");
  await until(() => store.jobs.enqueue([job(1)]).then(() => true, () => false), "a push succeeds");
  const connections = (await redis.cli("CLIENT", "LIST", "TYPE", "normal")).split("\n").filter((line) =>
    line.includes("user=bob")
  );
  assert(connections.length <= 2, connections.join("\n"));
  stop.abort();
  await waiting;
});

Deno.test("redis: a subscription whose connection breaks before the reply is made on the next one", async () => {
  await using redis = await startRedis();
  await using proxy = await TcpProxy.start(redis.port);
  const endpoint = { host: "127.0.0.1", port: proxy.port };
  const client = new ReconnectingClient({
    connect: (signal) =>
      Connection.connect({ endpoint, login: {}, database: 0, name: "x", replyTimeoutMs: 5_000 }, signal),
    shown: "x",
    waitMs: 60_000,
  });
  await client.call(["PING"]);
  proxy.cutReplyOf(1);
  let heard = "";
  await client.subscribe("news", (message) => heard = message);
  await until(async () => {
    await redis.cli("PUBLISH", "news", "hello");
    return heard === "hello";
  }, "the message arrives");
  await client.close();
});
