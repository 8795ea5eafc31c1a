/**
 * The schema of a store on PostgreSQL next to the objects of others: of an application, an administrator, a publication.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { openStore, StoreError } from "../src/mod.ts";
import { parseAddress } from "../src/store/postgres/address.ts";
import { Client } from "../src/store/postgres/client.ts";
import { SIGNATURES, TABLES } from "../src/store/postgres/objects.ts";
import { Upkeep } from "../src/store/postgres/upkeep.ts";
import { Vacuum } from "../src/store/postgres/vacuum.ts";
import { outboxSql } from "../src/store/open_outbox.ts";
import { printSchema } from "../src/store/open_schema.ts";
import { jobs as newJobs } from "./store_contract/jobs.ts";
import { startPostgres } from "./support/postgres.ts";
import { jobs } from "./support/process.ts";

const postgres = await startPostgres({ config: { wal_level: "logical", max_prepared_transactions: "5" } });
Deno.test.afterAll(async () => await postgres[Symbol.asyncDispose]());

/** Returns the privileges of all roles on the objects of a schema that aren't the store's. */
const PRIVILEGES = `SELECT string_agg(one, ' ' ORDER BY one) FROM (
  SELECT relname || coalesce(relacl::text, '') AS one FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname LIKE 'app%'
  UNION ALL
  SELECT proname || coalesce(proacl::text, '') FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname LIKE 'app%') AS all_of`;

Deno.test("a store in the schema of an application changes no privilege of the application's objects", async () => {
  const name = await postgres.create();
  const url = `${postgres.url(name)}?schema=public`;
  await postgres.sql(
    `CREATE ROLE reader LOGIN; CREATE ROLE public_read; CREATE ROLE public_work;
     CREATE TABLE app_order (id serial PRIMARY KEY);
     CREATE FUNCTION app_total(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1';
     CREATE FUNCTION app_own(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1';
     CREATE PROCEDURE app_close() LANGUAGE sql AS 'SELECT 1';
     REVOKE EXECUTE ON FUNCTION app_own FROM PUBLIC; GRANT EXECUTE ON FUNCTION app_own TO public_read;
     GRANT SELECT ON app_order TO public_work`,
    name,
  );
  const before = await postgres.sql(PRIVILEGES, name);
  await (await openStore(url))[Symbol.asyncDispose]();
  const migrate = async () => {
    await postgres.sql("UPDATE public.meta SET functions = 0", name);
    const { code, stderr } = await jobs(["schema", "--roles", "--store", url]);
    assertEquals([code, stderr], [0, ""]);
  };
  await migrate();
  // Of an application that adds one later, which has the name of the store's.
  await postgres.sql("CREATE FUNCTION app_late() RETURNS integer LANGUAGE sql AS 'SELECT 1'", name);
  await postgres.sql("CREATE FUNCTION mark(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1'", name);
  await migrate();
  assertEquals(await postgres.sql(PRIVILEGES, name), `${before} app_late`.split(" ").toSorted().join(" "));
  assertEquals(await postgres.sql("SET ROLE reader; SELECT app_total(1), mark(1)", name), "1|1");
  await assertRejects(() => postgres.sql("SET ROLE reader; SELECT now_ms(0)", name), Error, "permission denied");
  await assertRejects(() => postgres.sql("SET ROLE public_read; SELECT * FROM app_order", name), Error, "denied");
  assertEquals(await postgres.sql("SET ROLE public_read; SELECT count(*) FROM job", name), "0");
});

Deno.test("vacuums and reports no table of an application in its schema", async () => {
  const name = await postgres.create();
  const url = `${postgres.url(name)}?schema=public`;
  await postgres.sql("CREATE TABLE orders (id integer) WITH (autovacuum_vacuum_threshold = 100)", name);
  await using store = await openStore(url);
  const { deadRows } = await store.admin.health();
  assertEquals(Object.keys(deadRows!.tables).includes("orders"), false);
  const client = await Client.create(parseAddress(url), { waitMs: 10_000 });
  const late = await new Vacuum(client, new Upkeep(() => {})).run({ deadRows: -1, lateMs: 0, heldMs: 3_600_000 });
  await client.close();
  assertEquals([late.includes("job"), late.includes("orders")], [true, false]);
});

