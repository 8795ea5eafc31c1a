/**
 * Migrates a store from SQLite to Redis and back, stopped and killed at any step.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import type { Place } from "../src/store/port/entries.ts";
import { Client, type PushResult } from "../src/client/client.ts";
import { Crontab } from "../src/client/crontab.ts";
import { previousRunOf } from "../src/cron/previous_run.ts";
import { getField, setFields } from "../src/job/raw.ts";
import { type MigrateProgress, migrateStore } from "../src/store/ops/migrate/migrate.ts";
import { MigrateError } from "../src/store/ops/migrate/refusals.ts";
import { openStore } from "../src/store/open.ts";
import { cancelJobs } from "../src/store/ops/cancel.ts";
import { ending } from "./store_contract/flow_nodes.ts";
import { SLACK_MS } from "./store_contract/harness.ts";
import { openSqliteTestStore } from "./support/stores.ts";
import { temporaryFolder } from "./support/process.ts";
import { startRedis } from "./support/redis.ts";
import {
  entries,
  HOUR_MS,
  inDead,
  inRetry,
  jid,
  job,
  jobs,
  LAPSE_MS,
  logTexts,
  numbersIn,
  register,
  takeUpTo,
} from "./store_contract/jobs.ts";
import type { Store } from "../src/store/admin/store.ts";
import { interceptStore } from "./support/intercept.ts";

const redis = await startRedis();
Deno.test.afterAll(async () => await redis[Symbol.asyncDispose]());

/** Returns the job whose place of a throttle is free next. */
function placeOf(result: PushResult): string | undefined {
  return result.kind === "throttled" ? result.throttledBy : undefined;
}

/** Opens two empty stores. The time of the SQLite store can be advanced. */
async function openBoth(): Promise<
  { sqlite: Store; redis: Store; advance(ms: number): void } & AsyncDisposable
> {
  await redis.cli("FLUSHALL");
  const sqlite = await openSqliteTestStore();
  const other = await openStore(redis.url);
  return {
    sqlite: sqlite.store,
    redis: other,
    advance: (ms) => sqlite.advance(ms),
    async [Symbol.asyncDispose]() {
      await other[Symbol.asyncDispose]();
      await sqlite[Symbol.asyncDispose]();
    },
  };
}

const PLACES: Place[] = [
  { in: "queue", queue: "default" },
  { in: "queue", queue: "mail" },
  { in: "scheduled" },
  { in: "retry" },
  { in: "dead" },
];

/** Makes a run of a cron entry wait for the end of its previous job. */
async function setWaiting(store: Store, name: string): Promise<void> {
  const { entries: [entry], now } = await store.cron.read([name]);
  const { version, state, next } = entry!;
  const waiting = JSON.stringify({ ...JSON.parse(state), waiting: now });
  await store.cron.write([{ name, version, state: waiting, next, jobs: [], awaited: true, records: [] }]);
}

/** Ends the jobs of all runs of cron entries. */
async function endRuns(store: Store, worker: string): Promise<void> {
  const leases = await takeUpTo(store, worker, 10);
  const outcomes = leases.map(({ token, payload }) => {
    const { jid, occurrence } = JSON.parse(payload);
    return { kind: "ack" as const, token, jid, occurrence: occurrence.name };
  });
  await store.jobs.settle(worker, outcomes);
}

/** Returns the contents of a store, place by place. */
async function everything(store: Store): Promise<unknown[]> {
  return await Promise.all(PLACES.map(async (place) => {
    const all = await entries(store, place);
    return all.map(({ payload, at }) => [payload.trimEnd(), at]);
  }));
}

/** Fills a store with a job in each place. */
async function fill(store: Store): Promise<void> {
  const worker = await register(store);
  await inRetry(store, worker, jobs(10, 12), HOUR_MS);
  await inDead(store, worker, jobs(20, 22));
  await store.jobs.enqueue([
    ...jobs(30, 32, { delayMs: HOUR_MS }),
    ...jobs(40, 1_250),
    job(5_000, {
      queue: "mail",
      payload: '{"class":"A","args":[1.0,12345678901234567890],"queue":"mail","jid":"big"}',
    }),
  ]);
  await store.workers.deregister(worker);
}

