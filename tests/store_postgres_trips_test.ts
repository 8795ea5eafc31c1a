/**
 * The round trips of each verb on PostgreSQL, counted between the client and the server. Some open a connection here, which a running
 * worker has.
 *
 * @module
 */
import { startPostgres } from "./support/postgres.ts";
import { emptyPostgresStores } from "./support/postgres_stores.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";
import { assertTrips } from "./support/trips.ts";

/** The most round trips of each verb in a usual case. */
const TRIPS: Readonly<Record<string, number>> = {
  "jobs.enqueue": 1,
  "jobs.take": 1,
  "jobs.settle": 1,
  "jobs.stillLeased": 1,
  "jobs.promote": 10,
  "jobs.rescue": 14,
  "jobs.hasQueuedJobs": 3,
  "jobs.find": 1,
  "jobs.edit": 44,
  "workers.heartbeat": 5,
  "workers.deregister": 6,
  "workers.list": 2,
  "workers.note": 2,
  "workers.claim": 6,
  "workers.send": 3,
  "workers.collect": 3,
  "cron.read": 2,
  "cron.page": 2,
  "cron.survey": 3,
  "cron.claim": 3,
  "cron.replan": 9,
  "cron.write": 11,
  "logs.add": 5,
  "logs.page": 1,
  "series.add": 5,
  "series.read": 3,
  "steps.read": 1,
  "steps.remember": 1,
  "steps.wait": 6,
  "steps.signal": 5,
  "steps.waits": 1,
  "steps.clear": 3,
  "streams.append": 8,
  "streams.read": 4,
  "batches.create": 5,
  "batches.read": 1,
  "batches.close": 5,
  "batches.admit": 5,
  "batches.count": 4,
  "batches.correct": 4,
  "batches.tend": 3,
  "flows.add": 6,
  "flows.nodes": 1,
  "results.read": 2,
  "classes.declare": 4,
  "classes.read": 1,
  "webhooks.declare": 4,
  "webhooks.read": 1,
  "events.keep": 12,
  "events.last": 3,
  "events.read": 1,
  "admin.stats": 8,
  "admin.health": 4,
  "admin.page": 1,
  "admin.get": 10,
  "admin.configure": 7,
  "admin.groups": 23,
  "sessions.key": 6,
  "sessions.keep": 4,
  "sessions.isLive": 1,
  "transfer.mark": 5,
  "transfer.read": 10,
  "transfer.put": 8,
  "transfer.drop": 56,
};

Deno.test("postgres: each verb takes a bounded number of round trips", async () => {
  await using postgres = await startPostgres();
  await using proxy = await TcpProxy.start(postgres.port);
  const stores = emptyPostgresStores({ ...postgres, url: (name) => postgres.url(name, proxy.port) });
  await assertTrips(TRIPS, stores.open, proxy);
  await stores.close();
});
