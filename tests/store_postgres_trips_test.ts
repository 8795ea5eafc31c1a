/**
 * The round trips of each verb on PostgreSQL, counted between the client and the server. Some open a connection here, which a running
 * worker has.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Outcome } from "../src/store/port/outcomes.ts";
import { HOUR_MS, jid, job, jobs, register, takeUpTo } from "./store_contract/jobs.ts";
import { startPostgres } from "./support/postgres.ts";
import { emptyPostgresStores } from "./support/postgres_stores.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";
import { assertTrips } from "./support/trips.ts";

const FEW = 10;
const MANY = 300;

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
  "batches.close": 6,
  "batches.admit": 5,
  "batches.count": 4,
  "batches.correct": 4,
  "batches.tend": 3,
  "flows.add": 6,
  "flows.nodes": 1,
  "results.read": 2,
  "classes.declare": 4,
  "classes.read": 1,
  "classes.declarations": 1,
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

/** Outcomes of each kind, of the n-th job. */
const OUTCOMES: Readonly<Record<string, (n: number, token: string) => Outcome>> = {
  sleeping: (n, token) => ({
    ...{ kind: "snooze", token, jid: jid(n), steps: true, delayMs: HOUR_MS, payload: job(n).payload },
  }),
  steps: (n, token) => ({ kind: "ack", token, jid: jid(n), steps: true }),
  batch: (n, token) => ({
    ...{ kind: "ack", token, jid: jid(n), batch: { id: `b${n % 3}`, from: "pending", to: "succeeded" } },
  }),
  unique: (n, token) => ({ kind: "ack", token, jid: jid(n), unlock: `k${n}`, steps: true }),
  record: (n, token) => ({
    ...{ kind: "ack", token, jid: jid(n), record: { jid: jid(n), ttlMs: HOUR_MS, body: "{}" }, steps: true },
  }),
  group: (n, token) => ({ kind: "retry", token, jid: jid(n), steps: true, delayMs: 0, payload: job(n).payload }),
  buried: (n, token) => ({ kind: "bury", token, jid: jid(n), steps: true, payload: job(n).payload }),
  cron: (n, token) => ({ kind: "ack", token, jid: jid(n), occurrence: "e" }),
};

Deno.test("postgres: a settlement of many outcomes sends as many statements as one of few", async (t) => {
  await using postgres = await startPostgres();
  await using proxy = await TcpProxy.start(postgres.port);
  const stores = emptyPostgresStores({ ...postgres, url: (name) => postgres.url(name, proxy.port) });
  for (const [kind, outcomeOf] of Object.entries(OUTCOMES)) {
    await t.step(kind, async () => {
      await using place = await stores.open();
      const { store } = place;
      const worker = await register(store);
      for (const id of ["b0", "b1", "b2"]) {
        await store.batches.create({ id, callbacks: {}, closeWithinMs: HOUR_MS, keepMs: HOUR_MS });
      }
      const more = { jobs: [], awaited: true, records: [], live: jid(5) };
      await store.cron.write([{ name: "e", version: 0, definition: "{}", state: "{}", ...more }]);
      const group = kind === "group" ? { group: "g" } : {};
      await store.jobs.enqueue(jobs(1, FEW + MANY, group));
      const taken = await takeUpTo(store, worker, FEW + MANY);
      assertEquals(taken.length, FEW + MANY);
      const outcomes = taken.map(({ token }, i) => outcomeOf(i + 1, token));
      const tripsOf = async (some: readonly Outcome[]) => {
        const before = proxy.trips;
        assertEquals((await store.jobs.settle(worker, some)).lost, []);
        return proxy.trips - before;
      };
      const few = await tripsOf(outcomes.slice(0, FEW));
      const many = await tripsOf(outcomes.slice(FEW));
      // Lists of texts have 64 at most, and a transaction locks 250 names.
      assert(many <= 2 * few + MANY / 32, `${many} round trips, and ${few} for few`);
    });
  }
  await stores.close();
});