for (const [name, pick] of [["from SQLite", false], ["from Redis", true]] as const) {
  Deno.test(`migrate: all jobs keep their places, their payloads and their order, ${name}`, async () => {
    await using t = await openBoth();
    const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
    await fill(from);
    await from.admin.configure("mail", { pause: true });
    await from.admin.configure("default", { pause: HOUR_MS });
    const limit = { running: 3, starts: { count: 5, perMs: HOUR_MS } };
    await from.admin.configure("mail", { limit });
    await from.admin.configure("default", { limit });
    await to.admin.configure("default", { limit: { running: 1 } });
    const before = await everything(from);
    const told: MigrateProgress[] = [];
    const result = await migrateStore(from, to, { onProgress: (progress) => told.push(progress) });
    assertEquals(result, { jobs: 1_221, cron: 0, left: { processed: 6, failed: 6 } });
    assertEquals(await everything(to), before);
    assertEquals((await everything(from)).flat(), []);
    assertEquals(
      (await to.admin.stats()).queues.map(({ name, paused, pausedForMs }) => [name, paused, pausedForMs !== undefined]),
      [["default", true, true], ["mail", true, false]],
    );
    assertEquals((await to.admin.stats()).queues.map((queue) => queue.limit), [
      { running: 1, taken: 0, started: 0, freeInMs: 0 },
      { ...limit, taken: 0, started: 0, freeInMs: 0 },
    ]);
    assertEquals((await from.admin.stats()).queues.filter((queue) => queue.limit), []);
    assertEquals(told.at(-1), { moved: 1_221, total: 1_221 });
    assert(told.every(({ moved }, i) => i === 0 || moved >= told[i - 1]!.moved));
  });

  Deno.test(`migrate: the next push of a debounced job replaces it at the target, killed at any step, ${name}`, async () => {
    for (let n = 0;; n++) {
      await using t = await openBoth();
      const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
      const push = async (store: Store, version: string, options = {}) =>
        await new Client({ store, onUnregistered: () => {} }).push("Reindex", [7, version], {
          debounce: "30m",
          debounce_key: "args[0]",
          ...options,
        });
      const first = await push(from, "draft");
      const dying = mortal(n);
      const done = await migrateStore(dying.wrap(from), dying.wrap(to)).catch((error) => {
        if (!(error instanceof Killed)) throw error;
      });
      if (!done) await migrateStore(from, to);
      assertEquals(await push(to, "final", { debounce_max: "1h" }), first, `killed at step ${n}`);
      const waiting = await entries(to, { in: "scheduled" });
      assertEquals(waiting.map(({ payload }) => getField(payload, "args")), [[7, "final"]], `killed at step ${n}`);
      if (done) return;
    }
  });

  Deno.test(`migrate: no push replaces a debounced job that has begun and sleeps, ${name}`, async () => {
    await using t = await openBoth();
    const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
    const push = async (store: Store, version: number) =>
      await new Client({ store, onUnregistered: () => {} }).push("Reindex", [version], {
        debounce: "30m",
        debounce_key: "one",
      });
    const begun = await push(from, 1);
    const [waiting] = await entries(from, { in: "scheduled" });
    assertEquals(await from.jobs.edit([waiting!.ref], "requeue"), 1);
    const worker = await register(from);
    const [lease] = await takeUpTo(from, worker);
    await from.jobs.settle(worker, [{ kind: "snooze", ...lease!, delayMs: HOUR_MS }]);
    await from.workers.deregister(worker);
    await migrateStore(from, to);
    assert(await push(to, 2) !== begun);
    const kept = await entries(to, { in: "scheduled" });
    assertEquals(kept.map(({ payload }) => getField(payload, "args")).toSorted(), [[1], [2]]);
  });

  Deno.test(`migrate: a debounced job doesn't displace the one that waits at the target, ${name}`, async () => {
    await using t = await openBoth();
    const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
    const push = async (store: Store, version: number) =>
      await new Client({ store, onUnregistered: () => {} }).push("Reindex", [version], {
        debounce: "30m",
        debounce_key: "one",
      });
    await push(from, 1);
    const kept = await push(to, 2);
    await migrateStore(from, to);
    assertEquals(await push(to, 3), kept);
    const waiting = await entries(to, { in: "scheduled" });
    assertEquals(waiting.map(({ payload }) => getField(payload, "args")).toSorted(), [[1], [3]]);
  });

  Deno.test(`migrate: a throttled push is refused at the target, killed at any step, ${name}`, async () => {
    for (let n = 0;; n++) {
      await using t = await openBoth();
      const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
      const push = async (store: Store, throttle_key: string) =>
        await new Client({ store, onUnregistered: () => {} })
          .tryPush({ class: "Hook", args: [7], throttle: "2/1h", throttle_key });
      const first = await push(from, "shop-7");
      await push(from, "shop-7");
      await push(from, "shop-8");
      const kept = [await push(to, "shop-9"), await push(to, "shop-9")];
      await push(from, "shop-9");
      const dying = mortal(n);
      const done = await migrateStore(dying.wrap(from), dying.wrap(to)).catch((error) => {
        if (!(error instanceof Killed)) throw error;
      });
      if (!done) await migrateStore(from, to);
      const refused = await push(to, "shop-7");
      assert(refused.kind === "throttled");
      assertEquals(refused.throttledBy, first.jid, `killed at step ${n}`);
      assert(refused.retryInMs > HOUR_MS - SLACK_MS && refused.retryInMs <= HOUR_MS, `${refused.retryInMs}`);
      assertEquals(typeof (await push(to, "shop-8")).jid, "string", "one place is left");
      assertEquals((await push(to, "shop-8")).jid, undefined);
      assertEquals(placeOf(await push(to, "shop-9")), kept[0]!.jid, "the target's pushes are kept");
      assertEquals((await from.transfer.read("throttle")).rows, []);
      // And back, with the remaining time.
      await migrateStore(to, from);
      assertEquals(placeOf(await push(from, "shop-7")), first.jid);
      if (done) return;
    }
  });

  Deno.test(`migrate: a repeated idempotent push is recognized at the target, killed at any step, ${name}`, async () => {
    for (let n = 0;; n++) {
      await using t = await openBoth();
      const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
      const clientOf = (store: Store) => new Client({ store, onUnregistered: () => {} });
      const push = (store: Store, id: string, arg = 7) =>
        clientOf(store).tryPush({ class: "Mail", args: [arg], id, within: "2h" });
      const flow = (store: Store) => clientOf(store).flow("f", { a: { job: ["Mail", []] } }, { id: "order-7" });
      const first = await push(from, "order-7");
      const { id } = await flow(from);
      await push(from, "order-8");
      const kept = await push(to, "order-8");
      const dying = mortal(n);
      const done = await migrateStore(dying.wrap(from), dying.wrap(to)).catch((error) => {
        if (!(error instanceof Killed)) throw error;
      });
      if (!done) await migrateStore(from, to);
      assertEquals(await push(to, "order-7"), { kind: "existed", jid: first.jid! });
      assertEquals((await push(to, "order-8")).jid, kept.jid, "the target's keys are kept");
      assertEquals(await flow(to).then(({ id, existed }) => [id, existed]), [id, true]);
      await assertRejects(() => push(to, "order-7", 8), Error, "was pushed with it");
      assertEquals((await from.transfer.read("once")).rows, []);
      const [left] = (await to.transfer.read("once")).rows.filter(({ key }) => key === "id:order-7");
      assert(left!.leftMs > 2 * HOUR_MS - SLACK_MS && left!.leftMs <= 2 * HOUR_MS, `${left!.leftMs}`);
      if (done) return;
    }
  });

  Deno.test(`migrate: a program that pushes meanwhile loses nothing, and the migration says so, ${name}`, async () => {
    for (const when of ["mark ", "put job", "drop job"]) {
      await using t = await openBoth();
      const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
      const client = new Client({ store: from, onUnregistered: () => {} });
      const replace = (n: number) =>
        client.push("Hook", [n], { unique_for: "1h", unique_key: "k", on_duplicate: "replace" });
      const debounced = (n: number) => client.push("Later", [n], { debounce: "1h", debounce_key: "k" });
      const [hook, later] = [await replace(1), await debounced(1)];
      const batch = await client.batches.open({ name: "open" });
      await batch.add("Row", [1]);
      await batch.flush();
      let more: string | undefined;
      const during = (store: Store) =>
        interceptStore(store, async ({ verb, args, pass }) => {
          if (`${verb} ${verb === "transfer.mark" ? "" : args[0]}` === `transfer.${when}` && more === undefined) {
            more = await client.push("More", []);
            assertEquals([await replace(2), await debounced(2)], [hook, later]);
            await batch.add("Row", [2]);
            await batch.close();
          }
          return await pass();
        });
      const error = await assertRejects(() => migrateStore(during(from), during(to)), MigrateError, "run this again");
      assert(/stop (them|the programs)/.test(error.message), error.message);
      await migrateStore(from, to).catch((error) => assertStringIncludes(error.message, "run this again"));
      await migrateStore(from, to);
      const payloads = [
        ...await entries(to, { in: "queue", queue: "default" }),
        ...await entries(to, { in: "scheduled" }),
      ].map(({ payload }) => JSON.parse(payload)).map(({ class: name, args }) => `${name} ${args}`);
      assertEquals(payloads.sort(), ["Hook 2", "Later 2", "More ", "Row 1", "Row 2"], when);
      const { total, pending, state } = (await to.batches.read({ ids: [batch.id] })).batches[0]!;
      assertEquals({ total, pending, state }, { total: 2, pending: 2, state: "running" }, when);
    }
  });

  Deno.test(`migrate: all throttles arrive, also many, and some with thousands of pushes, ${name}`, async () => {
    await using t = await openBoth();
    const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
    const pushes = (count: number) => Array.from({ length: count }, (_, i) => ({ jid: jid(i), agoMs: i }));
    const counts = new Map(Array.from({ length: 300 }, (_, i) => [`key-${i}`, i % 100 === 7 ? 2_500 : 1 + i % 3]));
    for (const [key, count] of counts) {
      await from.transfer.put("throttle", [{ key, perMs: HOUR_MS, pushes: pushes(count) }]);
    }
    await migrateStore(from, to);
    const arrived = new Map<string, number>();
    for (let cursor: string | undefined;;) {
      const { rows, next } = await to.transfer.read("throttle", cursor === undefined ? {} : { cursor });
      for (const { key, pushes } of rows) arrived.set(key, pushes.length);
      if ((cursor = next) === undefined) break;
    }
    assertEquals(Object.fromEntries([...arrived].toSorted()), Object.fromEntries([...counts].toSorted()));
    assertEquals((await from.transfer.read("throttle")).rows, []);
  });

  Deno.test(`migrate: a job that was replaced after the migration died arrives in its new version, ${name}`, async () => {
    for (let n = 0;; n++) {
      await using t = await openBoth();
      const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
      const push = async (version: number, options: Record<string, string>) =>
        await new Client({ store: from, onUnregistered: () => {} }).push("Sync", [7, version], options);
      const lasting = { debounce: "30m", debounce_key: "one" };
      const waiting = { unique_for: "1h", unique_key: "args[0]", on_duplicate: "replace" };
      for (const options of [lasting, waiting]) await push(1, options);
      const dying = mortal(n);
      const done = await migrateStore(dying.wrap(from), dying.wrap(to)).catch((error) => {
        if (!(error instanceof Killed)) throw error;
      });
      if (done) return;
      const isLeft = (await from.admin.stats()).enqueued > 0;
      const pushed = isLeft ? [await push(2, lasting), await push(2, waiting)] : [];
      await migrateStore(from, to);
      for (const jid of pushed) {
        const versions = (await to.jobs.find([jid!])).map(({ payload }) => (getField(payload, "args") as number[])[1]);
        assertEquals(versions, [2], `killed at step ${n}`);
      }
    }
  });

  Deno.test(`migrate: the next push replaces a migrated job with on_duplicate, ${name}`, async () => {
    await using t = await openBoth();
    const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
    for (const options of [{}, { in: "1h" }]) {
      const push = async (store: Store, version: number) =>
        await new Client({ store, onUnregistered: () => {} }).tryPush({
          ...{ class: "Sync", args: [7, version], unique_for: "1h", unique_key: "args[0]" },
          ...{ on_duplicate: "replace", ...options },
        });
      const first = await push(from, 1);
      await migrateStore(from, to);
      assertEquals(await push(to, 2), { kind: "replaced", jid: first.jid! });
      await to.jobs.edit((await to.jobs.find([first.jid!])).map(({ ref }) => ref), "delete");
    }
  });

  Deno.test(`migrate: limits and pauses of groups are copied, then end at the source, killed at any step, ${name}`, async () => {
    for (let n = 0;; n++) {
      await using t = await openBoth();
      const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
      await from.jobs.enqueue([{ ...job(1), group: "a", payload: job(1).payload.replace(/}$/, ',"group":"a"}') }]);
      await from.admin.configure("default", { eachGroup: true, limit: { running: 2 } });
      await from.admin.configure("default", {
        group: "a",
        limit: { starts: { count: 5, perMs: HOUR_MS }, weight: 3, forMs: HOUR_MS },
      });
      await from.admin.configure("default", { group: "kept", limit: { running: 7 } });
      await to.admin.configure("default", { group: "kept", limit: { running: 1 } });
      await from.admin.configure("default", { group: "a", pause: true });
      await from.admin.configure("default", { group: "idle", pause: HOUR_MS });
      const dying = mortal(n);
      const done = await migrateStore(dying.wrap(from), dying.wrap(to)).catch((error) => {
        if (!(error instanceof Killed)) throw error;
      });
      if (!done) await migrateStore(from, to);
      const { groups, each } = await to.admin.groups("default");
      assertEquals(each, { running: 2 }, `killed at step ${n}`);
      assertEquals(
        groups.map(({ name, isOwn, limit, weight, endsInMs, paused, pausedForMs }) => [
          name,
          isOwn && [limit?.running, limit?.starts?.count, weight, endsInMs !== undefined],
          paused && pausedForMs !== undefined,
          paused,
        ]),
        [
          ["a", [undefined, 5, 3, true], false, true],
          ["idle", false, true, true],
          ["kept", [1, undefined, 1, false], false, false],
        ],
        `killed at step ${n}`,
      );
      assertEquals(await from.admin.groups("default"), { groups: [], ungrouped: 0 }, `killed at step ${n}`);
      if (done) return;
    }
  });

  Deno.test(`migrate: pauses are copied, then end at the source; a kill at any step loses none, ${name}`, async () => {
    for (let n = 0;; n++) {
      await using t = await openBoth();
      const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
      await from.jobs.enqueue(jobs(1, 2));
      const queues = ["*", "default", "empty"];
      for (const queue of queues) await from.admin.configure(queue, { pause: true });
      const dying = mortal(n);
      const done = await migrateStore(dying.wrap(from), dying.wrap(to)).catch((error) => {
        if (!(error instanceof Killed)) throw error;
      });
      const [here, there] = [await pausedIn(from), await pausedIn(to)];
      for (const queue of queues) assert(here.includes(queue) || there.includes(queue), `killed at step ${n}`);
      await migrateStore(from, to);
      assertEquals([await pausedIn(from), await pausedIn(to)], [[], queues], `killed at step ${n}`);
      await to.admin.configure("default", { pause: false });
      await migrateStore(to, from);
      assertEquals(await pausedIn(from), ["*", "empty"]);
      if (done) break;
    }
  });

  Deno.test(`migrate: killed at any step and run again, it loses and duplicates no job, ${name}`, async () => {
    // Dies right before or right after its n-th step; then a new run does the rest.
    for (let n = 0;; n++) {
      await using t = await openBoth();
      const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
      const worker = await register(from);
      await inRetry(from, worker, jobs(10, 11), HOUR_MS);
      await from.jobs.enqueue([...jobs(1, 3), job(1), job(1), job(30, { delayMs: HOUR_MS })]);
      await from.workers.deregister(worker);
      const before = await everything(from);
      const dying = mortal(n);
      const done = await migrateStore(dying.wrap(from), dying.wrap(to)).catch((error) => {
        if (!(error instanceof Killed)) throw error;
      });
      await migrateStore(from, to);
      assertEquals(await everything(to), before, `killed at step ${n}`);
      assertEquals((await everything(from)).flat(), []);
      if (done) break;
    }
  });

  Deno.test(`migrate: killed at any step and run again, batches and flows arrive as they were, ${name}`, async () => {
    for (let n = 0;; n++) {
      await using t = await openBoth();
      const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
      const client = new Client({ store: from, onUnregistered: () => {} });
      const { id } = await client.flow("f", { a: { job: ["A", []] }, b: { job: ["B", []], after: "a" } });
      const batch = await client.batches.open({ name: "open", tags: ["t"] });
      await batch.add("Row", [1]);
      await batch.flush();
      const state = async (store: Store) => [
        ...[
          (await store.batches.read({ ids: [id] })).batches[0],
          (await store.batches.read({ ids: [batch.id] })).batches[0],
        ],
        ...(await store.flows.nodes(id)).nodes,
      ];
      const before = await state(from);
      const dying = mortal(n);
      const done = await migrateStore(dying.wrap(from), dying.wrap(to)).catch((error) => {
        if (!(error instanceof Killed)) throw error;
      });
      await migrateStore(from, to);
      assertEquals(await state(to), before, `killed at step ${n}`);
      assertEquals(await state(from), [undefined, undefined], `killed at step ${n}`);
      if (done) break;
    }
  });

  Deno.test(`migrate: killed at any step and run again, it migrates byte-identical jobs once each, ${name}`, async () => {
    // Without a jid, so that the jobs are identical; more than one batch of them.
    const alike = { payload: '{"class":"A","args":[]}' };
    for (let n = 0;; n++) {
      await using t = await openBoth();
      const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
      await from.jobs.enqueue(Array.from({ length: 600 }, () => job(1, alike)));
      const dying = mortal(n);
      const done = await migrateStore(dying.wrap(from), dying.wrap(to)).catch((error) => {
        if (!(error instanceof Killed)) throw error;
      });
      await migrateStore(from, to);
      const sizes = [(await from.admin.stats()).enqueued, (await to.admin.stats()).enqueued];
      assertEquals(sizes, [0, 600], `killed at step ${n}`);
      if (done) break;
    }
  });
}

