/**
 * Rows of the outbox that fail by themselves: they don't hold up the others.
 *
 * @module
 */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import postgres from "postgres";
import { StoreError } from "../src/store/port/errors.ts";
import { openOutbox, outboxSql } from "../src/store/open_outbox.ts";
import type { OutboxRow } from "../src/store/port/outbox.ts";
import { Bench } from "./support/bench.ts";
import { until } from "./support/eventually.ts";
import { startPostgres } from "./support/postgres.ts";
import { startRedis } from "./support/redis.ts";

const server = await startPostgres();
Deno.test.afterAll(async () => await server[Symbol.asyncDispose]());

const BOUNDS = { rows: 100, bytes: 1_000_000, jobBytes: 1_000 };

/** Opens the outbox of a new database. `pushed` has the texts of the jobs that were pushed. */
async function open(encoding: string, isRefused: (job: string) => string | undefined = () => undefined) {
  const name = `outbox_${encoding.toLowerCase()}_${crypto.randomUUID().slice(0, 8)}`;
  await server.sql(`CREATE DATABASE ${name} ENCODING '${encoding}' TEMPLATE template0 LOCALE 'C'`);
  await server.sql(await outboxSql(), name);
  const outbox = await openOutbox(server.url(name));
  const pushed: string[] = [];
  const kept: string[] = [];
  const push = (rows: readonly OutboxRow[]) => {
    pushed.push(...rows.map(({ job }) => JSON.parse(job!).class));
    return Promise.resolve(rows.map(({ job }) => isRefused(job!)));
  };
  return {
    ...{ outbox, pushed, kept },
    sql: (text: string) => server.sql(text, name),
    relay: () => outbox.relay(BOUNDS, push, (number, reason) => kept.push(`${number}: ${reason}`)),
    add: (classes: readonly string[]) =>
      server.sql(
        `INSERT INTO jobs_outbox (job) VALUES ${classes.map((one) => `('{"class":"${one}"}')`).join(",")}`,
        name,
      ),
  };
}

Deno.test("a job that isn't UTF-8 is kept with the reason, and the others are pushed", async () => {
  const { outbox, relay, add, sql, pushed, kept } = await open("SQL_ASCII");
  await add(["A", "B"]);
  await sql(`SET client_encoding = SQL_ASCII; INSERT INTO jobs_outbox (job) VALUES (E'{"class":"\\xe4"}')`);
  await add(["C"]);
  assertEquals(await relay(), 3);
  assertEquals(pushed, ["A", "B", "C"]);
  assertEquals(kept.length, 1);
  assertMatch(kept[0]!, /^3: Its job can't be read: invalid byte sequence for encoding "UTF8": 0xe4/);
  const [row, ...others] = await outbox.refused(10);
  assertEquals([row!.number, row!.job, others], [3, '{"class":"\ufffd"}', []]);
  assertEquals(await relay(), 0);
  await outbox[Symbol.asyncDispose]();
});

Deno.test("a row that can't be deleted is pushed once and kept with the reason, and the others are deleted", async () => {
  const { outbox, relay, add, sql, pushed, kept } = await open("UTF8");
  await sql("CREATE TABLE orders (row bigint REFERENCES jobs_outbox)");
  await add(["A", "B", "C"]);
  await sql("INSERT INTO orders VALUES (2)");
  assertEquals(await relay(), 3);
  assertEquals(await relay(), 0);
  assertEquals(pushed, ["A", "B", "C"]);
  assertMatch(kept[0]!, /^2: Its job was pushed, but the row can't be changed: .*foreign key.*\. Delete it$/);
  assertEquals((await outbox.read()).refused, 1);
  assertEquals(await sql("SELECT number FROM jobs_outbox"), "2");
  await outbox[Symbol.asyncDispose]();
});

Deno.test("a reason that the database's encoding lacks is stored without its characters", async () => {
  const { outbox, relay, add, sql } = await open("LATIN1", (job) => job.includes("B") ? "queue is “x”" : undefined);
  await add(["A", "B"]);
  assertEquals(await relay(), 2);
  const [row] = await outbox.refused(10);
  assertEquals(row!.error, "queue is ?x?");
  assertEquals(await sql("SELECT number FROM jobs_outbox"), "2");
  await outbox[Symbol.asyncDispose]();
});

Deno.test("a row that can't be changed at all is skipped", async () => {
  const { outbox, relay, add, sql, pushed, kept } = await open("UTF8");
  await sql(
    `CREATE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF OLD.number = 1 THEN RAISE EXCEPTION ''kept''; END IF;
       RETURN CASE TG_OP WHEN ''DELETE'' THEN OLD ELSE NEW END; END';
     CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON jobs_outbox FOR EACH ROW EXECUTE FUNCTION kept()`,
  );
  await add(["A", "B"]);
  assertEquals(await relay(), 2);
  await add(["C"]);
  assertEquals(await relay(), 1);
  assertEquals([pushed, kept.length], [["A", "B", "C"], 1]);
  await outbox[Symbol.asyncDispose]();
});

Deno.test("a worker whose outbox database is frozen stops in order", async () => {
  const name = await server.create();
  await server.sql(await outboxSql(), name);
  await using redis = await startRedis();
  await using bench = await Bench.open(redis.url);
  await using worker = await bench.server([], { JOBS_OUTBOX: server.url(name) });
  await bench.until(
    async () =>
      (await bench.store.workers.list()).some(({ outbox }) => outbox?.waiting === 0 && outbox.error === undefined),
    "the relay works",
  );
  const jid = await bench.push("Note", [bench.notes, "done"]);
  await bench.noted("done");
  const locking = postgres(server.url(name), { max: 1, fetch_types: false });
  await locking.unsafe("BEGIN; LOCK TABLE jobs_outbox IN ACCESS EXCLUSIVE MODE");
  // Its statement is under way when the server stands still.
  await until(
    async () => await server.sql("SELECT count(*) FROM pg_locks WHERE NOT granted") !== "0",
    () => "it waits",
  );
  server.signal("SIGSTOP");
  try {
    worker.kill("SIGTERM");
    assertEquals((await worker.status()).code, 0, JSON.stringify(worker.complaints));
  } finally {
    server.signal("SIGCONT");
    await locking.end({ timeout: 1 });
  }
  assertEquals([(await bench.store.workers.list()).length, (await bench.store.jobs.find([jid])).length], [0, 0]);
});

Deno.test("a locked table of the outbox fails its commands with a line, not never", async () => {
  const { outbox, add, sql } = await open("UTF8");
  await add(["A"]);
  const locking = postgres(server.url(await sql("SELECT current_database()")), { max: 1, fetch_types: false });
  const [{ promise: held, resolve: release }, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = locking.begin(async (one) => {
    await one`LOCK TABLE jobs_outbox IN ACCESS EXCLUSIVE MODE`;
    begun.resolve();
    await held;
  });
  await begun.promise;
  const error = await assertRejects(() => outbox.read(), StoreError);
  assertEquals(error.code, "held");
  release();
  await holding;
  await locking.end();
  assertEquals((await outbox.read()).waiting, 1);
  await outbox[Symbol.asyncDispose]();
});
