/**
 * Verbs in random order on few keys, from several connections at once: no deadlock reaches a caller, and all jobs end.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { BatchError, Client, defineJob, openStore, startServer, type Store } from "../src/mod.ts";
import { RUN_BOUNDS_MS } from "../src/store/port/metrics.ts";
import { parseAddress } from "../src/store/postgres/address.ts";
import { Client as PostgresClient } from "../src/store/postgres/client.ts";
import { Random } from "./soak/random.ts";
import { register, takeUpTo } from "./store_contract/jobs.ts";
import { until } from "./support/eventually.ts";
import { startPostgres } from "./support/postgres.ts";
import { WRONG } from "./support/postgres_stores.ts";

const ACTORS = 4;
const ACTS = Number(Deno.env.get("ACTS") ?? 40);
const SEED = Number(Deno.env.get("SEED") ?? 41);
const QUEUES = ["default", "low"];

const postgres = await startPostgres({ config: { deadlock_timeout: "50ms" } });
Deno.test.afterAll(async () => await postgres[Symbol.asyncDispose]());

const Quick = defineJob("Quick", () => {});
const Flaky = defineJob("Flaky", (ctx) => {
  if (ctx.attempt < 2) throw new Error("not yet");
}, { retry: 2, retryIn: () => 0 });
const Waiting = defineJob("Waiting", async (ctx, key: string) => {
  await ctx.step("first", () => 1);
  await ctx.waitFor("signal", { key, timeout: "50ms" });
  await ctx.step("last", () => 2);
});
const CLASSES = ["Quick", "Quick", "Flaky", "Waiting"];

/** Runs acts one after the other. Returns the errors that a caller can't expect. */
async function act(url: string, seed: number, batches: Set<string>): Promise<unknown[]> {
  await using store = await openStore(url);
  const client = new Client({ store, onUnregistered: () => {} });
  const random = new Random(seed);
  const one = <T>(of: readonly T[]): T => of[random.between(0, of.length - 1)]!;
  const key = () => `k${random.between(0, 3)}`;
  const request = () => ({
    ...{ class: one(CLASSES), args: [key()], queue: one(QUEUES) },
    ...(random.chance(0.3) && { unique_for: "1h", unique_key: key() }),
    ...(random.chance(0.2) && { id: key() + random.between(0, 20), created_at: 1_700_000_000 }),
    ...(random.chance(0.3) && { group: key() }),
    ...(random.chance(0.2) && { throttle: "1/1s" }),
    ...(random.chance(0.2) && { delayMs: random.between(1, 20) }),
    ...(random.chance(0.4) && batches.size > 0 && { batch: one([...batches]) }),
  });
  const acts = [
    ...[0, 1, 2].map(() => () => client.tryPush(request())),
    () => Array.fromAsync(client.pushMany(Array.from({ length: 5 }, request))),
    async () => void batches.add((await client.batches.open({ complete: { class: "Quick", args: ["end"] } })).id),
    async () => {
      const id = one([...batches, ""]);
      if (id === "" || batches.size < 3) return;
      batches.delete(id);
      await client.batches.close(id);
      if (random.chance(0.5)) await client.batches.cancel(id);
    },
    async () => {
      const refs = (await store.jobs.find({ text: key(), limit: 4 })).map(({ ref }) => ref);
      await store.jobs.edit(random.chance(0.5) ? refs : refs.toReversed(), one(["requeue", "kill", "delete"]));
    },
    () => store.jobs.edit({ in: { in: "dead" }, limit: 5 }, "requeue"),
    () => store.admin.configure(one(QUEUES), { pause: random.between(0, 5) }),
    () => store.admin.configure(one(QUEUES), { eachGroup: true, limit: { running: random.between(1, 3) } }),
    () => store.admin.configure(one(QUEUES), { limit: { running: random.between(2, 6) } }),
    () => store.jobs.promote(5),
    () => store.jobs.rescue({ worker: "host:0:ffffffffffff", limit: 10, maxRescues: 3 }),
    async () => {
      const worker = await register(store, `host:${seed}:bbbbbbbbbbbb`);
      const leases = await takeUpTo(store, worker, 4, random.chance(0.5) ? QUEUES : QUEUES.toReversed());
      const release = leases.map(({ token }) => ({ kind: "release", token }) as const);
      await store.jobs.settle(worker, random.chance(0.5) ? release : release.toReversed());
      await store.workers.deregister(worker);
    },
    () => client.signal(key(), "1"),
    () => store.batches.tend(10),
    () => store.admin.stats(),
  ];
  const errors: unknown[] = [];
  for (let i = 0; i < ACTS; i++) {
    try {
      await one(acts)();
    } catch (error) {
      // Another actor has closed the batch, or an ID belongs to another job.
      if (!(error instanceof BatchError) && !(error as Error).name.startsWith("Invalid")) errors.push(error);
    }
  }
  return errors;
}