Deno.test("migrate: workers of the target may run, and jobs that they finish don't return", async () => {
  await using t = await openBoth();
  await t.sqlite.jobs.enqueue(jobs(1, 3));
  const dying = mortal(5); // after the first batch was stored; before it, a key was put and dropped
  await assertRejects(() => migrateStore(t.sqlite, dying.wrap(t.redis)), Killed);
  assertEquals([(await t.sqlite.admin.stats()).enqueued, (await t.redis.admin.stats()).enqueued], [3, 3]);
  const worker = await register(t.redis);
  const leases = await takeUpTo(t.redis, worker);
  assertEquals(leases.length, 3);
  await t.redis.jobs.settle(worker, leases.map(({ token }) => ({ kind: "ack", token })));
  await migrateStore(t.sqlite, t.redis);
  assertEquals((await t.redis.admin.stats()).enqueued, 0);
  assertEquals((await t.sqlite.admin.stats()).enqueued, 0);
});

Deno.test("migrate: jobs arrive behind those of the target", async () => {
  await using t = await openBoth();
  await t.redis.jobs.enqueue([job(1)]);
  await t.sqlite.jobs.enqueue([job(2), job(3)]);
  await migrateStore(t.sqlite, t.redis);
  assertEquals(await numbersIn(t.redis, { in: "queue", queue: "default" }), [1, 2, 3]);
});

