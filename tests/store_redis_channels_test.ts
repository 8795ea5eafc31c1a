/**
 * Channels that a Redis user may not read.
 *
 * @module
 */
import { awaitResult } from "../src/store/ops/await.ts";
import { assert } from "@std/assert";
import { openStore } from "../src/store/open.ts";
import { until } from "./support/eventually.ts";
import { startRedis } from "./support/redis.ts";
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