Deno.test("refuses a schema with an object of another program that has the name of one of the store's", async () => {
  const cases: readonly (readonly [sql: string, named: string])[] = [
    ["CREATE TABLE meta (name text, version integer)", 'table "meta"'],
    ["CREATE TABLE session (id integer)", 'table "session"'],
    ["CREATE VIEW queue AS SELECT 1 AS one", 'view "queue"'],
    ["CREATE TYPE event AS ENUM ('a')", 'type "event"'],
    ["CREATE FUNCTION take(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1'", "function take(integer)"],
    ["CREATE SEQUENCE job_id; CREATE TABLE log (); CREATE TABLE step (); CREATE TABLE start ()", " and 1 more"],
  ];
  for (const [sql, named] of cases) {
    const name = await postgres.create();
    await postgres.sql(sql, name);
    const url = `${postgres.url(name)}?schema=public`;
    for (
      const open of [
        () => openStore(url),
        () => openStore(url, { create: false }),
        () => printSchema(url, { roles: false }),
      ]
    ) {
      const error = await assertRejects(open, StoreError);
      if (error.code === "missing") continue; // Without `create`, only a `meta` is looked at.
      assertEquals(error.code, "wrong");
      assertMatch(
        error.message,
        /^Schema public at "postgres:[^\n]* of another program: name a schema for the store, such as \?schema=jobs$/,
      );
      assert(error.message.includes(named), error.message);
    }
    assertEquals(await postgres.sql("SELECT to_regclass('public.queued') IS NULL", name), "t");
  }
});

Deno.test("each table has a primary key, and a store works under a publication for all tables", async () => {
  const name = await postgres.create();
  await postgres.sql("CREATE PUBLICATION everything FOR ALL TABLES", name);
  const url = postgres.url(name);
  const complaints: string[] = [];
  await using store = await openStore(url, { log: (_, message) => complaints.push(message) });
  const keyed = await postgres.sql(
    `SELECT relname FROM pg_class WHERE relnamespace = 'jobs'::regnamespace AND relkind = 'r'
     AND EXISTS (SELECT FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary)`,
    name,
  );
  assertEquals(keyed.split("\n").toSorted(), TABLES.toSorted());
  await store.jobs.enqueue(newJobs(1, 3));
  const taken = await store.jobs.take({ queues: ["default"], limit: 2, worker: "w" });
  await store.jobs.settle("w", taken.map(({ token }) => ({ kind: "ack", token })));
  assertEquals((await store.admin.stats()).enqueued, 1);
  await store.admin.configure("default", { pause: true });
  const [left] = (await postgres.sql("SELECT count(*) FROM jobs.size_change", name)).split("\n");
  assertEquals([left, complaints], ["0", []]);
});

Deno.test("upkeep that fails is logged once, and found by health, while counts stay right", async () => {
  const name = await postgres.create();
  await (await openStore(postgres.url(name)))[Symbol.asyncDispose]();
  const complaints: string[] = [];
  await using store = await openStore(postgres.url(name), { log: (_, message) => complaints.push(message) });
  await postgres.sql(
    `CREATE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''not today''; END';
     CREATE TRIGGER refused BEFORE DELETE ON jobs.size_change FOR EACH STATEMENT EXECUTE FUNCTION refused()`,
    name,
  );
  await store.jobs.enqueue(newJobs(1, 3));
  for (let i = 0; i < 2; i++) assertEquals((await store.admin.stats()).enqueued, 3);
  const { findings } = await store.admin.health();
  assertMatch(findings[0]!.message, /^the upkeep of the store fails: the fold of sizes: .*not today/);
  assertEquals(complaints.length, 1);
  assertMatch(complaints[0]!, /^The upkeep of the store fails: the fold of sizes: [^\n]*not today[^\n]*$/);
  await postgres.sql("DROP TRIGGER refused ON jobs.size_change", name);
  assertEquals((await store.admin.health()).findings, []);
});