Deno.test("migrate: refuses while workers of the source are alive, and migrates the leases of offline ones", async () => {
  await using t = await openBoth();
  const worker = await register(t.sqlite);
  await t.sqlite.jobs.enqueue(jobs(1, 3));
  await takeUpTo(t.sqlite, worker, 2);
  await assertRejects(() => migrateStore(t.sqlite, t.redis), MigrateError, `stop ${worker} first`);
  assertEquals((await t.redis.admin.stats()).enqueued, 0);
  t.advance(LAPSE_MS);
  assertEquals((await migrateStore(t.sqlite, t.redis)).jobs, 3);
  assertEquals(await numbersIn(t.redis, { in: "queue", queue: "default" }), [1, 2, 3]);
});

for (const direction of ["from SQLite", "from Redis"]) {
  Deno.test(`migrate: a job that was cancelled while a worker ran it ends, and doesn't move, ${direction}`, async () => {
    await using t = await openBoth();
    const [from, to] = direction === "from SQLite" ? [t.sqlite, t.redis] : [t.redis, t.sqlite];
    const client = new Client({ store: from });
    const batch = await client.batches.open();
    await batch.add("HardJob", [1]);
    await batch.close();
    await from.jobs.enqueue([job(2), job(3)]);
    const worker = await register(from);
    const leases = await takeUpTo(from, worker, 2);
    assertEquals(leases.map(({ payload }) => getField(payload, "batch")), [batch.id, undefined]);
    const jids = leases.map(({ payload }) => `${getField(payload, "jid")}`);
    const cancelled = await cancelJobs(from, jids, Date.now());
    assertEquals([...cancelled.values()], ["aborted", "aborted"]);
    await from.workers.deregister(worker);
    assertEquals((await from.admin.stats()).running, 2);

    assertEquals((await migrateStore(from, to)).jobs, 1);
    assertEquals(await numbersIn(to, { in: "queue", queue: "default" }), [3]);
    assertEquals((await to.batches.read({ ids: [batch.id] })).batches[0]?.cancelled, 1);
    for (const jid of jids) {
      assertStringIncludes((await from.results.read({ jids: [jid] })).records[0] ?? "", '"cancelled"');
    }
  });
}

