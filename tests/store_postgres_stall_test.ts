/**
 * Transactions of an application that stay open: they hold up nothing but what they have changed.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import driver from "postgres";
import { openStore, type Store } from "../src/mod.ts";
import { job, register, takeUpTo } from "./store_contract/jobs.ts";
import { startPostgres } from "./support/postgres.ts";

const WORKER = "host:1:aaaaaaaaaaaa";

const postgres = await startPostgres();
Deno.test.afterAll(async () => await postgres[Symbol.asyncDispose]());

type Sql = ReturnType<typeof driver>;

/** A store, and an application's connections to its database. */
interface Place extends AsyncDisposable {
  readonly store: Store;
  readonly name: string;
  readonly url: string;
  /** Opens a transaction in which these statements have run. It is rolled back in the end. */
  begin(...texts: readonly string[]): Promise<Open>;
}

/** An open transaction. */
interface Open {
  readonly pid: number;
  query(text: string): Promise<unknown>;
  end(as?: "COMMIT" | "ROLLBACK"): Promise<void>;
}

async function place(): Promise<Place> {
  const name = await postgres.create();
  const url = postgres.url(name);
  const store = await openStore(url);
  const all: Sql[] = [];
  return {
    ...{ store, name, url },
    async begin(...texts) {
      const sql = driver(url, { max: 1, onnotice: () => {}, max_lifetime: null, connection: { search_path: "jobs" } });
      all.push(sql);
      const run = async (text: string) => await sql.unsafe(text);
      await run("BEGIN");
      for (const text of texts) await run(text);
      const [row] = await sql.unsafe("SELECT pg_backend_pid() AS pid");
      return { pid: Number(row!.pid), query: run, end: async (as = "ROLLBACK") => void await run(as) };
    },
    async [Symbol.asyncDispose]() {
      for (const sql of all) await sql.end({ timeout: 0 });
      await store[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a newer version starts while an application's transaction is open, and holds up neither pushes nor takes", async () => {
  await using t = await place();
  const { store, name, url } = t;
  await register(store, WORKER);
  await store.jobs.enqueue([job(1)]);
  // The roles of a schema get their rights at the start of a newer version.
  await postgres.sql(
    "CREATE ROLE jobs_work NOLOGIN; CREATE ROLE jobs_push NOLOGIN; UPDATE jobs.meta SET functions = 0",
    name,
  );
  const open = await t.begin("SELECT push('A', queue => 'default')");
  await (await openStore(url))[Symbol.asyncDispose]();
  await store.jobs.enqueue([job(2)]);
  assertEquals((await takeUpTo(store, WORKER, 3)).length, 2);
  await open.end("COMMIT");
  assertEquals((await takeUpTo(store, WORKER, 3)).length, 1);
});

Deno.test("an older version that starts leaves the functions of a newer one as they are", async () => {
  await using t = await place();
  const { name, url } = t;
  await postgres.sql(
    `CREATE OR REPLACE FUNCTION jobs.all_paused(now bigint) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT false AS newer';
     UPDATE jobs.meta SET functions = 1000000`,
    name,
  );
  await (await openStore(url))[Symbol.asyncDispose]();
  const there = "SELECT functions, prosrc FROM jobs.meta, pg_proc WHERE proname = 'all_paused'";
  assertEquals(await postgres.sql(there, name), "1000000|SELECT false AS newer");
});
