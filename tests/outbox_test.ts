/**
 * The outbox: jobs of committed transactions reach a store in Redis or SQLite, each once, however workers and databases end.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import postgres from "postgres";
import { systemClock } from "../src/clock.ts";
import { defaultSettings, type Settings } from "../src/config/settings.ts";
import { Gateway } from "../src/remote/gateway.ts";
import { createWeb } from "../src/web/web.ts";
import { openOutbox, outboxSql } from "../src/store/open_outbox.ts";
import { outboxShape, retriedRowsShape } from "../src/operator/shapes/outbox.ts";
import { Bench } from "./support/bench.ts";
import { until } from "./support/eventually.ts";
import { startPostgres } from "./support/postgres.ts";
import { jobs, type JobsProcess } from "./support/process.ts";
import { startRedis } from "./support/redis.ts";

const server = await startPostgres();
Deno.test.afterAll(async () => await server[Symbol.asyncDispose]());

/** Processes no jobs of the tests, so that it can be killed while only another worker performs them. */
const RELAY = ["-q", "idle", "-c", "1"];

interface Database extends AsyncDisposable {
  readonly url: string;
  readonly sql: ReturnType<typeof postgres>;
}

/** A database of an application, with an outbox. */
async function newDatabase(): Promise<Database> {
  const url = server.url(await server.create());
  const sql = postgres(url, { max: 4, fetch_types: false, max_lifetime: null, onnotice: () => {} });
  await sql.unsafe(`${await outboxSql()}; CREATE TABLE orders (id integer PRIMARY KEY)`);
  return { url, sql, [Symbol.asyncDispose]: () => sql.end({ timeout: 1 }) };
}

const rows = async ({ sql }: Database) => (await sql`SELECT number, error FROM jobs_outbox ORDER BY number`).length;

for (const kind of ["SQLite", "Redis"]) {
  Deno.test(`pushes committed orders once to ${kind}, also if relays are killed`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    await using database = await newDatabase();
    const { sql } = database;
    await using _performer = await bench.server(["-c", "20"]);
    const env = { JOBS_OUTBOX: database.url };
    const relays: JobsProcess[] = [await bench.server(RELAY, env), await bench.server(RELAY, env)];
    let order = 0;
    const committed: string[] = [];
    const place = async () => {
      const first = order += 7;
      await sql.begin(async (transaction) => {
        for (let id = first; id < first + 7; id++) {
          await transaction`INSERT INTO orders VALUES (${id})`;
          await transaction`SELECT jobs_outbox_push('Note', ${
            JSON.stringify([bench.notes, `order ${id}`])
          }::text::json)`;
        }
        if (first % 3 === 0) throw new Error("rolled back");
      }).catch((error) => assertEquals(error.message, "rolled back"));
    };
    let isOver = false;
    const producers = [1, 2, 3].map(async () => {
      while (!isOver) await place();
    });
    for (let kills = 0; kills < 3; kills++) {
      const pushed = await bench.store.admin.stats();
      await until(
        async () => (await bench.store.admin.stats()).processed > pushed.processed + 20,
        () => "orders are performed",
      );
      const killed = relays[kills % 2]!;
      killed.kill("SIGKILL");
      await killed.status();
      relays[kills % 2] = await bench.server(RELAY, env, false);
    }
    isOver = true;
    await Promise.all(producers);
    for (const { id } of await sql`SELECT id FROM orders ORDER BY id`) committed.push(`order ${id}`);
    await until(async () => await rows(database) === 0, () => "the outbox is empty");
    await bench.until(async () => (await bench.readNotes()).length >= committed.length, "all orders are performed");
    assertEquals((await bench.readNotes()).toSorted(), committed.toSorted());
    for (const relay of relays) await relay[Symbol.asyncDispose]();
  });
}

Deno.test("pushes a row again whose deletion was lost, and stores its job once", async () => {
  await using bench = await Bench.open();
  await using database = await newDatabase();
  await database.sql`SELECT jobs_outbox_push('Note', '[1]', '{"queue": "mail"}')`;
  await using outbox = await openOutbox(database.url);
  const bounds = { rows: 10, bytes: 1_000, jobBytes: 1_000 };
  const results: string[] = [];
  const push = async ([row]: readonly { readonly id: string; readonly job: string | undefined }[]) => {
    const result = await bench.client.tryPush({ id: `outbox:${row!.id}`, ...JSON.parse(row!.job!) });
    results.push(result.kind);
    if (results.length === 1) throw new Error("killed");
    return [undefined];
  };
  await outbox.relay(bounds, push).catch(({ message }) => assertEquals(message, "killed"));
  assertEquals(await outbox.relay(bounds, push), 1);
  assertEquals(results, ["stored", "existed"]);
  assertEquals(await rows(database), 0);
});

