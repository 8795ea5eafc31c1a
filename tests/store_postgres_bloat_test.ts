/**
 * Dead rows of PostgreSQL: what keeps them is named, with the statement that ends it, and late ones are vacuumed.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import postgres from "postgres";
import { systemClock } from "../src/clock.ts";
import { openStore } from "../src/store/open.ts";
import { parseAddress } from "../src/store/postgres/address.ts";
import { Client } from "../src/store/postgres/client.ts";
import { Runner } from "../src/store/postgres/engine.ts";
import { health } from "../src/store/postgres/health.ts";
import { Vacuum } from "../src/store/postgres/vacuum.ts";
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
      String.raw`^session ${pid} \(shop, idle in transaction for 0 s\): .*SELECT.* it has kept dead rows for 0 s`,
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
  const vacuum = new Vacuum(client);
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
