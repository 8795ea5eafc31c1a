/**
 * PostgreSQL behind PgBouncer in transaction mode, with fewer connections than a worker has.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import driver from "postgres";
import { systemClock } from "../src/clock.ts";
import { openStore } from "../src/store/open.ts";
import { parseAddress } from "../src/store/postgres/address.ts";
import { Client } from "../src/store/postgres/client.ts";
import { Runner } from "../src/store/postgres/engine.ts";
import { Floors } from "../src/store/postgres/floors.ts";
import { Watch } from "../src/store/postgres/watch.ts";
import { Bench } from "./support/bench.ts";
import { until } from "./support/eventually.ts";
import { startPooler } from "./support/pgbouncer.ts";
import { startPostgres } from "./support/postgres.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";

const postgres = await startPostgres();
Deno.test.afterAll(async () => await postgres[Symbol.asyncDispose]());

const SILENT = "Notifications of PostgreSQL don't arrive, as behind a pooler";
const UNPREPARED = "A pooler of PostgreSQL doesn't keep prepared statements";

for (const connections of [1, 3]) {
  Deno.test(`each of many statements at once gets its answer through a pooler with ${connections} to the server`, async () => {
    await using pooler = await startPooler(postgres, connections);
    const messages: string[] = [];
    const client = await Client.create(parseAddress(postgres.url("postgres", pooler.port)), {
      ...{ waitMs: 10_000, replyTimeoutMs: 2_000 },
      log: (_level, message) => messages.push(message),
    });
    await client.meet("SELECT pg_backend_pid() AS pid");
    const wrong: string[] = [];
    const ask = async (i: number, text: number) => {
      const [row] = await client.run(`SELECT $1::bigint AS asked, ${text} AS text`, [i]);
      if (row!.asked !== i || row!.text !== text) wrong.push(`${i}: ${JSON.stringify(row)}`);
    };
    for (let round = 0; round < 10; round++) {
      // Some have been prepared, some haven't.
      await Promise.all(Array.from({ length: 50 }, (_, i) => ask(i, i % 5 * round)));
    }
    assertEquals(wrong, []);
    await client.close();
    // Since 1.21 PgBouncer keeps them.
    assertEquals(messages.filter((message) => !message.startsWith(UNPREPARED)), []);
  });
}

Deno.test("a transaction for which a pooler has no connection to the server isn't waited for endlessly", async () => {
  await using pooler = await startPooler(postgres, 1);
  const url = postgres.url("postgres", pooler.port);
  const other = driver(url, { max: 1, prepare: false, fetch_types: false });
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { promise: hasBegun, resolve: begun } = Promise.withResolvers<void>();
  const holding = other.begin(async (one) => {
    await one`SELECT 1`;
    begun();
    await held;
  });
  await hasBegun;
  const client = await Client.create(parseAddress(url), { waitMs: 100, replyTimeoutMs: 300 });
  const ask = () => client.transaction("1 AS one", (query) => query("SELECT 2 AS two", []));
  let answer: unknown;
  void ask().then((rows) => answer = rows, (error) => answer = error);
  // The pooler accepts its login.
  await until(() => answer !== undefined, () => "it is given up");
  assertMatch(String(answer), /is not available: no reply for 300 ms/);
  release();
  await holding;
  assertEquals((await ask())[0]!.two, 2);
  await client.close();
  await other.end();
});

Deno.test("a worker behind a pooler runs jobs of groups and of SQL, and warns that notifications don't arrive", async () => {
  await using pooler = await startPooler(postgres, 3);
  const name = await postgres.create();
  const url = postgres.url(name, pooler.port);
  await using bench = await Bench.open(url);
  await using worker = await bench.server(["-c", "4"]);
  const note = (line: string, options = {}) => bench.push("Note", [bench.notes, line], options);
  await bench.store.admin.configure("default", { eachGroup: true, limit: { running: 1 } });
  const lines = ["a 0", "b 0", "a 1", "b 1"];
  for (const line of lines) await note(line, { group: line[0] });
  await note("later", { delayMs: 50 });
  const sql = driver(url, { max: 1, prepare: false, fetch_types: false });
  await sql.begin((one) =>
    one.unsafe("SELECT jobs.push('Note', $1::text::json)", [JSON.stringify([bench.notes, "sql"])])
  );
  await sql.end();
  await bench.until(async () => (await bench.readNotes()).length === 6, "all run");
  assertEquals((await bench.readNotes()).toSorted(), [...lines, "later", "sql"].toSorted());
  await until(() => worker.complaints.some(({ msg }) => msg.startsWith(SILENT)), () => "it warns");
  const complaints = worker.complaints.filter(({ msg }) => !msg.startsWith(SILENT) && !msg.startsWith(UNPREPARED));
  assertEquals(complaints, []);
});

Deno.test("with listen= and prepare=false, notifications arrive next to a pooler, and nothing is logged", async () => {
  await using pooler = await startPooler(postgres, 3);
  const url = `${postgres.url(await postgres.create(), pooler.port)}?prepare=false&listen=127.0.0.1:${postgres.port}`;
  await (await openStore(url))[Symbol.asyncDispose]();
  const { watch, close, messages } = await startWatch(url);
  await until(() => watch.hears !== undefined, () => "it knows whether it hears itself");
  assertEquals(watch.hears, true);
  await close();
  assertEquals(messages, []);
});

Deno.test("notifications that begin to arrive after the warning are used", async () => {
  await using proxy = await TcpProxy.start(postgres.port);
  const url = `${postgres.url(await postgres.create())}?listen=127.0.0.1:${proxy.port}`;
  await (await openStore(url))[Symbol.asyncDispose]();
  // The network is slow, or a handler blocks the event loop.
  const { watch, close, messages } = await startWatch(url, () => proxy.weather = "held");
  await until(() => watch.hears !== undefined, () => "it knows whether it hears itself");
  assertMatch(messages.join(), new RegExp(SILENT));
  proxy.weather = "fair";
  await until(() => watch.hears === true, () => "it hears itself");
  await close();
});

/** Waits for work, and notes what is logged. Calls `onListening` when it listens, before it notifies itself. */
async function startWatch(
  url: string,
  onListening = () => {},
): Promise<{ watch: Watch; close(): Promise<void>; messages: readonly string[] }> {
  const messages: string[] = [];
  const log = (message: string) => void messages.push(message);
  const client = await Client.create(parseAddress(url), { waitMs: 10_000, log: (_level, message) => log(message) });
  const run = client.run.bind(client);
  client.run = (text, ...rest) => {
    if (text.includes("pg_notify")) onListening();
    return run(text, ...rest);
  };
  const known = { due: () => undefined, cron: () => 0, floors: new Floors(() => 0) };
  const watch = new Watch(new Runner(client, systemClock), known, log);
  const watching = watch.until({ work: ["default"] }, new AbortController().signal);
  return {
    watch,
    messages,
    async close() {
      await watch.close();
      assertEquals(await watching, false);
      await client.close();
    },
  };
}
