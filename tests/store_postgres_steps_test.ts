/**
 * Durable steps on PostgreSQL: those of several processors share statements.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { openStore } from "../src/store/open.ts";
import { jid, jobs, register, takeUpTo } from "./store_contract/jobs.ts";
import { until } from "./support/eventually.ts";
import { startPostgres } from "./support/postgres.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";

const server = await startPostgres();
const proxy = await TcpProxy.start(server.port);
Deno.test.afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** A worker with jobs, and their leases. */
async function lab(count: number) {
  const name = await server.create();
  const store = await openStore(server.url(name, proxy.port));
  const worker = await register(store);
  await store.jobs.enqueue(jobs(1, count));
  const leases = (await takeUpTo(store, worker, count)).map(({ token }, i) => ({ worker, token, jid: jid(i + 1) }));
  return { name, store, leases, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

Deno.test("postgres: steps that end together share statements, 100 per statement and 1 MiB", async () => {
  await using t = await lab(250);
  const write = async (record: string) => {
    const before = proxy.trips;
    const stored = await Promise.all(t.leases.map((lease) => t.store.steps.remember(lease, { name: "a", record })));
    assertEquals(stored, Array(250).fill(record));
    return proxy.trips - before;
  };
  // Prepares the statement.
  await write("first");
  assertEquals(await write("small"), 3);
  assertEquals(await write("large".padEnd(100_000)), 23);
});

Deno.test("postgres: steps that end while others are written share the next statement", async () => {
  await using t = await lab(50);
  const [first, ...others] = t.leases;
  const write = (lease: typeof first) => t.store.steps.remember(lease!, { name: "a", record: "1" });
  await write(first);
  const before = proxy.trips;
  proxy.weather = "held";
  const written = [write(first)];
  await until(() => proxy.trips > before, "the first is being written");
  for (const lease of others) written.push(write(lease));
  proxy.weather = "fair";
  assertEquals(await Promise.all(written), Array(50).fill("1"));
  assertEquals(proxy.trips - before, 2);
});

Deno.test("postgres: a step that was written twice at once has its last record, and a result stays", async () => {
  await using t = await lab(2);
  const [one, other] = t.leases as [typeof t.leases[0], typeof t.leases[0]];
  const done = '{"state":"succeeded","value":1}';
  const write = (lease: typeof one, name: string, record: string) => t.store.steps.remember(lease!, { name, record });
  const lost = { ...other!, token: "77.1" };
  assertEquals(
    await Promise.all([
      write(one, "b", "1"),
      write(one, "a", "2"),
      write(one, "b", done),
      write(one, "b", "3"),
      write(lost, "a", "4"),
    ]),
    ["1", "2", done, done, undefined],
  );
  assertEquals(await t.store.steps.read(one!.jid), [{ name: "b", record: done }, { name: "a", record: "2" }]);
  assertEquals(await t.store.steps.read(other!.jid), []);
});

Deno.test("postgres: a step that can't be stored doesn't fail those that share its statement", async () => {
  await using t = await lab(3);
  await server.sql("ALTER TABLE jobs.step ADD CHECK (record <> 'bad')", t.name);
  const written = await Promise.allSettled(
    t.leases.map((lease, i) => t.store.steps.remember(lease, { name: "a", record: i === 1 ? "bad" : "good" })),
  );
  assertEquals(written.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  assert((await t.store.steps.read(jid(3))).length === 1);
});
