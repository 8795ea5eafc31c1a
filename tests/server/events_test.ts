/** The log of events with real workers, a real dashboard, and readers that are cut off. */
import { assertEquals, assertGreater, assertStringIncludes } from "@std/assert";
import type { JobEvent } from "../../src/job/event.ts";
import { Bench } from "../support/bench.ts";
import { TestEventSource } from "../support/event_source.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { jobs, MORTAL } from "../support/process.ts";
import { type RedisServer, startRedis } from "../support/redis.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";

const KEPT = { result_ttl: "1h", failure_ttl: "1h" };

/** Runs a test on each store. `crash` kills the store and starts it again. */
function onEachStore(title: string, test: (bench: Bench, crash: () => Promise<void>) => Promise<void>): void {
  Deno.test(`${title}, on SQLite`, async () => {
    await using bench = await Bench.open();
    await test(bench, () => Promise.resolve());
  });
  const crash = (server: RedisServer | PostgresServer) => async () => {
    await server.kill();
    await server.start();
  };
  Deno.test(`${title}, on Redis`, async () => {
    await using server = await startRedis({ aof: "always" });
    await using bench = await Bench.open(server.url);
    await test(bench, crash(server));
  });
  Deno.test(`${title}, on PostgreSQL`, async () => {
    await using server = await startPostgres();
    await using bench = await Bench.open(server.url(await server.create()));
    await test(bench, crash(server));
  });
}

onEachStore(
  "a reader that is cut off sees each end once, while workers and the store are killed",
  async (bench, crash) => {
    await using workers = new AsyncDisposableStack();
    const first = workers.use(
      await bench.server(["-c", "5", "--web", "0"], { ...MORTAL, JOBS_RETENTION_EVENTS: "1h" }),
    );
    const web = new URL(String((await first.logged("Ready"))["web"]));
    await using proxy = await TcpProxy.start(Number(web.port));
    const second = workers.use(await bench.server(["-c", "5"], MORTAL));
    const seen: JobEvent[] = [];
    await using source = new TestEventSource(`http://127.0.0.1:${proxy.port}/api/v1/events?after=0`);
    source.onmessage = ({ data }) => {
      seen.push(JSON.parse(data));
      // It is killed anywhere.
      if (seen.length % 7 === 0) source.cut();
    };
    const jids: string[] = [];
    for (let n = 0; n < 60; n++) {
      const [name, more] = ([["Noop", {}], ["Fail", { retry: 0 }], ["Fail", { retry: false }]] as const)[n % 3]!;
      jids.push(await bench.push(name, [], { ...KEPT, ...more }));
      if (n % 20 === 9) proxy.cut();
      if (n === 25) second.kill("SIGKILL");
      if (n === 40) {
        await crash();
        await bench.until(() => bench.store.admin.stats().then(() => true, () => false), "the store answers");
        workers.use(await bench.server(["-c", "5"], MORTAL));
      }
    }
    const records = await Promise.all(jids.map((jid) => bench.client.result(jid)));
    const expected = records.map((record) => `${record!.state} ${record!.jid}`).sort();
    const ends = () => seen.filter(({ jid }) => jid !== undefined);
    await bench.until(() => ends().length >= expected.length, "all ends are seen");
    assertEquals(ends().map(({ type, jid }) => `${type} ${jid}`).sort(), expected);
    assertEquals(seen.map(({ id }) => id), seen.map(({ id }) => id).toSorted((a, b) => a - b));
    assertEquals(seen.filter(({ type }) => type === "gap"), []);
    assertGreater(source.connections, 5);
    // The command, the pages and the library read the same.
    const { stdout } = await jobs(["events", "--json", "--type", "dead", "--store", bench.url]);
    const dead = stdout.trim().split("\n").map((line) => JSON.parse(line));
    assertEquals(dead, seen.filter(({ type }) => type === "dead"));
    assertEquals([dead[0].class, dead[0].error.class, dead[0].error.message], ["Fail", "RangeError", "no luck"]);
    const page = await (await fetch(new URL(`/api/v1/events?after=${seen[4]!.id}&limit=3`, web))).json();
    assertEquals(page, { events: seen.slice(5, 8), next: seen[7]!.id });
    const again: number[] = [];
    for await (const { id } of bench.client.events({ after: seen[9]!.id })) {
      if (again.push(id) === seen.length - 10) break;
    }
    assertEquals(again, seen.slice(10).map(({ id }) => id));
  },
);

Deno.test("jobs events prints lines, and a client begins with the next event, and filters", async () => {
  await using bench = await Bench.open();
  await using _worker = await bench.server();
  await jobs(["events", "--store", bench.url]);
  await bench.client.result(await bench.push("Fail", [], { retry: 0 }));
  const { stdout } = await jobs(["events", "--store", bench.url]);
  const [line] = stdout.trim().split("\n");
  assertEquals(/^\S+Z dead {7}Fail \w{24} RangeError: no luck$/.test(line!), true, line);
  const stop = new AbortController();
  const events = bench.client.events({ class: ["N*"], signal: stop.signal });
  const next = events.next();
  // The first call has found its place when it waits.
  await bench.client.result(await bench.push("Fail", [], { retry: 0 }));
  const jid = await bench.push("Noop", [], KEPT);
  assertEquals([(await next).value!.jid, (await next).value!.type], [jid, "succeeded"]);
  stop.abort();
  assertEquals((await events.next()).done, true);
});

Deno.test("wrong options are refused with one line", async () => {
  await using bench = await Bench.open();
  for (
    const [args, line] of [
      [["--type", "ded"], `Invalid --type: "ded"; did you mean dead?`],
      [["--after", "x"], `Invalid --after "x": expected the ID of an event`],
    ] as const
  ) {
    const { code, stderr } = await jobs(["events", ...args, "--store", bench.url]);
    assertEquals(code, 2);
    assertStringIncludes(stderr, line);
  }
  await using worker = await bench.server(["--web", "0"]);
  const web = String((await worker.logged("Ready"))["web"]);
  for (const [query, field] of [["after=x", "after"], ["type=ded", "type"], ["limit=0", "limit"], ["jid=1", "jid"]]) {
    const response = await fetch(new URL(`/api/v1/events?${query}`, web));
    assertEquals([response.status, (await response.json()).error.field], [422, field], query);
  }
});