Deno.test("keeps a refused row with its error, pushes the others, and retries it when it is mended", async () => {
  await using bench = await Bench.open();
  await using database = await newDatabase();
  const { sql } = database;
  const env = { JOBS_OUTBOX: database.url };
  const note = (text: string) => JSON.stringify({ class: "Note", args: [bench.notes, text] });
  await sql`INSERT INTO jobs_outbox (job) VALUES ('{"class": 7}'), ('{"class": "Note", "args": ["x"], "que": "a"}')`;
  await sql`INSERT INTO jobs_outbox (job) VALUES (${note("one")}::text::json)`;
  await using worker = await bench.server([], env);
  await bench.noted("one");
  assertStringIncludes(String((await worker.logged("Refused rows of the outbox")).error), "class");
  const shown = await jobs(["outbox"], { env });
  assertMatch(shown.stdout, /^0 rows wait; 2 refused\n/);
  assertStringIncludes(shown.stdout, '"queue"');
  await sql`UPDATE jobs_outbox SET job = ${note("two")}::text::json WHERE number = 1`;
  const json = (await jobs(["outbox", "--json"], { env })).stdout;
  assertEquals(outboxShape.read(JSON.parse(json)).rows.map(({ number }) => number), [1, 2]);
  assertEquals((await jobs(["outbox", "retry", "1"], { env })).stdout, "1 row waits again\n");
  retriedRowsShape.read(JSON.parse((await jobs(["outbox", "retry", "9", "--json"], { env })).stdout));
  await bench.noted("two");
  assertEquals((await sql`SELECT number::int FROM jobs_outbox`).map(({ number }) => number), [2]);
  assert(worker.lines.filter(({ msg }) => msg === "Refused rows of the outbox").length === 2);
});

Deno.test("continues without the database, says so once, and listens again when it is back", async () => {
  await using bench = await Bench.open();
  await using database = await newDatabase();
  await database.sql`SELECT jobs_outbox_push('Note', ${JSON.stringify([bench.notes, "before"])}::text::json)`;
  await using worker = await bench.server([], { JOBS_OUTBOX: database.url });
  await bench.noted("before");
  await server.kill();
  await worker.logged("Outbox failed, retrying");
  await bench.push("Note", [bench.notes, "meanwhile"]);
  await bench.noted("meanwhile");
  const record = async () => (await bench.store.workers.list())[0]!.outbox!;
  await bench.until(
    async () => (await record()).error?.includes("not available") === true,
    "the heartbeat has the error",
  );
  await server.start();
  await worker.logged("Outbox works again");
  await bench.until(async () => (await record()).error === undefined, "the error is gone");
  const listening = `SELECT count(*) FROM pg_stat_activity WHERE query ILIKE 'listen%' AND datname = '${
    new URL(database.url).pathname.slice(1)
  }'`;
  await until(async () => await server.sql(listening) === "1", () => "it listens");
  await database.sql`SELECT jobs_outbox_push('Note', ${JSON.stringify([bench.notes, "after"])}::text::json)`;
  await bench.noted("after");
  assertEquals(worker.complaints.map(({ msg }) => msg), ["Outbox failed, retrying"]);
});

Deno.test("a gateway pushes them for workers in other programs", async () => {
  await using bench = await Bench.open();
  await using database = await newDatabase();
  await database.sql`SELECT jobs_outbox_push('Try')`;
  const settings: Settings = { ...defaultSettings(), outbox: database.url };
  await using gateway = new Gateway({ store: bench.store, clock: systemClock, settings });
  await using web = createWeb({ store: bench.store, gateway: () => Promise.resolve(gateway) });
  const send = async (verb: string, body: object) => {
    const request = new Request(`http://localhost/api/v1/work/${verb}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return await (await web.handle(request, "127.0.0.1")).json();
  };
  const { worker } = await send("register", {
    ...{ protocol: 1, runtime: "test 1", client: "test 1", hostname: "box", pid: 7, concurrency: 10 },
    ...{ nonce: "000000000001", classes: { Try: {} } },
  });
  const { jobs: taken } = await send("take", { worker, take: 1, limit: 10, wait: 30 });
  assertEquals(taken.map(({ payload }: { payload: string }) => JSON.parse(payload).class), ["Try"]);
});
