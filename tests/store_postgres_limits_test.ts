/**
 * PostgreSQL with few connections for a user, and a server that refuses writes.
 *
 * @module
 */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { openStore, StoreError } from "../src/mod.ts";
import { parseAddress } from "../src/store/postgres/address.ts";
import { Client } from "../src/store/postgres/client.ts";
import { Bench } from "./support/bench.ts";
import { startPostgres } from "./support/postgres.ts";
import { storeContract } from "./store_contract/mod.ts";
import { emptyPostgresStores } from "./support/postgres_stores.ts";

const postgres = await startPostgres();
const stores = emptyPostgresStores(postgres, { url: (name) => `${postgres.url(name)}?connections=1` });
Deno.test.afterAll(async () => {
  await stores.close();
  await postgres[Symbol.asyncDispose]();
});

// Each store has one connection for everything.
storeContract("connections=1", stores.open, ["settle", "wait"]);

Deno.test("a worker whose user may have three connections runs jobs next to another program", async () => {
  const name = await postgres.create();
  await postgres.sql(`CREATE ROLE few LOGIN CONNECTION LIMIT 3; GRANT CREATE ON DATABASE ${name} TO few`);
  const url = postgres.url(name).replace("postgres@", "few@");
  await using bench = await Bench.open(url);
  await using worker = await bench.server(["-c", "4"]);
  for (let i = 0; i < 5; i++) await bench.push("Note", [bench.notes, `${i}`]);
  await bench.until(async () => (await bench.readNotes()).length === 5, "all run");
  const used = await postgres.sql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'few'");
  // Two of the worker, whose heartbeats have another thread, and that of this process.
  assertEquals(used, "3");
  assertEquals(worker.complaints, []);
});

Deno.test("a user without a free connection gets a line that names the cure", async () => {
  const name = await postgres.create();
  await postgres.sql("CREATE ROLE full_user LOGIN CONNECTION LIMIT 0");
  const client = await Client.create(parseAddress(postgres.url(name).replace("postgres@", "full_user@")), {
    waitMs: 100,
  });
  const error = await assertRejects(() => client.run("SELECT 1"), StoreError);
  assertMatch(
    error.message,
    /accepts no more connections \(too many connections for role "full_user"\): raise .*\?connections=N$/,
  );
  await client.close();
});

Deno.test("a server that refuses writes by a setting isn't called a replica", async () => {
  const name = await postgres.create();
  await (await openStore(postgres.url(name)))[Symbol.asyncDispose]();
  await postgres.sql(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  const client = await Client.create(parseAddress(postgres.url(name)), { waitMs: 100 });
  const error = await assertRejects(() => client.run("DELETE FROM jobs.job"), StoreError);
  assertEquals(error.code, "unavailable");
  assertMatch(
    error.message,
    /accepts no writes \(cannot execute DELETE .*\): default_transaction_read_only is on, often because its disk is full$/,
  );
  await client.close();
});