Deno.test("migrate: unique locks are copied", async () => {
  await using t = await openBoth();
  const payload = '{"class":"A","args":[],"queue":"default","jid":"a","unique_key":"k","unique_for":3600}';
  const locked = { jid: "a", queue: "default", payload, unique: { key: "k", ttlMs: HOUR_MS } };
  await t.sqlite.jobs.enqueue([locked]);
  await migrateStore(t.sqlite, t.redis);
  assertEquals(await t.redis.jobs.enqueue([{ ...locked, jid: "b" }]), [{ kind: "duplicate", holder: "a" }]);
  assertEquals(await t.sqlite.jobs.enqueue([{ ...locked, jid: "b" }]), [{ kind: "stored" }]);
});

Deno.test("migrate: a job that has begun gets no lock that ended at its start, wherever it waits", async () => {
  const payload =
    '{"class":"A","args":[],"queue":"default","jid":"a","unique_key":"k","unique_for":3600,"unique_until":"start"}';
  for (
    const [fields, at, isLocked] of [[{}, undefined, true], [{ begun: "true" }, HOUR_MS, false], [
      { has_steps: "true" },
      HOUR_MS,
      false,
    ], [{ begun: "true" }, undefined, false]] as const
  ) {
    await using t = await openBoth();
    const waiting = { jid: "a", queue: "default", payload: setFields(payload, fields) };
    await t.sqlite.jobs.enqueue([at === undefined ? waiting : { ...waiting, delayMs: at }]);
    await migrateStore(t.sqlite, t.redis);
    const other = { jid: "b", queue: "default", payload: payload.replace('"jid":"a"', '"jid":"b"') };
    const [result] = await t.redis.jobs.enqueue([{ ...other, unique: { key: "k", ttlMs: HOUR_MS } }]);
    assertEquals([fields, result!.kind], [fields, isLocked ? "duplicate" : "stored"]);
  }
});

