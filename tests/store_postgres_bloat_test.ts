/**
 * Dead rows of PostgreSQL: what keeps them is named, with the statement that ends it, and late ones are vacuumed.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import postgres from "postgres";
import { Client as JobClient } from "../src/client/client.ts";
import { Crontab } from "../src/client/crontab.ts";
import { type Clock, systemClock } from "../src/clock.ts";
import { setFields } from "../src/job/raw.ts";
import { openStore } from "../src/store/open.ts";
import { parseAddress } from "../src/store/postgres/address.ts";
import type { Outcome } from "../src/store/port/outcomes.ts";
import { Client } from "../src/store/postgres/client.ts";
import { DIALECT, Runner } from "../src/store/postgres/engine.ts";
import { health } from "../src/store/postgres/health.ts";
import { Upkeep } from "../src/store/postgres/upkeep.ts";
import { Vacuum } from "../src/store/postgres/vacuum.ts";
import { entriesWithJid } from "../src/store/sql/entries.ts";
import { jid, job, jobs, register, takeUpTo } from "./store_contract/jobs.ts";
import { schedulerOf } from "./support/cron_lab.ts";
import { until } from "./support/eventually.ts";
import { startPostgres } from "./support/postgres.ts";

const server = await startPostgres({ config: { autovacuum: "off", max_prepared_transactions: "2" } });
Deno.test.afterAll(async () => await server[Symbol.asyncDispose]());

/** A new store, and a client of its database. */
async function open() {
  const name = await server.create();
  const url = server.url(name);
  const stack = new AsyncDisposableStack();
  const store = stack.use(await openStore(url));
  const client = await Client.create(parseAddress(url), { waitMs: 0 });
  stack.defer(() => client.close());
  const runner = new Runner(client, systemClock);
  /** Opens a session of an application. */
  const session = (application: string) => {
    const sql = postgres(url, {
      max: 1,
      fetch_types: false,
      connection: { application_name: application },
      onclose: () => {},
    });
    stack.defer(() => sql.end({ timeout: 1 }).catch(() => {}));
    return sql;
  };
  return {
    ...{ name, store, client, session },
    held: async (maxAgeMs: number) =>
      (await health(runner, true, maxAgeMs)).findings.filter(({ message }) => !message.startsWith("autovacuum")),
    deadRows: async () => (await health(runner, true)).deadRows!,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

Deno.test("finds a job by its jid with a plan that isn't compiled, before the tables have statistics", async () => {
  await using place = await open();
  const { store } = place;
  await store.jobs.enqueue(jobs(1, 1));
  const sql = place.session("test");
  await sql`SET search_path = jobs`;
  const many = "generate_series(1000000, 1300000) AS n";
  await sql.unsafe(`INSERT INTO job (id, jid, payload) SELECT n, n, '{}' FROM ${many}`);
  await sql.unsafe(`INSERT INTO queued (queue, job) SELECT (SELECT min(id) FROM queue_row), n FROM ${many}`);
  const text = entriesWithJid(DIALECT).replace("?1", "$1");
  const [explained] = await sql.unsafe(`EXPLAIN (FORMAT JSON) ${text}`, ["x"]);
  const [{ Plan: { "Total Cost": cost } }] = explained!["QUERY PLAN"];
  const [limit] = await sql`SELECT current_setting('jit_above_cost') AS cost`;
  assert(cost < Number(limit!["cost"]), `cost ${cost}, compiled from ${limit!["cost"]} on`);
  assertEquals((await store.jobs.find([jid(1)])).length, 1);
});

/** Returns how much of a table was read, when all sessions have ended: they report it then. */
async function readOf(database: string, table: string, column: string): Promise<number> {
  const sessions =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
  await until(async () => await server.sql(sessions, database) === "0", () => "the sessions have ended");
  return Number(await server.sql(`SELECT ${column} FROM pg_stat_user_tables WHERE relname = '${table}'`, database));
}

Deno.test("names the session that keeps dead rows, idle after a write, and the statement that ends it", async () => {
  await using place = await open();
  const sql = place.session("shop");
  await sql`CREATE TABLE orders (id integer)`;
  const [{ pid }] = await sql`SELECT pg_backend_pid() AS pid` as unknown as [{ pid: number }];
  // It has no snapshot any more, but a transaction ID.
  await sql.unsafe("BEGIN; INSERT INTO orders VALUES (1)");
  await sql.unsafe("SELECT 'the latest statement', pg_sleep(0.05)");
  const { horizonAgeMs } = await place.deadRows();
  assert(horizonAgeMs >= 50, `${horizonAgeMs}`);
  assertEquals(await place.held(60_000), []);
  const [finding, ...others] = await place.held(49);
  assertEquals(others, []);
  assertMatch(
    finding!.message,
    new RegExp(
      String.raw`^session ${pid} \(shop, idle in transaction for \d+ s\): .*SELECT.* it has kept dead rows for \d+ s`,
      "i",
    ),
  );
  assertEquals(finding!.cure, `SELECT pg_terminate_backend(${pid})`);
  await server.sql(finding!.cure, place.name);
  await until(async () => (await place.held(0)).length === 0, () => "nothing keeps dead rows");
  assertEquals((await place.deadRows()).horizonAgeMs, 0);
});

Deno.test("names a prepared transaction", async () => {
  await using place = await open();
  await server.sql("BEGIN; CREATE TABLE one (id integer); PREPARE TRANSACTION 'it''s'", place.name);
  const [finding] = await place.held(0);
  assertMatch(finding!.message, /^prepared transaction it's: it has kept dead rows for/);
  assertEquals(finding!.cure, "ROLLBACK PREPARED 'it''s'");
  await server.sql(finding!.cure, place.name);
  assertEquals(await place.held(0), []);
});

Deno.test("vacuums the tables with many dead rows that autovacuum has left, if nothing keeps these", async () => {
  await using place = await open();
  const { name, client, session } = place;
  const bounds = { deadRows: 999, lateMs: 0, heldMs: 0 };
  const vacuum = new Vacuum(client, new Upkeep(() => {}));
  await server.sql(
    "INSERT INTO jobs.queued SELECT 1, i FROM generate_series(1, 1000) i; DELETE FROM jobs.queued",
    name,
  );
  await server.sql(
    "INSERT INTO jobs.lease SELECT i, 1, 1, 1, 1 FROM generate_series(1, 999) i; DELETE FROM jobs.lease",
    name,
  );
  await until(async () => (await place.deadRows()).tables["queued"] === 1_000, () => "they are counted");
  const holder = session("report");
  await holder.unsafe("BEGIN; CREATE TABLE one (id integer)");
  assertEquals(await vacuum.run(bounds), []);
  await holder.unsafe("ROLLBACK");
  await until(async () => (await place.held(0)).length === 0, () => "nothing keeps dead rows");
  assertEquals(await vacuum.run(bounds), ["queued"]);
  const { tables } = await place.deadRows();
  assertEquals([tables["queued"], tables["lease"]], [0, 999]);
  assertEquals(await vacuum.run({ ...bounds, deadRows: 998, lateMs: 60_000 }), ["lease"]);
  assertEquals(
    await vacuum.run({ ...bounds, deadRows: -1, lateMs: 60_000 }).then((all) => all.includes("queued")),
    false,
  );
  await vacuum.close();
});

Deno.test("says that autovacuum is off, and has settings of it for the tables whose rows don't stay", async () => {
  await using place = await open();
  const { tables } = await place.deadRows();
  assertEquals(Object.keys(tables), ["count_change", "job", "lease", "member", "queued", "size_change"]);
  const { findings } = await place.store.admin.health();
  assertEquals(findings.map(({ message }) => message), [
    "autovacuum of PostgreSQL is off: dead rows slow down each take",
  ]);
});

Deno.test("24 hours of cron runs, records and retries leave the tables as large as the first six", async () => {
  const name = await server.create();
  let ahead = 0;
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + ahead,
    monotonic: () => systemClock.monotonic() + ahead,
  };
  await using store = await openStore(server.url(name), { clock });
  const { scheduler } = schedulerOf(store, clock);
  const crontab = new Crontab({ store, client: new JobClient({ store, clock, onUnregistered: () => {} }) });
  await crontab.addMany(
    Array.from({ length: 40 }, (_, i) => ({ name: `customer-${i}`, rule: `${i % 30}/30 * * * *`, class: "Report" })),
  );
  const worker = "host:1:aaaaaaaaaaaa";
  let [ended, retried] = [0, 0];
  /** Half an hour: what is due is enqueued, taken, and ends, one of ten by its second attempt. */
  const half = async () => {
    ahead += 30 * 60_000;
    await register(store, worker);
    await scheduler.step();
    await store.jobs.promote(1_000);
    for (;;) {
      const leases = await takeUpTo(store, worker, 100);
      if (leases.length === 0) return;
      const outcomes = leases.map(({ token, payload }, i): Outcome => {
        const { jid, occurrence, retry_count } = JSON.parse(payload);
        if (i % 10 === 0 && retry_count === undefined) {
          retried++;
          return { kind: "retry", token, delayMs: 60_000, payload: setFields(payload, { retry_count: "0" }) };
        }
        ended++;
        const record = { jid, ttlMs: 3_600_000, body: `{"jid":"${jid}","value":"${"x".repeat(200)}"}` };
        return { kind: "ack", token, jid, occurrence: occurrence.name, record };
      });
      await store.jobs.settle(worker, outcomes);
    }
  };
  const sizesAfter = async (hours: number) => {
    for (let hour = 0; hour < hours; hour++) {
      await half();
      await half();
      await server.sql("VACUUM", name); // as autovacuum does each minute
    }
    // Not of `log`, which is bounded by its number of records, and of `pusher`, whose hour is the server's.
    const sizes = await server.sql(
      `SELECT json_object_agg(relname, pg_total_relation_size(oid)) FROM pg_class
       WHERE relnamespace = 'jobs'::regnamespace AND relkind = 'r' AND relname NOT IN ('log', 'pusher')`,
      name,
    );
    return JSON.parse(sizes) as Record<string, number>;
  };
  const early = await sizesAfter(6);
  const late = await sizesAfter(18);
  assert(ended > 1_000 && retried > 100, `${ended} ended, ${retried} were retried`);
  for (const [table, bytes] of Object.entries(late)) {
    assert(bytes <= early[table]! + 65_536, `${table}: ${early[table]} bytes after 6 hours, ${bytes} after 24`);
  }
});

Deno.test("takes find their groups by an index, also with plans that were made for a few groups", async () => {
  const name = await server.create();
  const url = server.url(name);
  const pushTo = async (groups: readonly number[]) => {
    await using pusher = await openStore(url);
    await pusher.jobs.enqueue(groups.map((n) => {
      const group = `g${n}`;
      return job(n, { group, payload: setFields(job(n).payload, { group: `"${group}"` }) });
    }));
  };
  {
    await using store = await openStore(url);
    const worker = await register(store);
    const take = async () => assertEquals((await takeUpTo(store, worker, 1)).length, 1);
    await pushTo(Array.from({ length: 30 }, (_, i) => i % 3));
    for (let i = 0; i < 10; i++) await take();
    await pushTo(Array.from({ length: 1_000 }, (_, i) => 100 + i));
    for (let i = 0; i < 10; i++) await take();
  }
  // A session reports what it has read when it ends.
  const sessions =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
  await until(async () => await server.sql(sessions, name) === "0", () => "the sessions have ended");
  const read = "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'queue_row'";
  const rows = Number(await server.sql(read, name));
  assert(rows < 1_000, `${rows} rows of queues and groups were read without an index`);
});

Deno.test("a search reads each queue once, not once for each job that it finds", async () => {
  const name = await server.create();
  {
    await using store = await openStore(server.url(name));
    await store.jobs.enqueue(Array.from({ length: 300 }, (_, i) => job(i, { queue: `q${i}` })));
    assertEquals((await store.jobs.find({ text: "HardJob", limit: 1_000 })).length, 300);
  }
  const reads = await readOf(name, "queued", "seq_scan + idx_scan");
  assert(reads < 3_000, `${reads} reads`);
});
