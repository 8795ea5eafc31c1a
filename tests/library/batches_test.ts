/** Batches as a program opens, fills and closes them, on a real store: bad input, duplicates, and what is stored then. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { systemClock } from "../../src/clock.ts";
import { BatchError } from "../../src/client/batch_errors.ts";
import { Client, type ClientOptions } from "../../src/client/client.ts";
import { InvalidPayload } from "../../src/job/errors.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { Crontab, defineJob, startServer } from "../../src/mod.ts";
import { cancelBatch } from "../../src/store/ops/batches.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import { Bench } from "../support/bench.ts";
import { FakeClock } from "../support/clock.ts";
import { until } from "../support/eventually.ts";
import { startRedis } from "../support/redis.ts";
import { sqliteFolder } from "../support/stores.ts";

/** Runs `test` with a client of a new store. */
async function withClient(
  test: (client: Client, store: Store) => Promise<void>,
  options: Partial<ClientOptions> = {},
): Promise<void> {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  await test(new Client({ store, onUnregistered: () => {}, ...options }), store);
}

Deno.test("a job that its unique lock rejects isn't counted, and doesn't fail the batch", () =>
  withClient(async (client) => {
    const batch = await client.batch({}, async (add) => {
      for (const id of [1, 2, 1]) await add("Import", [id], { unique_for: "1h" });
    });
    const { total, state } = (await client.batches.get(batch.id))!;
    assertEquals([batch.added, batch.duplicates, total, state], [2, 1, 2, "running"]);
  }));

Deno.test("a batch of which each job is a duplicate succeeds, as an empty one does", () =>
  withClient(async (client) => {
    await client.push("Import", [1], { unique_for: "1h" });
    const batch = await client.batch({}, (add) => add("Import", [1], { unique_for: "1h" }));
    assertEquals((await client.batches.get(batch.id))!.state, "succeeded");
  }));

Deno.test("adding waits while 1,000 jobs are in memory, so that a program needs no list of its rows", () =>
  withClient(async (_client, store) => {
    const gate = Promise.withResolvers<void>();
    let stored = 0;
    const enqueue: Store["jobs"]["enqueue"] = async (jobs) => {
      await gate.promise;
      stored += jobs.length;
      return await store.jobs.enqueue(jobs);
    };
    const { batches } = store;
    const client = new Client({ store: { jobs: { enqueue }, batches }, onUnregistered: () => {} });
    const batch = await client.batches.open();
    let added = 0;
    const filled = (async () => {
      for (; added < 3_500; added++) await batch.add("Import", [added]);
    })();
    await systemClock.sleep(0);
    for (let before = -1; before !== added; await systemClock.turn()) before = added;
    assert(added >= 999 && added <= 2_000, `${added} added while ${stored} are stored`);
    gate.resolve();
    await filled;
    await batch.close();
    const { total } = (await client.batches.get(batch.id))!;
    assertEquals([added, stored, batch.added, total], [3_500, 3_500, 3_500, 3_500]);
  }));

Deno.test("closing a batch twice is an error that names it, in this program and in another", () =>
  withClient(async (client) => {
    const batch = await client.batches.open({});
    await batch.close();
    await assertRejects(() => batch.close(), BatchError, `Cannot close batch "${batch.id}": it is already closed`);
    await client.batches.close(batch.id); // Its reply may have been lost: not an error.
    await assertRejects(() => client.batches.close("none"), BatchError, `Cannot close batch "none": it doesn't exist`);
  }));

Deno.test("a job that is added while its batch is being closed is rejected: nothing would report its loss", () =>
  withClient(async (client) => {
    const batch = await client.batches.open({});
    const closing = batch.close();
    await assertRejects(() => batch.add("Import", [1]), BatchError, "it is closed");
    await closing;
    assertEquals((await client.batches.get(batch.id))!.total, 0);
  }));

Deno.test("a batch that the store failed to close is closed by a second call", () =>
  withClient(async (_client, store) => {
    let failures = 0;
    const { jobs } = store;
    const batches = {
      create: store.batches.create,
      read: store.batches.read,
      tend: store.batches.tend,
      close: (...args: Parameters<Store["batches"]["close"]>) =>
        ++failures === 1
          ? Promise.reject(new StoreError("unavailable", "The store is down"))
          : store.batches.close(...args),
    };
    const client = new Client({ store: { jobs, batches }, onUnregistered: () => {} });
    const batch = await client.batches.open({});
    await assertRejects(() => batch.close(), StoreError, "The store is down");
    await batch.add("Import", [1]);
    await batch.close();
    const { total, closedAt } = (await client.batches.get(batch.id))!;
    assertEquals([total, closedAt !== undefined], [1, true]);
  }));

