/**
 * PostgreSQL when connections end in the middle of a verb: each verb is run as if nothing had happened, or is repeated, and
 * nothing is stored twice.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { TestStore } from "./store_contract/harness.ts";
import { until } from "./support/eventually.ts";
import { startPostgres } from "./support/postgres.ts";
import { emptyPostgresStores } from "./support/postgres_stores.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";
import { USUAL_CASES } from "./support/trips.ts";

const server = await startPostgres();
const proxy = await TcpProxy.start(server.port);
const names: string[] = [];
const stores = emptyPostgresStores({
  ...server,
  url: (name) => server.url(name, proxy.port),
  create: async () => {
    names.push(await server.create());
    return names.at(-1)!;
  },
});
Deno.test.afterAll(async () => {
  await stores.close();
  await proxy[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** The traces of a verb: the number of rows of each table, and the counts. Those of the connection itself are left out. */
const LEFT = `SELECT string_agg(what, ' ' ORDER BY what) FROM (
  SELECT tablename || ':' || (xpath('/row/count/text()', query_to_xml('SELECT count(*) FROM jobs.' || tablename, false, true, '')))[1] AS what
    FROM pg_tables WHERE schemaname = 'jobs'
      AND tablename NOT IN ('waiting', 'pusher', 'given_up', 'size_change', 'count_change', 'counter', 'queue_row', 'lease_worker')
  UNION ALL SELECT name || '=' || count FROM jobs.total WHERE count <> 0
  UNION ALL SELECT name || '=' || size FROM jobs.queue WHERE size <> 0) AS one`;
const left = () => server.sql(LEFT, names.at(-1));

/** Runs a verb, and returns what it left, and its round trips. */
async function run(verb: string, disturb: () => void): Promise<readonly [left: string, trips: number]> {
  await using t: TestStore = await stores.open();
  const call = await USUAL_CASES[verb]!(t.store, t);
  const before = proxy.trips;
  disturb();
  await call();
  const trips = proxy.trips - before;
  return [await left(), trips];
}

/** The tables that a verb changes or reads after another one: a backend that waits for it is in the middle of the verb. */
const IN_THE_MIDDLE: Readonly<Record<string, string>> = {
  "jobs.enqueue": "queued",
  "jobs.take": "lease",
  "jobs.settle": "job",
  "jobs.promote": "job",
  "jobs.rescue": "queued",
  "workers.heartbeat": "worker",
  "workers.deregister": "worker",
  "cron.write": "cron",
  "steps.remember": "step",
  "steps.wait": "step_wait",
  "steps.signal": "member",
  "batches.create": "batch",
  "batches.admit": "batch",
  "flows.add": "flow_node",
};

const WITH_SERVER = ["jobs.enqueue", "jobs.take", "jobs.settle", "workers.deregister"];
const WITH_LOST_REPLY = [...Object.keys(IN_THE_MIDDLE), "logs.add", "batches.close", "jobs.edit"];

Deno.test("postgres: a verb whose reply is lost runs once", async () => {
  const wrong: string[] = [];
  for (const verb of WITH_LOST_REPLY) {
    const [usual, trips] = await run(verb, () => {});
    // The last one: that of a function, or of a commit.
    const [lost] = await run(verb, () => proxy.cutReplyOf(trips)).catch((error) => [String(error)]);
    if (lost !== usual) wrong.push(`${verb} without reply ${trips}:\n  ${lost}\n  ${usual}`);
  }
  assertEquals(wrong, []);
});

for (const how of ["its backend", "the server"] as const) {
  Deno.test(`postgres: a verb in whose middle ${how} is killed runs once`, async () => {
    const wrong: string[] = [];
    for (const [verb, table] of Object.entries(IN_THE_MIDDLE)) {
      if (how === "the server" && !WITH_SERVER.includes(verb)) continue;
      const [usual] = await run(verb, () => {});
      await using t = await stores.open();
      const call = await USUAL_CASES[verb]!(t.store, t);
      const name = names.at(-1)!;
      const waits = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
      const locking = server.sql(`BEGIN; LOCK TABLE jobs.${table}; SELECT pg_sleep(60)`, name).catch(() => {});
      const sleeps =
        "FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'BEGIN; LOCK%' AND wait_event = 'PgSleep'";
      await until(async () => await server.sql(`SELECT 1 ${sleeps}`, name) === "1", "the table is locked");
      const called = call();
      await until(async () => await server.sql(`SELECT count(*) ${waits}`, name) !== "0", `${verb} waits for ${table}`);
      if (how === "its backend") await server.sql(`SELECT pg_terminate_backend(pid) ${waits}`, name);
      else {
        await server.kill();
        await server.start();
      }
      await server.sql(`SELECT pg_terminate_backend(pid) ${sleeps}`, name);
      await locking;
      const result = await called.then(left, (error) => String(error));
      if (result !== usual) wrong.push(`${verb}:\n  ${result}\n  ${usual}`);
    }
    assertEquals(wrong, []);
  });
}
