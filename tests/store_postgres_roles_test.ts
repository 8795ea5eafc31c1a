/**
 * The roles of a schema on PostgreSQL: what each may do, and that processes with such a user run. `jobs schema` creates them.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import driver from "postgres";
import { Client } from "../src/client/client.ts";
import { defineJob, openStore, startServer, StoreError } from "../src/mod.ts";
import { startPostgres } from "./support/postgres.ts";
import { jobs } from "./support/process.ts";

const postgres = await startPostgres();
Deno.test.afterAll(async () => await postgres[Symbol.asyncDispose]());

const KINDS = ["push", "work", "read", "admin"];
const SCHEMA = "crew";
await postgres.sql("CREATE ROLE owner LOGIN CREATEROLE; CREATE ROLE stranger LOGIN");
const name = await postgres.create();
await postgres.sql(`GRANT CREATE ON DATABASE ${name} TO owner`);

/** Returns the address of the store for a user. */
const as = (user: string, database = name) =>
  `${postgres.url(database).replace("postgres@", `${user}@`)}?schema=${SCHEMA}`;

const { code, stdout, stderr } = await jobs(["schema", "--roles", "--store", as("owner")]);
assertEquals([code, stderr], [0, ""]);
assertMatch(stdout, /^The schema of postgres:.* has been migrated\n$/);
await postgres.sql(KINDS.map((kind) => `CREATE ROLE a_${kind} LOGIN IN ROLE ${SCHEMA}_${kind}`).join(";"));

Deno.test("each role may do its part in SQL, and nothing else", async () => {
  const push = `SELECT push('A', queue => 'q', id => gen_random_uuid()::text)`;
  const may: readonly (readonly [text: string, ...roles: string[]])[] = [
    [push, "push", "work", "admin"],
    [`SELECT * FROM push_many('[{"class":"A"}]')`, "push", "work", "admin"],
    [`SELECT enqueue_checked(0, 7, '[]')`, "work", "admin", "read"],
    ["SELECT * FROM job", "work", "read", "admin"],
    ["SELECT * FROM queue", "work", "read", "admin"],
    ["SELECT last_value FROM job_id", "work", "read", "admin"],
    ["SELECT * FROM meta", "push", "work", "read", "admin"],
    ["WITH one AS (INSERT INTO job (id, payload) SELECT -1, '' WHERE false RETURNING 1) SELECT 1", "work", "admin"],
    ["DELETE FROM job WHERE id = -1", "work", "admin"],
    ["UPDATE queue_row SET paused = 0", "work", "admin"],
    ["SELECT nextval('job_id')", "work", "admin"],
    ["SELECT * FROM session", "admin"],
    ["SELECT * FROM session_key", "admin"],
    ["UPDATE meta SET version = 1"],
    ["TRUNCATE job"],
    ["DROP TABLE job"],
    ["CREATE TABLE mine (id int)"],
    ["CREATE OR REPLACE FUNCTION now_ms(ahead bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'"],
    ["SELECT grant_roles()"],
  ];
  for (const kind of [...KINDS, "stranger"]) {
    const url = postgres.url(name).replace("postgres@", kind === "stranger" ? "stranger@" : `a_${kind}@`);
    const sql = driver(url, { max: 1, connection: { search_path: SCHEMA }, onnotice: () => {}, max_lifetime: null });
    for (const [text, ...roles] of may) {
      const result = await sql.unsafe(text).then(() => "", (error) => error.message);
      if (roles.includes(kind)) assertEquals(result, "", `${kind}: ${text}`);
      else assertMatch(result, /permission denied|must be owner|does not exist|no schema/, `${kind}: ${text}`);
    }
    await sql.end();
  }
});

Deno.test("functions that run as the owner, and those of clients, have a fixed search path", async () => {
  const functions = await postgres.sql(
    `SELECT proname, prosecdef, coalesce(array_to_string(proconfig, ','), '') FROM pg_proc
     WHERE pronamespace = '${SCHEMA}'::regnamespace`,
    name,
  );
  const rows = functions.split("\n").map((line) => line.split("|"));
  const path = `search_path=${SCHEMA}, pg_temp`;
  assertEquals(rows.filter(([, definer]) => definer === "t").map(([name]) => name).toSorted(), [
    "mark",
    "push",
    "push_built",
    "push_many",
  ]);
  for (const [name, definer, config] of rows) {
    if (definer === "t" || ["enqueue", "take", "settle", "look", "fold"].includes(name!)) {
      assert(config!.includes(path), `${name}: ${config}`);
    }
  }
});