Deno.test("random verbs on few keys don't fail by deadlocks, and everything ends", async () => {
  const name = await postgres.create();
  const url = postgres.url(name);
  const start = () =>
    startServer({
      ...{ store: url, jobs: [Quick, Flaky, Waiting], log: false },
      settings: { queues: QUEUES, concurrency: 4 },
    });
  const servers = [await start(), await start()] as const;
  const batches = new Set<string>();
  const errors = await Promise.all(Array.from({ length: ACTORS }, (_, i) => act(url, SEED * 100 + i, batches)));
  assertEquals(errors.flat().map(String), []);
  const [{ store, client }] = servers;
  for (const queue of QUEUES) {
    await store.admin.configure(queue, { pause: false });
    await store.admin.configure(queue, { limit: {} });
  }
  for (const id of batches) await client.batches.close(id);
  await until(async () => {
    const { enqueued, scheduled, retry, running } = await store.admin.stats();
    return enqueued + scheduled + retry + running === 0;
  }, async () => `all jobs end: ${JSON.stringify(await store.admin.stats())}`);
  assert((await store.admin.stats()).processed > 0);
  for (const server of servers) await server.stop();
  assertEquals(await postgres.sql(WRONG, name), "");
});

Deno.test("workers that declare classes and add figures of them at once don't deadlock, whichever order they have them in", async () => {
  const name = await postgres.create();
  const url = postgres.url(name);
  const histogram = new Array(RUN_BOUNDS_MS.length + 1).fill(0);
  const classes = ["A", "B"].map((one) => ({ class: one, processed: 1, failed: 0, workedMs: 1, histogram }));
  const queues = ["a", "b"].map((queue) => ({ queue, size: 1, latencyMs: 1 }));
  const count = (what: string) => postgres.sql(`SELECT ${what} WHERE datname = current_database()`, name);
  const sessions = "count(*) FROM pg_stat_activity";
  {
    await using one = await openStore(url);
    await using other = await openStore(url);
    await using holder = await openClient(url);
    const collide = async (last: string, add: (store: Store, isReversed: boolean) => Promise<void>) => {
      await add(one, false);
      let both: Promise<unknown> | undefined;
      await holder.client.transaction("1 AS one", async (query) => {
        await query(`SELECT 1 FROM jobs.${last} FOR UPDATE`, []);
        const reversed = add(one, true);
        await until(async () => await waiting() === 1, "the one that begins with the last row waits");
        both = Promise.all([reversed, add(other, false)]);
        await until(async () => await waiting() === 2, "the other one waits, too");
      });
      await both;
    };
    const waiting = async () => Number(await postgres.sql(`SELECT ${sessions} WHERE wait_event_type = 'Lock'`, name));
    await collide(
      "measure WHERE class = 'B'",
      (store, isReversed) => store.series.add("classes", isReversed ? classes.toReversed() : classes),
    );
    await collide("class WHERE name = 'B'", (store, isReversed) => {
      // A new declaration is written.
      const declared = classes.map((one) => ({ name: one.class, options: `{"queue":"${isReversed ? "a" : "b"}"}` }));
      return store.classes.declare(isReversed ? declared.toReversed() : declared);
    });
    await collide(
      "queue_sample WHERE queue = 'b'",
      (store, isReversed) => store.series.add("queues", isReversed ? queues.toReversed() : queues),
    );
  }
  // A session reports its figures when it ends. One is that of this query.
  await until(async () => await count(sessions) === "1", "the sessions end");
  assertEquals(await count("deadlocks FROM pg_stat_database"), "0");
});

async function openClient(url: string): Promise<{ readonly client: PostgresClient } & AsyncDisposable> {
  const client = await PostgresClient.create(parseAddress(url), {
    waitMs: 0,
    replyTimeoutMs: 60_000,
    idleTimeoutMs: 60_000,
  });
  return { client, [Symbol.asyncDispose]: () => client.close() };
}
