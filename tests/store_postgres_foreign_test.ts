/**
 * A store in PostgreSQL databases of other people: a share of the contract, a worker with cron, and pushes in a transaction.
 * `store_postgres_foreign_long_test.ts` has the rest of the contract.
 *
 * @module
 */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import driver from "postgres";
import { Client } from "../src/client/client.ts";
import { jsonArgs } from "../src/job/json_args.ts";
import { defineCron, defineJob, openStore, startServer, StoreError } from "../src/mod.ts";
import { storeContract } from "./store_contract/mod.ts";
import { until } from "./support/eventually.ts";
import { foreignDatabases, ODD_SETTINGS } from "./support/foreign_databases.ts";
import { startPooler } from "./support/pgbouncer.ts";
import { startPostgres } from "./support/postgres.ts";
import { emptyPostgresStores } from "./support/postgres_stores.ts";

const postgres = await startPostgres({ config: { wal_level: "logical" } });
const databases = await foreignDatabases(postgres);
const logs = await Deno.makeTempDir();
const closes: (() => Promise<void>)[] = [];
Deno.test.afterAll(async () => {
  for (const close of closes) await close();
  await postgres[Symbol.asyncDispose]();
  await Deno.remove(logs, { recursive: true });
});

for (const [what, surroundings] of Object.entries(databases)) {
  const { open, close } = emptyPostgresStores(postgres, { keepsConnections: true, ...surroundings });
  closes.push(close);
  storeContract(what, open, ["settle"]);

  Deno.test(`${what}: a worker runs cron, and jobs that transactions have pushed`, async () => {
    const name = await postgres.create();
    await surroundings.prepare?.(name);
    const url = surroundings.url?.(name) ?? postgres.url(name);
    const log = `${logs}/${name}`;
    const ran: unknown[] = [];
    const Note = defineJob("Note", (_, value: unknown) => void ran.push(value));
    const tick = defineCron({ name: "tick", every: "1s", class: "Note", args: ["tick"] });
    await using server = await startServer({
      store: url,
      jobs: [Note],
      cron: [tick],
      log: { level: "warn", format: "json", file: log },
    });
    const schema = surroundings.schema ?? "jobs";
    const sql = driver(url.split("?")[0]!, { max: 1, fetch_types: false, onnotice: () => {} });
    await sql.begin(async (transaction) => {
      const push = `SELECT ${schema}.push('Note', $1::text::json, at => now(), id => 'one')`;
      await transaction.unsafe(push, [JSON.stringify(["sql \0 1.5"])]);
      await server.client.push(Note, ["client"], { transaction, unique_for: "1h" });
    });
    await sql.begin(async (transaction) => {
      await transaction.unsafe(`SELECT ${schema}.push('Note', '["undone"]')`);
      throw new Error("undone");
    }).catch(() => {});
    await sql.end();
    await until(() => new Set(ran).size === 3 && ran.filter((one) => one === "tick").length >= 2, () => `${ran}`);
    assertEquals(new Set(ran), new Set(["tick", "client", "sql \0 1.5"]));
    assertEquals(await Deno.readTextFile(log), "");
  });
}

Deno.test("a push by SQL means the same in a session with any settings", async () => {
  const name = await postgres.create();
  await (await openStore(postgres.url(name)))[Symbol.asyncDispose]();
  const push = `SELECT jobs.push('A', '[1.5, "a\\\\b", "\\u0041"]', unique_for => '90s', tags => ARRAY['x'],
    at => '2030-01-02T03:04:05.678Z', options => '{"timeout": "1.5s", "backoff": {"type": "linear", "base": "1s"}}')`;
  const payload = "SELECT payload::jsonb - 'jid' - 'created_at' FROM jobs.job ORDER BY id DESC LIMIT 1";
  const at = "SELECT at FROM jobs.member ORDER BY job DESC LIMIT 1";
  const clear = "DELETE FROM jobs.unique_lock";
  await postgres.sql(push, name);
  const expected = await postgres.sql(`${payload}; ${at}; ${clear}`, name);
  for (const [setting, value] of [...Object.entries(ODD_SETTINGS), ["TimeZone", "Africa/Monrovia"]]) {
    const set = `SET ${setting} = '${value}'`;
    // The literals of the test itself have to keep their meaning.
    const text = setting === "standard_conforming_strings" ? push.replaceAll("\\", "\\\\") : push;
    const sql = driver(postgres.url(name), { max: 1, fetch_types: false, onnotice: () => {} });
    await sql.unsafe(set);
    await sql.unsafe(text);
    await sql.end();
    assertEquals(await postgres.sql(`${payload}; ${at}; ${clear}`, name), expected, set);
  }
  assertMatch(expected, /"\\\\b"|a\\\\b/);
});