for (const direction of ["from SQLite", "from Redis"]) {
  Deno.test(`migrate: steps and the stream of a job are copied, and a signal still ends its wait, ${direction}`, async () => {
    await using t = await openBoth();
    const [from, to] = direction === "from SQLite" ? [t.sqlite, t.redis] : [t.redis, t.sqlite];
    const worker = await register(from);
    await from.jobs.enqueue([job(1)]);
    const { token } = (await takeUpTo(from, worker, 1))[0]!;
    const lease = { worker, token, jid: jid(1) };
    const record =
      '{"state":"succeeded","since":1,"ended":2,"kind":"step","attempts":1,"value":[12345678901234567890]}';
    await from.steps.remember(lease, { name: "charge", record });
    await from.steps.wait(lease, { name: "go", about: '"kind":"wait","key":"k"', forMs: HOUR_MS, key: "k" });
    // Two pages.
    const chunk = JSON.stringify("x".repeat(200_000));
    for (let i = 0; i < 2; i++) await from.streams.append(lease, { attempt: 1, from: i, chunks: [chunk] });
    const payload = setFields(job(1).payload, { has_steps: "true" });
    const child = setFields(job(2).payload, { parent: `{"jid":"${jid(1)}","step":"child"}` });
    await from.steps.wait(lease, {
      name: "child",
      about: '"kind":"child","child":"2"',
      forMs: HOUR_MS,
      child: job(2, { payload: child }),
    });
    await from.jobs.settle(worker, [
      { kind: "snooze", token, jid: jid(1), steps: true, delayMs: HOUR_MS, payload },
    ]);
    await from.workers.deregister(worker);
    const before = await from.steps.read(jid(1));
    assertEquals((await migrateStore(from, to)).jobs, 2);
    const names = (steps: readonly { name: string }[]) => steps.map(({ name }) => name).sort();
    assertEquals(names(await to.steps.read(jid(1))), names(before));
    assertEquals((await to.steps.read(jid(1))).filter(({ record }) => record.includes("failed")), []);
    assertEquals(await from.steps.read(jid(1)), []);
    assertEquals((await to.streams.read(jid(1), 1))?.parts, [{ last: 2, run: 1, attempt: 1, body: `[${chunk}]` }]);
    assertEquals(await to.steps.signal({ key: "k", data: "1", ttlMs: HOUR_MS }), { reached: jid(1) });
    assertEquals((await to.jobs.promote(10)).moved, 1);
  });
}

for (const direction of ["from SQLite", "from Redis"]) {
  Deno.test(`migrate: a child that ends at the target before its parent arrives wakes the parent, ${direction}`, async () => {
    await using t = await openBoth();
    const [from, to] = direction === "from SQLite" ? [t.sqlite, t.redis] : [t.redis, t.sqlite];
    const owner = await register(from);
    await from.jobs.enqueue([job(1)]);
    const { token } = (await takeUpTo(from, owner, 1))[0]!;
    const child = setFields(job(2).payload, { parent: `{"jid":"${jid(1)}","step":"child"}` });
    await from.steps.wait({ worker: owner, token, jid: jid(1) }, {
      name: "child",
      about: `"kind":"child","child":"${jid(2)}"`,
      forMs: HOUR_MS,
      child: job(2, { payload: child, delayMs: HOUR_MS / 10 }),
    });
    // The child is in an earlier batch than its parent.
    await from.jobs.enqueue(jobs(10, 510).map((one) => ({ ...one, delayMs: HOUR_MS / 2 })));
    const payload = setFields(job(1).payload, { has_steps: "true" });
    const asleep = { kind: "snooze", token, jid: jid(1), steps: true, delayMs: HOUR_MS, payload } as const;
    await from.jobs.settle(owner, [asleep]);
    await from.workers.deregister(owner);

    const stop = new AbortController();
    const signal = stop.signal;
    await assertRejects(() => migrateStore(from, to, { signal, onProgress: () => stop.abort(new Error("enough")) }));
    assertEquals((await from.jobs.find([jid(1)])).length, 1, "the parent is at the source");
    const worker = await register(to);
    assertEquals(await to.jobs.edit((await to.jobs.find([jid(2)])).map(({ ref }) => ref), "requeue"), 1);
    const [lease] = await takeUpTo(to, worker, 1);
    const parent = { jid: jid(1), step: "child", state: "succeeded", outcome: `"value":7` } as const;
    await to.jobs.settle(worker, [{ kind: "ack", token: lease!.token, parent }]);

    await migrateStore(from, to);
    assertEquals((await to.jobs.promote(1)).moved, 1, "the parent is due");
    const [again] = await takeUpTo(to, worker, 1);
    const wait = { name: "child", about: "", forMs: HOUR_MS };
    const ended = await to.steps.wait({ worker, token: again!.token, jid: jid(1) }, wait);
    assertMatch(ended!.record, /^\{"state":"succeeded",.*"value":7\}$/);
  });

  Deno.test(`migrate: a wait that ends at the source after its steps were copied ends at the target, ${direction}`, async () => {
    await using t = await openBoth();
    const [from, to] = direction === "from SQLite" ? [t.sqlite, t.redis] : [t.redis, t.sqlite];
    const waiting = `{"state":"waiting","until":9999999999999,"since":1,"kind":"wait","key":"k"}`;
    const done = `{"state":"succeeded","since":1,"ended":2,"kind":"wait","key":"k","value":1}`;
    const put = (a: string, b: string) =>
      to.transfer.put("step", [{
        ...{ jid: jid(1), receives: true },
        steps: [{ name: "a", record: a }, { name: "b", record: b }],
      }]);
    await put(waiting, done);
    await put(done, waiting);
    assertEquals((await to.steps.read(jid(1))).map(({ name, record }) => [name, record]).sort(), [
      ["a", done],
      ["b", done],
    ]);
    assertEquals(await to.steps.signal({ key: "k", data: "1", ttlMs: HOUR_MS }), {});
    assertEquals(await from.steps.read(jid(1)), []);
  });
}

