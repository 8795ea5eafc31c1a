/** The empty database of a bench: its removal at the end, and after a bench that was killed. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Client } from "../src/client/client.ts";
import { Registry } from "../src/handlers/registry.ts";
import { startServer } from "../src/server/start.ts";
import { StoreError } from "../src/store/port/errors.ts";
import { openScratch, openStore, type ScratchOptions } from "../src/store/open.ts";
import { FakeClock } from "./support/clock.ts";
import { until } from "./support/eventually.ts";
import { type RedisServer, startRedis } from "./support/redis.ts";

const QUEUE = "jobs-bench";

/** Returns the warnings, and options that collect them. */
function collecting(more: Partial<ScratchOptions> = {}): [string[], ScratchOptions] {
  const warnings: string[] = [];
  return [warnings, { queue: QUEUE, warn: (line) => warnings.push(line), ...more }];
}

/** Uses the database as a bench does. */
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

Deno.test("a scratch database is empty again at the end", async () => {
  await using redis = await startRedis();
  const [warnings, options] = collecting();
  {
    await using scratch = await openScratch(redis.url, options);
    await work(scratch.url);
    assert((await keysIn(redis, "15")).length > 3);
  }
  assertEquals([await keysIn(redis, "15"), warnings], [[], []]);
});

Deno.test("keys that other programs write there meanwhile stay, and a warning names them", async () => {
  await using redis = await startRedis();
  const [warnings, options] = collecting();
  {
    await using scratch = await openScratch(redis.url, options);
    await work(scratch.url);
    await redis.cli("-n", "15", "SET", "invoices:42", "due");
  }
  assertEquals(await keysIn(redis, "15"), ["invoices:42"]);
  assertEquals(warnings.length, 1);
  assertStringIncludes(warnings[0]!, '1 key there meanwhile ("invoices:42"), left unchanged');
});

Deno.test("a store that another program creates there meanwhile keeps its jobs", async () => {
  await using redis = await startRedis();
  const [warnings, options] = collecting();
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
  assertEquals([keys.includes(`queue:${QUEUE}`), keys.includes("jobs:scratch"), warnings.length], [false, false, 1]);
});

Deno.test("a later bench clears the database of a killed one after its claim has expired", async () => {
  await using redis = await startRedis();
  const clock = new FakeClock();
  const [, options] = collecting({ clock });
  const first = await openScratch(redis.url, options);
  await work(first.url);
  // As after a kill: nothing renews the claim.
  const [, second] = collecting();
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

Deno.test("a bench renews its claim, and keeps its database as long as it runs", async () => {
  await using redis = await startRedis();
  const clock = new FakeClock();
  const [warnings, options] = collecting({ clock });
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
  assertEquals([await keysIn(redis, "15"), warnings], [[], []]);
});

Deno.test("a bench that has lost its claim leaves the database unchanged, and warns", async () => {
  await using redis = await startRedis();
  const [warnings, options] = collecting({ clock: new FakeClock() });
  const first = await openScratch(redis.url, options);
  await redis.cli("-n", "15", "SET", "jobs:scratch", `1 frozen ${QUEUE}`);
  await using second = await openScratch(redis.url, collecting()[1]);
  await work(second.url);
  const before = await keysIn(redis, "15");
  await first[Symbol.asyncDispose]();
  assertEquals(await keysIn(redis, "15"), before);
  assertEquals(warnings.length, 1);
  assertStringIncludes(warnings[0]!, "was claimed by another bench meanwhile");
});

Deno.test("a database with keys of other programs is never claimed, even if a killed bench left keys there", async () => {
  await using redis = await startRedis({ config: { databases: "2" } });
  await redis.cli("-n", "1", "MSET", "jobs:scratch", `1 another ${QUEUE}`, "jobs:classes", "x", "invoices:42", "due");
  const [, options] = collecting();
  await assertRejects(() => openScratch(redis.url, options), StoreError, "none of 0 to 15 is empty");
  assertEquals(await keysIn(redis, "1"), ["invoices:42"]);
});