Deno.test("waiting for a batch ends when it is closed, not while it is open and has no pending members", () => {
  const clock = new FakeClock();
  return withClient(async (client) => {
    const batch = await client.batches.open();
    let hasEnded = false;
    const waited = client.batches.wait(batch.id).finally(() => hasEnded = true);
    await clock.untilSleeping();
    await clock.advance(50);
    await clock.untilSleeping();
    assertEquals(hasEnded, false);
    await batch.close();
    await clock.advance(100);
    assertEquals((await waited)?.state, "succeeded");
  }, { clock });
});

Deno.test("nothing is added to a closed batch", () =>
  withClient(async (client, store) => {
    const batch = await client.batches.open({});
    await batch.close();
    await assertRejects(() => batch.add("Import", [1]), BatchError, "it is closed; open another one");
    const push = () => client.push("Import", [1], { batch: batch.id });
    await assertRejects(push, BatchError, `Cannot add to batch "${batch.id}": it is closed`);
    const [bulk] = await client.pushBulk({ class: "Import", args: [[1]], batch: batch.id });
    assertEquals(bulk?.refused, `batch "${batch.id}" is closed; only its running members add to it`);
    assertEquals([(await store.admin.stats()).enqueued, (await client.batches.get(batch.id))!.total], [0, 0]);
  }));

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`a running member adds to its closed batch, and no other program in its name, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const Row = defineJob("Row", () => {});
    const Adder = defineJob("Adder", async (ctx) => {
      await ctx.batch!.add(Row, []);
      const inner = await ctx.batch!.open();
      await inner.add(Row, []);
      await inner.close();
    });
    const client = new Client({ store: bench.store, jobs: [Row, Adder] });
    const batch = await client.batch({}, (add) => add(Adder, []));
    for (const by of ["member", { worker: "w" }, null]) {
      const push = () => client.push("Row", [], { batch: batch.id, batch_by: by });
      await assertRejects(push, InvalidPayload, "expected no such option: ctx.batch.add sets it");
    }
    const forged = () => client.push("Row", [], { batch: batch.id, batch_by: { worker: "w", token: "1.t" } });
    await assertRejects(forged, BatchError, "it is closed; only its running members add to it");
    await using _server = await startServer({ store: bench.url, jobs: [Row, Adder] });
    const { state, total, succeeded } = (await client.batches.wait(batch.id, { signal: AbortSignal.timeout(30_000) }))!;
    assertEquals([state, total, succeeded], ["succeeded", 3, 3]);
  });
}

Deno.test("members that another program writes to Redis are counted, when they are pushed or when they start", async () => {
  await using redis = await startRedis();
  await using bench = await Bench.open(redis.url);
  const Row = defineJob("Row", () => {});
  const client = new Client({ store: bench.store, jobs: [Row] });
  const batch = await client.batches.open({ success: { class: Row, args: [] } });
  const payload = (jid: string, more = {}) =>
    JSON.stringify({ class: "Row", args: [], jid, queue: "default", retry: true, batch: batch.id, ...more });
  // As the guide says: uncounted until a worker takes it, or counted in the same transaction.
  await redis.cli("LPUSH", "queue:default", payload("other-1"));
  const key = `jobs:batch:${batch.id}`;
  const counted = payload("other-2", { batch_counted: "pending" });
  await redis.cli(
    "EVAL",
    `for _, name in ipairs({"total", "pending"}) do redis.call("HINCRBY", KEYS[1], name, 1) end
     redis.call("LPUSH", KEYS[2], ARGV[1])`,
    ...["2", key, "queue:default", counted],
  );
  assertEquals((await client.batches.get(batch.id))!.total, 1);
  await using _server = await startServer({ store: bench.url, jobs: [Row] });
  await until(async () => (await client.batches.get(batch.id))!.succeeded === 2, "both are counted");
  await batch.close();
  const { state, total } = (await client.batches.get(batch.id))!;
  assertEquals([state, total], ["succeeded", 2]);
});

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`a program cancels batches and flows, and retries their dead jobs, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const { store } = bench;
    const client = new Client({ store, onUnregistered: () => {} });
    const batch = await client.batch({}, async (add) => {
      for (const n of [1, 2, 3]) await add("Row", [n], n === 3 ? { in: "1h" } : {});
    });
    const flow = await client.flow("f", {
      a: { job: ["Row", []] },
      b: { job: ["Row", []] },
      c: { job: ["Row", []], after: "a" },
    });
    await client.push("Other", []);
    for (const part of [client.batches, client.flows]) {
      const id = part === client.flows ? flow.id : batch.id;
      const { entries } = await store.admin.page({ in: "queue", queue: "default" });
      const member = entries.find(({ payload }) => payload.includes(id))!;
      await store.jobs.edit([member.ref], "kill");
      assertEquals([(await part.get(id))!.dead, await part.retry(id), (await part.get(id))!.dead], [1, 1, 0]);
      assertEquals([await part.cancel(id), await part.cancel(id)], [3, 0]);
      const { state, cancelled } = (await part.get(id))!;
      assertEquals([state, cancelled], ["cancelled", 3]);
      for (const verb of ["cancel", "retry"] as const) {
        await assertRejects(() => part[verb]("none"), BatchError, `Cannot ${verb} `);
        await assertRejects(() => part[verb](7 as never), InvalidPayload, "id is 7; expected the ID of a");
      }
    }
    await assertRejects(
      () => client.flows.cancel(batch.id),
      BatchError,
      `Cannot cancel flow "${batch.id}": it doesn't`,
    );
    assertEquals((await store.admin.stats()).enqueued, 1);
    const ended = await client.batch({}, () => {});
    await assertRejects(() => client.batches.cancel(ended.id), BatchError, `batch "${ended.id}": it has ended`);
    const { jobs, batches } = store;
    const small = new Client({ store: { jobs, batches } });
    await assertRejects(() => small.batches.cancel(batch.id), BatchError, "has no part for operators");
  });
}