Deno.test("migrate: cron entries are copied with their state, unless the target has the entry", async () => {
  await using t = await openBoth();
  const write = { version: 0, jobs: [], awaited: false };
  await t.sqlite.cron.write([
    { ...write, name: "a", definition: "d-a", state: "s-a", records: ["1", "2"] },
    { ...write, name: "b", definition: "d-b", state: "s-b", records: [] },
  ]);
  await t.redis.cron.write([{ ...write, name: "b", definition: "own", state: "own", records: [] }]);
  assertEquals(await migrateStore(t.sqlite, t.redis), { jobs: 0, cron: 2, left: { processed: 0, failed: 0 } });
  const moved = (await t.redis.cron.page()).entries;
  assertEquals(moved.map(({ name, definition, state }) => [name, definition, state]), [["a", "d-a", "s-a"], [
    "b",
    "own",
    "own",
  ]]);
  assertEquals(await logTexts(t.redis, "cron:a", 10), ["2", "1"]);
  assertEquals((await t.sqlite.cron.page()).entries, []);
});

for (const [direction, pick] of [["from SQLite", false], ["from Redis", true]] as const) {
  Deno.test(`migrate: a cron entry still waits for the job of its previous run, killed at any step, ${direction}`, async () => {
    const overlaps = ["skip", "queue-one", "allow"] as const;
    for (let n = 0;; n++) {
      await using t = await openBoth();
      const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
      const [source, target] = [from, to].map((store) =>
        new Crontab({ store, client: new Client({ store, onUnregistered: () => {} }) })
      ) as [Crontab, Crontab];
      const jids: string[] = [];
      for (const overlap of overlaps) {
        await source.add({ name: overlap, rule: "@yearly", class: "A", overlap });
        jids.push(await source.run(overlap));
      }
      await setWaiting(from, "queue-one");
      const dying = mortal(n);
      const done = await migrateStore(dying.wrap(from), dying.wrap(to), { previousRunOf }).catch((error) => {
        if (!(error instanceof Killed)) throw error;
      });
      await migrateStore(from, to, { previousRunOf });
      const { entries: found } = await to.cron.read(["skip", "queue-one"]);
      assertEquals(found.map(({ live }) => live), jids.slice(0, 2), `killed at step ${n}`);
      assertEquals((await target.history("skip", 10)).map(({ jid }) => jid), [jids[0]]);
      await to.cron.claim(10);
      await endRuns(to, await register(to));
      assertEquals((await to.cron.read([...overlaps])).entries.map(({ live }) => live), [
        undefined,
        undefined,
        undefined,
      ]);
      assertEquals((await to.cron.claim(10)).entries.map(({ name }) => name), ["queue-one"], "its run no longer waits");
      if (done) break;
    }
  });

  Deno.test(`migrate: a cron entry doesn't wait for a job that has ended at the target, ${direction}`, async () => {
    for (const moment of ["before", "during", "never"]) {
      await using t = await openBoth();
      const [from, to] = pick ? [t.redis, t.sqlite] : [t.sqlite, t.redis];
      const source = new Crontab({ store: from, client: new Client({ store: from, onUnregistered: () => {} }) });
      await source.add({ name: "one", rule: "@yearly", class: "A", overlap: "queue-one" });
      await source.run("one");
      await setWaiting(from, "one");
      const worker = await register(to);
      const meanwhile = interceptStore(to, async ({ verb, pass }) => {
        if (moment === "before" && verb === "jobs.find" || moment === "during" && verb === "cron.write") {
          await endRuns(to, worker);
        }
        return await pass();
      });
      await migrateStore(from, meanwhile, { previousRunOf });
      const isEnded = moment !== "never";
      assertEquals((await to.cron.read(["one"])).entries.map(({ live }) => live === undefined), [isEnded], moment);
      if (isEnded) assertEquals((await to.cron.claim(10)).entries.map(({ name }) => name), ["one"], moment);
      assertEquals((await logTexts(to, "cron:one", 10)).length, 1);
    }
  });
}

Deno.test("migrate: stopped by its signal, it leaves the rest in the source", async () => {
  await using t = await openBoth();
  await t.sqlite.jobs.enqueue(jobs(1, 1_200));
  const stop = new AbortController();
  await assertRejects(
    () => migrateStore(t.sqlite, t.redis, { signal: stop.signal, onProgress: () => stop.abort(new Error("enough")) }),
    Error,
    "enough",
  );
  const [here, there] = [await t.sqlite.admin.stats(), await t.redis.admin.stats()];
  assertEquals(here.enqueued + there.enqueued, 1_200);
  assertEquals((await migrateStore(t.sqlite, t.redis)).jobs, here.enqueued);
  assertEquals(await numbersIn(t.redis, { in: "queue", queue: "default" }), jobs(1, 1_200).map((_, i) => i + 1));
});

async function pausedIn(store: Store): Promise<string[]> {
  return (await store.admin.stats()).queues.filter(({ paused }) => paused).map(({ name }) => name);
}