Deno.test("a pooler whose sessions have settings that a store can't use is refused with the statement that mends it", async () => {
  await using pooler = await startPooler(postgres, 3);
  const name = await postgres.create();
  await postgres.sql(`ALTER DATABASE ${name} SET array_nulls = off`);
  const error = await assertRejects(() => openStore(postgres.url(name, pooler.port)), StoreError);
  assertEquals(error.code, "wrong");
  assertMatch(
    error.message,
    /^User postgres at "[^"]*" has settings that a store can't use, and a pooler keeps them: ALTER ROLE "postgres" SET array_nulls = 'on'$/,
  );
});

Deno.test("a push by SQL keeps NUL and U+10FFFE, with which stored texts are escaped", async () => {
  const name = await postgres.create();
  await using store = await openStore(postgres.url(name));
  const own = "\u{10FFFE}";
  const texts = [own, `${own}0`, `${own}1`, `${own}2`, `${own}3${own}`, `a\0${own}2\0`, "\\udbff\\udffe"];
  const escaped = JSON.stringify([...texts, "\0"]).replaceAll(own, "\\udbff\\udffe");
  const sql = driver(postgres.url(name), { max: 1, fetch_types: false });
  for (const args of [JSON.stringify([...texts, "\0"]), escaped]) {
    await sql.unsafe(`SELECT jobs.push('A', $1::text::json)`, [args]);
    await sql.unsafe(`SELECT jobs.push('A', options => $1::text::json)`, [`{"note":${args}}`]);
    await sql.unsafe(`SELECT * FROM jobs.push_many($1::text::json)`, [`[{"class":"A","args":${args}}]`]);
  }
  await sql.end();
  const taken = await store.jobs.take({ queues: ["default"], limit: 9, worker: "w" });
  const read = taken.map(({ payload }) => JSON.parse(payload)).map(({ args, note }) => note ?? args);
  assertEquals(read, Array(6).fill([...texts, "\0"]));
});

Deno.test("an option that is given twice by SQL is refused in words that are true", async () => {
  const name = await postgres.create();
  await (await openStore(postgres.url(name)))[Symbol.asyncDispose]();
  const push = (options: string) => postgres.sql(`SELECT jobs.push('A', queue => 'q', options => '${options}')`, name);
  await assertRejects(() => push('{"timeout":"30s","timeout":"40s"}'), Error, "one value: options has it twice");
  await assertRejects(() => push('{"queue":"x"}'), Error, "one value: it is a parameter, too");
});

Deno.test("equal numbers are one key, by SQL and by the client", async () => {
  const name = await postgres.create();
  await using store = await openStore(postgres.url(name));
  const client = new Client({ store, onUnregistered: () => {} });
  for (
    const [i, [first, ...others]] of [["1.50", "1.5", "15e-1"], ["1.0", "1", "1e0"], ["-0.0", "0"], [
      "1e-7",
      "0.0000001",
    ]].entries()
  ) {
    const text = (number: string) => `["1.50 \\u0041",${number},{"a":[${number}]}]`;
    const held = await client.push("A", jsonArgs(text(first!)), { queue: `q${i}`, unique_for: "1h" });
    for (const other of [first!, ...others]) {
      assertEquals(
        await client.push("A", jsonArgs(text(other)), { queue: `q${i}`, unique_for: "1h" }),
        undefined,
        other,
      );
      const push = `SELECT jobs.push('A', '${text(other)}', queue => 'q${i}', unique_for => '1h') IS NULL`;
      assertEquals(await postgres.sql(push, name), "t", `${other} after ${first} of ${held}`);
    }
  }
});