Deno.test("adding to a cancelled batch fails, and so does closing it", () =>
  withClient(async (client, store) => {
    const batch = await client.batches.open({});
    await store.batches.close(batch.id, "cancelled");
    await batch.add("Import", [1]);
    await assertRejects(() => batch.flush(), BatchError, `Cannot add to batch "${batch.id}": it was cancelled`);
    await assertRejects(() => client.batches.close(batch.id), BatchError, "it was cancelled");
    assertEquals((await store.admin.stats()).enqueued, 0);
  }));

Deno.test("a batch with an invalid option or callback is not opened", () =>
  withClient(async (client, store) => {
    const bad = [
      { succes: { class: "A", args: [] } },
      { success: { class: "", args: [] } },
      { success: { class: "A", args: null } },
      { success: { class: "A", args: "x" } },
      { success: { class: "A", args: [], in: "5m" } },
      { complete: { class: "A", args: [], batch: "b" } },
      { name: 7 },
      { name: "n".repeat(201) },
      { tags: "customer" },
      { tags: ["t".repeat(201)] },
      { tags: Array.from({ length: 101 }, () => "t") },
      { closeWithin: "soon" },
      { parent: 7 },
      { parent: "" },
      { keepFor: -1 },
    ];
    for (const options of bad) await assertRejects(() => client.batches.open(options as never), InvalidPayload);
    const say = [
      [
        () => client.batches.open("import" as never),
        'options is "import"; expected an object with the options of a batch',
      ],
      [
        () => client.batch({}, undefined as never),
        "fill is undefined; expected a function that adds the jobs; client.",
      ],
      [() => client.batches.get(undefined as never), "id is undefined; expected the ID of a batch"],
      [() => client.batches.close(7 as never), "id is 7; expected the ID of a batch"],
      [() => client.result(undefined as never), "jid is undefined; expected the ID of a job"],
    ] as const;
    for (const [call, message] of say) await assertRejects(call as () => Promise<unknown>, InvalidPayload, message);
    await assertRejects(() => client.batches.open({ parent: "none" }), BatchError, "it doesn't exist");
    assertEquals(await store.batches.read(), { batches: [] });
  }));