Deno.test("a client that may only push pushes, with keys, batches' jobs and in bulk", async () => {
  await using store = await openStore(as("a_push"), { create: false });
  const client = new Client({ store, onUnregistered: () => {} });
  const jid = await client.push("A", [1], { queue: "p", id: "p-1" });
  assertEquals(await client.push("A", [1], { queue: "p", id: "p-1" }), jid);
  const results = await client.pushBulk("A", [[1], [2]], { queue: "p", in: "1h" });
  assertEquals(results.map(({ kind }) => kind), ["stored", "stored"]);
  const denied = await assertRejects(() => store.admin.stats(), StoreError);
  assertEquals([denied.code, denied.message.includes("\n")], ["denied", false]);
  await assertRejects(() => store.jobs.find([jid!]), StoreError, "denied");
  assertEquals(await postgres.sql(`SELECT size FROM ${SCHEMA}.queue WHERE name = 'p'`, name), "1");
});

Deno.test("a worker that isn't the owner runs jobs, batches and steps", async () => {
  const Part = defineJob("Part", (ctx) => ctx.step("one", () => 7));
  await using server = await startServer({ store: as("a_work"), jobs: [Part], log: false });
  const batch = await server.client.batch({ success: { class: "Part", args: [] } }, async (add) => {
    await add(Part, [], { unique_for: "1h", group: "g" });
  });
  const jid = await server.client.push(Part, [], { result_ttl: "1h" });
  assertEquals((await server.client.result(jid!))?.result, 7);
  assertEquals((await server.client.batches.wait(batch.id))?.state, "succeeded");
});

Deno.test("a reader reads counts, queues, jobs and health, and changes nothing", async () => {
  await using store = await openStore(as("a_read"), { create: false });
  const queues = (await store.admin.stats()).queues;
  assertEquals(queues.find(({ name }) => name === "p")?.size, 1);
  assertEquals((await store.admin.page({ in: "queue", queue: "p" })).entries.length, 1);
  assertEquals(await store.admin.groups("p"), await store.admin.groups("p"));
  assert((await store.admin.health()).version.startsWith("PostgreSQL"));
  const client = new Client({ store, onUnregistered: () => {} });
  await assertRejects(() => client.push("A", []), StoreError, "denied this user access");
  for (const command of [["stats"], ["queues"], ["list", "queued"], ["workers"], ["doctor"]]) {
    const { stderr } = await jobs([...command, "--store", as("a_read")]);
    assertEquals(stderr, "", command.join(" "));
  }
});

Deno.test("a user who isn't the owner gets one line if the schema has another version, and its owner migrates it", async () => {
  await postgres.sql(`UPDATE ${SCHEMA}.meta SET functions = 0`, name);
  for (const user of ["a_work", "a_push", "a_read"]) {
    const error = await assertRejects(() => openStore(as(user)), StoreError);
    assertEquals(error.code, "denied");
    assertMatch(
      error.message,
      /^[^\n]* has the store of another version in schema crew, .*: let its owner run jobs schema/,
    );
  }
  const stranger = await assertRejects(() => openStore(as("stranger")), StoreError);
  assertMatch(stranger.message, /^[^\n]*(denied|can't change)[^\n]*$/);
  const there = jobs(["schema", "--store", as("owner")]);
  const [one, other] = await Promise.all([there, jobs(["schema", "--store", as("owner")])]);
  assertEquals([one, other].map(({ stdout }) => stdout.replace(/.* (has been|is)/, "$1")).toSorted(), [
    "has been migrated\n",
    "is up to date\n",
  ]);
  await (await openStore(as("a_work")))[Symbol.asyncDispose]();
});

Deno.test("jobs schema --print prints SQL that creates the schema and its roles, and nothing when it is up to date", async () => {
  const empty = await postgres.create();
  await postgres.sql(`GRANT CREATE ON DATABASE ${empty} TO owner`);
  const printed = await jobs(["schema", "--print", "--roles", "--store", as("stranger", empty)]);
  assertEquals([printed.code, printed.stderr], [0, ""]);
  await postgres.sql(`SET SESSION AUTHORIZATION owner; ${printed.stdout}`, empty);
  await using store = await openStore(as("a_work", empty), { create: false });
  assertEquals((await store.admin.stats()).queues, []);
  const again = await jobs(["schema", "--print", "--store", as("owner", empty)]);
  assertEquals([again.code, again.stdout], [0, ""]);
  assertMatch(again.stderr, /^jobs: the schema of postgres:.* is up to date\n$/);
  const sqlite = await jobs(["schema", "--store", "sqlite::memory:"]);
  assertEquals([sqlite.code, sqlite.stderr], [
    1,
    'jobs: Store "sqlite::memory:" has no schema: expected postgres://HOST/DATABASE\n',
  ]);
});
