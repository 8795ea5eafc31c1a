/**
 * The round trips of each verb on PostgreSQL, counted between the client and the server. Each statement takes a second
 * one when a connection sends it for the first time, and a connection is opened, as here: in a running worker, the hot verbs take one.
 *
 * @module
 */
import { startPostgres } from "./support/postgres.ts";
import { emptyPostgresStores } from "./support/postgres_stores.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";
import { assertTrips } from "./support/trips.ts";

/** The most round trips of each verb in a usual case. */
const TRIPS: Readonly<Record<string, number>> = {
  "jobs.enqueue": 2,
  "jobs.take": 2,
  "jobs.settle": 2,
  "jobs.stillLeased": 2,
  "jobs.promote": 19,
  "jobs.rescue": 35,
  "jobs.hasQueuedJobs": 6,
  "jobs.find": 2,
  "jobs.edit": 52,
  "workers.heartbeat": 12,
  "workers.deregister": 15,
  "workers.list": 3,
  "workers.note": 4,
  "workers.claim": 12,
  "workers.send": 6,
  "workers.collect": 4,
  "cron.read": 4,
  "cron.page": 4,
  "cron.survey": 4,
  "cron.claim": 4,
  "cron.replan": 18,
  "cron.write": 22,
  "logs.add": 6,
  "logs.page": 2,
  "series.add": 12,
  "series.read": 6,
  "steps.read": 2,
  "steps.remember": 4,
  "steps.wait": 12,
  "steps.signal": 15,
  "steps.waits": 2,
  "steps.clear": 6,
  "streams.append": 16,
  "streams.read": 8,
  "batches.create": 10,
  "batches.read": 2,
  "batches.close": 15,
  "batches.admit": 12,
  "batches.count": 5,
  "batches.correct": 5,
  "batches.tend": 4,
  "flows.add": 11,
  "flows.nodes": 2,
  "results.read": 4,
  "classes.declare": 8,
  "classes.read": 1,
  "webhooks.declare": 6,
  "webhooks.read": 1,
  "events.keep": 20,
  "events.last": 4,
  "events.read": 2,
  "admin.stats": 10,
  "admin.health": 4,
  "admin.page": 1,
  "admin.get": 11,
  "admin.configure": 16,
  "admin.groups": 36,
  "sessions.key": 8,
  "sessions.keep": 12,
  "sessions.isLive": 2,
  "transfer.mark": 9,
  "transfer.read": 11,
  "transfer.put": 21,
  "transfer.drop": 66,
};

Deno.test("postgres: each verb takes a bounded number of round trips", async () => {
  await using postgres = await startPostgres();
  await using proxy = await TcpProxy.start(postgres.port);
  const stores = emptyPostgresStores({ ...postgres, url: (name) => postgres.url(name, proxy.port) });
  await assertTrips(TRIPS, stores.open, proxy);
  await stores.close();
});