Deno.test("lists refuse a wrong limit or cursor in one line, and page to the end with the right ones", () =>
  withClient(async (client, store) => {
    for (let i = 0; i < 3; i++) {
      await client.batches.open({ name: `batch ${i}` });
      await client.flow(`flow ${i}`, { a: { job: ["A", []] }, b: { job: ["B", []], after: "a" } });
    }
    const { batches: [flow] } = await client.flows.list();
    const crontab = new Crontab({ store, client });
    const lists = {
      batches: (request: never) => client.batches.list(request),
      flows: (request: never) => client.flows.list(request),
      nodes: (request: never) => client.flows.nodes(flow!.id, request),
    };
    const wrong = [
      [{ limit: -1 }, "limit is -1; expected a whole number from 1 to 1000"],
      [{ limit: 0 }, "limit is 0; expected a whole number from 1 to 1000"],
      [{ limit: 1.5 }, "limit is 1.5; expected a whole number from 1 to 1000"],
      [{ limit: 1e9 }, "limit is 1000000000; expected a whole number from 1 to 1000"],
      [{ limit: "x" }, 'limit is "x"; expected a whole number from 1 to 1000'],
      [{ limit: null }, "limit is null; expected a whole number from 1 to 1000"],
      [{ cursor: 5 }, "cursor is 5; expected next of the page before"],
      [7, "request is 7; expected an object with cursor and limit"],
    ] as const;
    for (const [request, expected] of wrong) {
      for (const list of Object.values(lists)) {
        const error = await assertRejects(() => list(request as never), InvalidPayload);
        assertEquals(error.message, expected);
      }
    }
    for (const count of [0, -1, 1e9, "x" as never]) {
      await assertRejects(() => crontab.history("nightly", count), InvalidPayload, "expected a whole number");
      await assertRejects(() => crontab.next("nightly", count), InvalidPayload, "expected a whole number");
    }
    const named = async (list: typeof client.batches.list) => {
      const names: unknown[] = [];
      for (let cursor: string | undefined, end = false; !end;) {
        const { batches, next } = await list({ limit: 2, ...(cursor !== undefined && { cursor }) });
        names.push(...batches.map(({ name }) => name));
        end = (cursor = next) === undefined;
      }
      return names;
    };
    assertEquals(await named((request) => client.batches.list(request)), ["batch 2", "batch 1", "batch 0"]);
    assertEquals(await named((request) => client.flows.list(request)), ["flow 2", "flow 1", "flow 0"]);
  }));

Deno.test("an invalid job fails the batch: it is abandoned, and nothing is pushed for success", () =>
  withClient(async (client, store) => {
    const success = { class: "Notify", args: [] };
    const fill = (add: (name: string, args: readonly unknown[]) => Promise<void>) => add("Import", [NaN]);
    await assertRejects(() => client.batch({ success }, fill), BatchError, "Cannot add to batch");
    const [batch] = (await store.batches.read()).batches;
    assertEquals([batch?.state, (await store.admin.stats()).enqueued], ["abandoned", 0]);
  }));

Deno.test("the class of a callback that no worker has registered is reported when the batch is opened", async () => {
  const reported: string[] = [];
  await withClient(async (client) => {
    await client.batches.open({ success: { class: "Notfy", args: [] } });
    assertEquals(reported, ["Notfy"]);
  }, { onUnregistered: (name) => reported.push(name) });
  await withClient(async (client, store) => {
    const open = () => client.batches.open({ success: { class: "Notfy", args: [] } });
    await assertRejects(open, InvalidPayload, "Notfy");
    assertEquals(await store.batches.read(), { batches: [] });
  }, { strict: true });
});

Deno.test("cancelling a batch cancels the queued callbacks of nested batches, and not their members", () =>
  withClient(async (client, store) => {
    const outer = await client.batches.open();
    const success = { class: "Notify", args: [] };
    const empty = await client.batches.open({ parent: outer.id, success });
    await empty.close();
    const running = await client.batches.open({ parent: outer.id, success });
    await running.add("ImportRow", [1]);
    await running.close();
    assertEquals((await store.admin.stats()).enqueued, 2);
    assertEquals((await cancelBatch(store, outer.id, Date.now()))?.members, 1);
    const { entries } = await store.admin.page({ in: "queue", queue: "default" });
    assertEquals(entries.map(({ payload }) => JSON.parse(payload).class), ["ImportRow"]);
  }));

Deno.test("a cancelled batch is not retried", () =>
  withClient(async (client, store) => {
    const batch = await client.batch({}, (add) => add("Import", [1]));
    const { entries: [job] } = await store.admin.page({ in: "queue", queue: "default" });
    await store.jobs.edit([job!.ref], "kill");
    await client.batches.cancel(batch.id);
    await assertRejects(
      () => client.batches.retry(batch.id),
      BatchError,
      "it was cancelled, and its jobs no longer run",
    );
    assertEquals((await client.batches.get(batch.id))!.dead, 1);
  }));