Deno.test("the owner of a schema who may create none sets up the store, and others get the statement that lets them", async () => {
  const name = await postgres.create();
  await postgres.sql("CREATE ROLE app LOGIN; CREATE SCHEMA jobs AUTHORIZATION app", name);
  const as = (user: string, schema = "jobs") =>
    `${postgres.url(name).replace("postgres@", `${user}@`)}?schema=${schema}`;
  const printed = await printSchema(as("app"), { roles: false });
  await postgres.sql(
    `BEGIN; SET SESSION AUTHORIZATION app; ${printed!.replace(/BEGIN;|COMMIT;/g, "")}; ROLLBACK`,
    name,
  );
  await (await openStore(as("app")))[Symbol.asyncDispose]();

  const noSchema = await assertRejects(() => openStore(as("app", "other")), StoreError);
  assertEquals(noSchema.code, "denied");
  assertMatch(
    noSchema.message,
    /^"[^"]*" has no schema other, and user app may not create it. As an administrator: CREATE SCHEMA other AUTHORIZATION "app", or GRANT CREATE ON DATABASE "t\d+" TO "app"$/,
  );
  const cli = await jobs(["schema", "--store", as("app", "other")]);
  assertEquals([cli.code, cli.stderr], [1, `jobs: ${noSchema.message}\n`]);

  await postgres.sql("CREATE SCHEMA closed; GRANT USAGE ON SCHEMA closed TO app", name);
  const noTables = await assertRejects(() => openStore(as("app", "closed")), StoreError);
  assertMatch(
    noTables.message,
    /^"[^"]*" has no store in schema closed, where user app may not create one: .*GRANT CREATE ON SCHEMA closed TO "app"$/,
  );
  await postgres.sql("GRANT CREATE ON SCHEMA closed TO app", name);
  await (await openStore(as("app", "closed")))[Symbol.asyncDispose]();

  const roles = await jobs(["schema", "--roles", "--store", as("app")]);
  assertMatch(
    roles.stderr,
    /^jobs: User app of "[^"]*" may not create roles: ALTER ROLE "app" CREATEROLE, or run jobs schema without --roles\n$/,
  );
});

Deno.test("names each function of the store exactly", async () => {
  const name = await postgres.create();
  await (await openStore(postgres.url(name)))[Symbol.asyncDispose]();
  const known = await postgres.sql("SELECT count(*) FROM pg_proc WHERE pronamespace = 'jobs'::regnamespace", name);
  assertEquals(Number(known), SIGNATURES.length);
});

Deno.test("with jobs.notify = off a transaction that pushes can be prepared, also while workers wait", async () => {
  const name = await postgres.create();
  await (await openStore(postgres.url(name)))[Symbol.asyncDispose]();
  await postgres.sql(`SET search_path = public; ${await outboxSql()}`, name);
  await postgres.sql(
    "INSERT INTO jobs.waiting SELECT topic, 1, 9e15 FROM unnest(ARRAY['work:default', 'due']) AS topic",
    name,
  );
  const pushes = `SELECT jobs.push('A'), jobs.push('A', in_ms => 1000), jobs_outbox_push('A')`;
  const prepare = (set: string, as: string) =>
    postgres.sql(`BEGIN; ${set} ${pushes}; PREPARE TRANSACTION '${as}'`, name);
  await assertRejects(() => prepare("", "loud"), Error, "LISTEN");
  await prepare("SET LOCAL jobs.notify = off;", "quiet");
  await postgres.sql("COMMIT PREPARED 'quiet'", name);
  assertEquals(await postgres.sql("SELECT count(*) FROM jobs.job", name), "2");
});
