/**
 * The round trips of each verb on Redis, counted between the client and the server.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { SCRIPTS } from "../src/store/redis/client/scripts.ts";
import { verbsInCode } from "./support/port_verbs.ts";
import { startRedis } from "./support/redis.ts";
import { emptyRedisStores } from "./support/redis_stores.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";
import { assertTrips } from "./support/trips.ts";

/** The most round trips of each verb in a usual case. */
const TRIPS: Readonly<Record<string, number>> = {
  "jobs.enqueue": 1,
  "jobs.take": 1,
  "jobs.settle": 1,
  "jobs.stillLeased": 1,
  "jobs.promote": 2,
  "jobs.rescue": 2,
  "jobs.hasQueuedJobs": 1,
  "jobs.find": 11,
  "jobs.edit": 3,
  "workers.heartbeat": 1,
  "workers.deregister": 1,
  "workers.list": 2,
  "workers.note": 1,
  "workers.claim": 1,
  "workers.send": 1,
  "workers.collect": 2,
  "cron.read": 1,
  "cron.page": 1,
  "cron.survey": 1,
  "cron.claim": 1,
  "cron.replan": 1,
  "cron.write": 1,
  "logs.add": 2,
  "logs.page": 1,
  "series.add": 2,
  "series.read": 10,
  "steps.read": 1,
  "steps.remember": 1,
  "steps.wait": 1,
  "steps.signal": 1,
  "steps.waits": 1,
  "steps.clear": 1,
  "streams.append": 1,
  "streams.read": 1,
  "batches.create": 1,
  "batches.read": 1,
  "batches.close": 1,
  "batches.admit": 1,
  "batches.count": 1,
  "batches.correct": 1,
  "batches.tend": 1,
  "flows.add": 1,
  "flows.nodes": 2,
  "results.read": 1,
  "classes.declare": 1,
  "classes.read": 1,
  "classes.declarations": 1,
  "webhooks.declare": 1,
  "webhooks.read": 1,
  "events.keep": 1,
  "events.last": 1,
  "events.read": 1,
  "admin.stats": 1,
  "admin.health": 2,
  "admin.page": 1,
  "admin.get": 1,
  "admin.configure": 2,
  "admin.groups": 8,
  "sessions.key": 2,
  "sessions.keep": 1,
  "sessions.isLive": 1,
  "transfer.mark": 1,
  "transfer.read": 1,
  "transfer.put": 1,
  "transfer.drop": 2,
};

Deno.test("redis: each verb takes a bounded number of round trips", async () => {
  await using redis = await startRedis();
  await using proxy = await TcpProxy.start(redis.port);
  const open = await emptyRedisStores({
    url: `redis://127.0.0.1:${proxy.port}/0`,
    cli: (...args) => redis.cli(...args),
  });
  // A script that the server doesn't have takes another round trip.
  for (const { text } of Object.values(SCRIPTS)) await redis.cli("SCRIPT", "LOAD", text);
  await assertTrips(TRIPS, open, proxy);
});

Deno.test("redis: each verb of the port has a bound, and its documentation says if that isn't one round trip", async () => {
  // Redis has no index of the members of batches.
  const verbs = (await verbsInCode()).filter(({ part, verb }) => `${part}.${verb}` !== "admin.members");
  assertEquals(Object.keys(TRIPS).sort(), verbs.map(({ part, verb }) => `${part}.${verb}`).sort());
  const silent = verbs.filter(({ part, verb, doc }) => TRIPS[`${part}.${verb}`]! > 1 && !/round\s+trip/.test(doc));
  assertEquals(silent.map(({ part, verb }) => `${part}.${verb}`), []);
});
