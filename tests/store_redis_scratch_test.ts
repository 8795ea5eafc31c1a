/** The empty database that a bench uses for a while: what it takes away at the end, and what a killed one leaves. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Client } from "../src/client/client.ts";
import { Registry } from "../src/handlers/registry.ts";
import { startServer } from "../src/server/start.ts";
import { StoreError } from "../src/store/port/errors.ts";
import { openStore } from "../src/store/open.ts";
import { openScratch, type ScratchOptions } from "../src/store/open_scratch.ts";
import { FakeClock } from "./support/clock.ts";
import { until } from "./support/eventually.ts";
import { type RedisServer, startRedis } from "./support/redis.ts";

const QUEUE = "jobs-bench";

/** What was said, and the options that say it. */
function told(more: Partial<ScratchOptions> = {}): [string[], ScratchOptions] {
  const said: string[] = [];
  return [said, { queue: QUEUE, say: (what) => said.push(what), ...more }];
}

/** Does in it what a bench does. */
async function work(url: string): Promise<void> {
  await using store = await openStore(url);
  const client = new Client({ store });
  const { promise, resolve } = Promise.withResolvers<void>();
  const settings = { queues: [{ name: QUEUE, weight: 0 }] };
  await using _server = await startServer({
    store: url,
    registry: new Registry().add("Noop", () => resolve()),
    settings,
    log: false,
  });
  await client.push({ class: "Noop", args: [], queue: QUEUE });
  await promise;
}

const keysIn = async (redis: RedisServer, database: string) =>
  (await redis.cli("-n", database, "KEYS", "*")).split("\n").filter((key) => key !== "").sort();

Deno.test("a database for measuring is empty again at the end", async () => {
  await using redis = await startRedis();
  const [said, options] = told();
  {
    await using scratch = await openScratch(redis.url, options);
    await work(scratch.url);
    assert((await keysIn(redis, "15")).length > 3);
  }
  assertEquals([await keysIn(redis, "15"), said], [[], []]);
});

Deno.test("what others put there meanwhile stays, and is told of", async () => {
  await using redis = await startRedis();
  const [said, options] = told();
  {
    await using scratch = await openScratch(redis.url, options);
    await work(scratch.url);
    await redis.cli("-n", "15", "SET", "invoices:42", "due");
  }
  assertEquals(await keysIn(redis, "15"), ["invoices:42"]);
  assertEquals(said.length, 1);
  assertStringIncludes(said[0]!, '1 key there meanwhile ("invoices:42"), left as it is');
});

Deno.test("a store that others begin there meanwhile keeps its jobs", async () => {
  await using redis = await startRedis();
  const [said, options] = told();
  {
    await using scratch = await openScratch(redis.url, options);
    await work(scratch.url);
    await using store = await openStore(scratch.url);
    await new Client({ store }).push({ class: "A", args: [], queue: "mail", unique_for: "1h" });
  }
  await using store = await openStore(redis.url.replace(/0$/, "15"));
  assertEquals((await store.admin.stats()).queues.map(({ name, size }) => [name, size]), [["mail", 1]]);
  const keys = await keysIn(redis, "15");
  assert(keys.some((key) => key.startsWith("jobs:unique:")), keys.join());
  assertEquals([keys.includes(`queue:${QUEUE}`), keys.includes("jobs:scratch"), said.length], [false, false, 1]);
});

Deno.test("what a killed bench has left is cleared away by a later one, once nobody says that it is used", async () => {
  await using redis = await startRedis();
  const clock = new FakeClock();
  const [, options] = told({ clock });
  const first = await openScratch(redis.url, options);
  await work(first.url);
  // As after a kill: nobody is there who says so.
  const [, second] = told();
  const taken = async () => {
    await using scratch = await openScratch(redis.url, second);
    return [new URL(scratch.url).searchParams.get("db"), (await keysIn(redis, "15")).length > 1];
  };
  assertEquals(await taken(), ["14", true]);
  const claim = await redis.cli("-n", "15", "GET", "jobs:scratch");
  await redis.cli("-n", "15", "SET", "jobs:scratch", claim.replace(/^\d+/, "1"));
  assertEquals(await taken(), ["15", false]);
  assertEquals(await keysIn(redis, "15"), []);
  await first[Symbol.asyncDispose]();
});

Deno.test("one that works says so, and keeps its database however long it takes", async () => {
  await using redis = await startRedis();
  const clock = new FakeClock();
  const [said, options] = told({ clock });
  const till = async () => Number((await redis.cli("-n", "15", "GET", "jobs:scratch")).split(" ")[0]);
  {
    await using _scratch = await openScratch(redis.url, options);
    const claim = await redis.cli("-n", "15", "GET", "jobs:scratch");
    await redis.cli("-n", "15", "SET", "jobs:scratch", claim.replace(/^\d+/, "1"));
    await clock.untilSleeping();
    await clock.advance(20_000);
    await until(async () => await till() > 1);
    await clock.untilSleeping();
  }
  assertEquals([await keysIn(redis, "15"), said], [[], []]);
});

Deno.test("one that was taken for dead leaves alone what has another now, and says so", async () => {
  await using redis = await startRedis();
  const [said, options] = told({ clock: new FakeClock() });
  const first = await openScratch(redis.url, options);
  await redis.cli("-n", "15", "SET", "jobs:scratch", `1 frozen ${QUEUE}`);
  await using second = await openScratch(redis.url, told()[1]);
  await work(second.url);
  const before = await keysIn(redis, "15");
  await first[Symbol.asyncDispose]();
  assertEquals(await keysIn(redis, "15"), before);
  assertEquals(said.length, 1);
  assertStringIncludes(said[0]!, "was taken by somebody else meanwhile");
});

Deno.test("a database that somebody uses is never taken, nor what a killed bench left beside it", async () => {
  await using redis = await startRedis({ config: { databases: "2" } });
  await redis.cli("-n", "1", "MSET", "jobs:scratch", `1 somebody ${QUEUE}`, "jobs:classes", "x", "invoices:42", "due");
  const [, options] = told();
  await assertRejects(() => openScratch(redis.url, options), StoreError, "none of 0 to 15 is empty");
  assertEquals(await keysIn(redis, "1"), ["invoices:42"]);
});
