/** The temporary schema of a bench: its removal at the end, and after a bench that was killed. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Client } from "../src/client/client.ts";
import { openScratch, openStore } from "../src/store/open.ts";
import { StoreError } from "../src/store/port/errors.ts";
import { startPostgres } from "./support/postgres.ts";

const postgres = await startPostgres();
Deno.test.afterAll(async () => await postgres[Symbol.asyncDispose]());

const QUEUE = "jobs-bench";

/** A database with a store, and a bench's options. */
async function open() {
  const name = await postgres.create();
  const url = postgres.url(name);
  const warnings: string[] = [];
  {
    await using store = await openStore(url);
    await new Client({ store, onUnregistered: () => {} }).push("Mail", []);
  }
  return {
    url,
    warnings,
    options: { queue: QUEUE, warn: (line: string) => void warnings.push(line) },
    sql: (text: string) => postgres.sql(text, name),
    schemas: () => postgres.sql("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'jobs\\_bench\\_%'", name),
  };
}

Deno.test("postgres: a bench works in a schema of its database, which is gone at the end", async () => {
  const { url, options, warnings, schemas, sql } = await open();
  {
    await using scratch = await openScratch(`${url}?schema=jobs`, options);
    await using store = await openStore(scratch.url);
    await new Client({ store, onUnregistered: () => {} }).push("Noop", [], { queue: QUEUE });
    assertEquals((await store.admin.stats()).queues.map((queue) => queue.name), [QUEUE]);
    assertEquals(await schemas(), "1");
  }
  assertEquals([await schemas(), warnings], ["0", []]);
  assertEquals(await sql("SELECT count(*) FROM jobs.job"), "1");
});

Deno.test("postgres: a bench drops the schema of a killed one, and no other", async () => {
  const { url, options, schemas, sql } = await open();
  const live = await openScratch(url, options);
  const schema = new URL(live.url).searchParams.get("schema");
  await (await openStore(live.url))[Symbol.asyncDispose]();
  await sql("CREATE SCHEMA jobs_bench_of_mine");
  await (await openScratch(url, options))[Symbol.asyncDispose]();
  assertEquals(await schemas(), "2");
  // As after a kill: nothing renews the claim.
  await sql(`COMMENT ON SCHEMA ${schema} IS 'jobs bench, in use at 1700000000000'`);
  await (await openScratch(url, options))[Symbol.asyncDispose]();
  assertEquals(await schemas(), "1");
  await live[Symbol.asyncDispose]();
});

Deno.test("postgres: a bench says which right its user needs for a schema", async () => {
  const { url, options, sql } = await open();
  await sql("CREATE ROLE narrow LOGIN");
  const error = await assertRejects(() => openScratch(url.replace("postgres@", "narrow@"), options), StoreError);
  assertEquals(error.code, "denied");
  assertMatch(
    error.message,
    /lets user narrow create no schema to measure in: GRANT CREATE ON DATABASE \w+ TO narrow$/,
  );
});