Deno.test("migrate: refuses a store and itself by different addresses, and changes nothing", async () => {
  await using t = await openBoth();
  await using folder = await temporaryFolder();
  await Deno.symlink(folder.path, `${folder.path}/link`);
  const pairs = [
    [t.redis.url, `redis://localhost:${redis.port}`],
    [t.redis.url, `redis://:@127.0.0.1:${redis.port}/0`],
    [`sqlite:${folder.path}/jobs.db`, `sqlite:${folder.path}/../${folder.path.split("/").at(-1)}/jobs.db`],
    [`sqlite:${folder.path}/jobs.db`, `sqlite:${folder.path}/link/jobs.db`],
  ];
  for (const [one, other] of pairs) {
    await using from = await openStore(one!);
    await from.jobs.enqueue([job(1)]);
    await using to = await openStore(other!);
    await assertRejects(() => migrateStore(from, to), MigrateError, "are the same store: expected two stores");
    assertEquals(await numbersIn(from, { in: "queue", queue: "default" }), [1]);
    await from.jobs.edit({ in: { in: "queue", queue: "default" }, limit: 1 }, "delete");
  }
  assertEquals(await redis.cli("KEYS", "jobs:imported:*"), "");
});

Deno.test("migrate: jobs keep their groups and their order", async () => {
  await using t = await openBoth();
  const grouped = (n: number, group: string) => {
    const one = job(n);
    return { ...one, group, payload: one.payload.replace(/}$/, `,"group":"${group}"}`) };
  };
  await t.sqlite.jobs.enqueue([grouped(1, "a"), job(2), grouped(3, "b|c"), grouped(4, "a")]);
  for (const [from, to] of [[t.sqlite, t.redis], [t.redis, t.sqlite]] as const) {
    assertEquals((await migrateStore(from, to)).jobs, 4);
    assertEquals(await numbersIn(to, { in: "queue", queue: "default" }), [2]);
    assertEquals(await numbersIn(to, { in: "queue", queue: "default", group: "a" }), [1, 4]);
    assertEquals(await numbersIn(to, { in: "queue", queue: "default", group: "b|c" }), [3]);
    assertEquals((await from.admin.stats()).enqueued, 0);
  }
});

Deno.test("migrate: a flow continues in the target, with its results and callbacks", async () => {
  await using t = await openBoth();
  const client = new Client({ store: t.sqlite, onUnregistered: () => {} });
  const { id } = await client.flow("nightly", {
    a: { job: ["A", []] },
    b: { job: ["B", []], after: "a" },
    c: { job: ["C", []], after: "b" },
  }, { success: { class: "Done", args: [] } });
  let [from, to] = [t.sqlite, t.redis];
  for (const name of ["a", "b", "c"]) {
    await migrateStore(from, to);
    assertEquals([(await from.batches.read({ ids: [id] })).batches[0], (await from.flows.nodes(id)).nodes], [
      undefined,
      [],
    ]);
    const worker = await register(to);
    const [lease] = await takeUpTo(to, worker, 10);
    assertEquals(getField(lease!.payload, "flow_node"), name);
    await to.jobs.settle(worker, [ending(lease!, "ack", { result: `"${name}"` })]);
    await to.workers.deregister(worker);
    [from, to] = [to, from];
  }
  assertEquals((await from.batches.read({ ids: [id] })).batches[0]?.state, "succeeded");
  const { nodes: ended } = await from.flows.nodes(id, { names: ["a", "b", "c"], results: true });
  assertEquals(ended.map(({ result }) => result), [`"a"`, `"b"`, `"c"`]);
  assertEquals((await from.jobs.find([`${id}-success`])).length, 1);
});

Deno.test("migrate: works between two databases of one server", async () => {
  await using t = await openBoth();
  await using other = await openStore(`redis://127.0.0.1:${redis.port}/1`);
  await t.redis.jobs.enqueue(jobs(1, 3));
  assertEquals((await migrateStore(t.redis, other)).jobs, 3);
});

/** The error of a process that was killed. */
class Killed extends Error {}

/** Stores whose user dies at the n-th change: for an even n right before it, for an odd n right after it. */
function mortal(n: number): { wrap(store: Store): Store } {
  let steps = 0;
  const changes = [
    ...["transfer.mark", "transfer.put", "transfer.drop"],
    ...["jobs.edit", "admin.configure", "cron.write"],
  ];
  return {
    wrap: (store) =>
      interceptStore(store, async ({ verb, pass }) => {
        const counts = changes.includes(verb);
        if (counts && steps++ === n) throw new Killed();
        const result = await pass();
        if (counts && steps++ === n) throw new Killed();
        return result;
      }),
  };
}

Deno.test("jobs that wait aside for a worker with their class wait aside at the target, in order, there and back", async () => {
  await using both = await openBoth();
  const worker = await register(both.sqlite);
  await both.sqlite.jobs.enqueue(jobs(1, 3));
  const leases = await both.sqlite.jobs.take({ queues: ["default"], limit: 10, worker, classes: [] });
  await both.sqlite.jobs.settle(
    worker,
    leases.map(({ token, payload }) => ({ kind: "aside", token, class: "HardJob", delayMs: HOUR_MS, payload })),
  );
  await both.sqlite.workers.deregister(worker);
  await migrateStore(both.sqlite, both.redis);
  assertEquals(await both.redis.jobs.hasQueuedJobs(["default"], ["Other"]), false);
  await migrateStore(both.redis, both.sqlite);
  await register(both.sqlite, worker);
  const take = async (classes: string[]) => {
    const taken = await both.sqlite.jobs.take({ queues: ["default"], limit: 10, worker, classes });
    return taken.map(({ payload }) => (getField(payload, "args") as number[])[0]);
  };
  assertEquals(await take(["Other"]), []);
  assertEquals(await take(["HardJob"]), [1, 2, 3]);
});
