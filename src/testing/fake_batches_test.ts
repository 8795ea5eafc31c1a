/** Batches and flows of a client in memory, and handlers that are given theirs. */
import { assertEquals, assertRejects } from "@std/assert";
import { BatchError } from "../client/batch_errors.ts";
import { Client } from "../client/client.ts";
import { defineJob } from "../handlers/handler.ts";
import { Kill } from "../job/errors.ts";
import { context, type FakeClient, fakeClient } from "./fake_client.ts";
import { testJob } from "./test_job.ts";

const Row = defineJob("Row", (_ctx, n: number) => {
  if (n < 0) throw new Kill();
  return { rows: n };
}, { retry: 0 });
const Notify = defineJob("Notify", (_ctx, event: string) => event);
const Adder = defineJob("Adder", async (ctx) => {
  await ctx.batch!.add(Row, [1]);
  const inner = await ctx.batch!.open({ success: { class: Notify, args: ["inner"] } });
  await inner.add(Row, [2]);
  await inner.close();
});
const Sum = defineJob("Sum", async (ctx) => {
  const results = await ctx.flow!.results() as Record<string, { rows: number }>;
  return { rows: Object.values(results).reduce((sum, { rows }) => sum + rows, 0), node: ctx.flow!.node };
});
const jobs = [Row, Notify, Adder, Sum];
const callbacks = Object.fromEntries(
  ["success", "complete", "death"].map((event) => [event, { class: Notify, args: [event] as [string] }]),
);

const notified = async (client: FakeClient) => (await client.pushed(Notify)).map(({ args }) => args[0]);

Deno.test("a batch pushes its callbacks when its members have ended, nested ones too", async () => {
  const client = fakeClient({ jobs });
  const batch = await client.batch({ name: "import", ...callbacks }, async (add) => {
    await add(Row, [1]);
    await add(Adder, []);
  });
  assertEquals((await client.batches.get(batch.id))!.state, "running");
  await client.drain();
  assertEquals(await notified(client), ["inner", "complete", "success"]);
  const { state, total, succeeded } = (await client.batches.get(batch.id))!;
  // Two members, one that a member added, the inner batch, and its callback.
  assertEquals([state, total, succeeded], ["succeeded", 5, 5]);
  assertEquals((await client.batches.list()).batches.map(({ name }) => name), [undefined, "import"]);
});

Deno.test("a dead member prevents the success of its batch, and a closed batch accepts only its running members", async () => {
  const client = fakeClient({ jobs });
  const batch = await client.batch(callbacks, (add) => add(Row, [-1]));
  await client.drain();
  assertEquals([await notified(client), (await client.batches.get(batch.id))!.state], [["death", "complete"], "stuck"]);
  await assertRejects(() => client.push(Row, [1], { batch: batch.id }), BatchError, "it is closed");
  await assertRejects(() => client.push(Row, [1], { batch: "none" }), BatchError, "doesn't exist");
  await assertRejects(() => client.batches.close("none"), BatchError, "doesn't exist");
});

Deno.test("a flow runs its nodes in order with the results of those before, as onDead and delays say", async () => {
  const client = fakeClient({ jobs });
  const { id } = await client.flow("sums", {
    a: { job: [Row, [1]] },
    b: { job: [Row, [2]] },
    sum: { job: [Sum, []], after: ["a", "b"], in: "1h" },
  }, { success: callbacks["success"]! });
  await client.drain();
  assertEquals((await client.flows.nodes(id)).nodes.map(({ name, state }) => [name, state]), [
    ["a", "succeeded"],
    ["b", "succeeded"],
    ["sum", "pending"],
  ]);
  await client.drain({ until: "1h" });
  assertEquals({ ...await client.flows.results(id, ["sum"]) }, { sum: { rows: 3, node: "sum" } });
  assertEquals([(await client.flows.get(id))!.state, await notified(client)], ["succeeded", ["success"]]);

  const failing = await client.flow("failing", {
    stop: { job: [Row, [-1]] },
    waits: { job: [Row, [1]], after: "stop" },
    cancel: { job: [Row, [-1]], onDead: "cancel" },
    cancelled: { job: [Row, [1]], after: "cancel" },
    after: { job: [Row, [1]], after: "cancelled" },
    continue: { job: [Row, [-1]], onDead: "continue" },
    runs: { job: [Row, [5]], after: "continue" },
  });
  await client.drain();
  const states = (await client.flows.nodes(failing.id)).nodes.map((
    { name, state, waitsFor },
  ) => [name, state, waitsFor]);
  assertEquals(states, [
    ["stop", "dead", 0],
    ["waits", "waiting", 1],
    ["cancel", "dead", 0],
    ["cancelled", "cancelled", 0],
    ["after", "cancelled", 0],
    ["continue", "dead", 0],
    ["runs", "succeeded", 0],
  ]);
  assertEquals((await client.flows.get(failing.id))!.state, "stuck");
  assertEquals((await client.flows.list()).batches.map(({ name }) => name), ["failing", "sums"]);
});

Deno.test("a handler that is called directly has the results and the batch that the test gives it", async () => {
  assertEquals(await Sum(await context(Sum, { results: { a: { rows: 4 }, b: { rows: 5 } } })), {
    rows: 9,
    node: "test",
  });
  const client = fakeClient({ jobs });
  const open = await client.batches.open();
  const ctx = await context(Adder, { client, batch: open.id });
  await open.close();
  await Adder(ctx);
  assertEquals((await ctx.batch!.get())!.total, 3);
  assertEquals((await client.pushed(Row)).map(({ args, payload }) => [args[0], payload["batch"] === open.id]), [
    [1, true],
    [2, false],
  ]);
  assertEquals(await client.pushed(Adder), [], "a job that is called directly was not pushed");
  assertEquals((await context(Adder, { batch: true })).batch!.id, "test-1");
  assertEquals([(await context(Adder)).batch, (await context(Adder, { batch: false })).batch], [undefined, undefined]);
  await assertRejects(() => context(Adder, { batch: "none" }), Error, 'The client has no open batch "none"');
  const real = new Client({ store: { jobs: { enqueue: () => Promise.resolve([]) } } });
  await assertRejects(
    () => context(Adder, { client: real, batch: true }),
    TypeError,
    "require a client of fakeClient()",
  );
});

Deno.test("a job with steps has the results and the batch that the test gives it", async () => {
  const test = testJob(
    async (ctx) => {
      const { rows } = await ctx.step("read", () => ctx.flow!.results() as Promise<{ rows: number }>);
      await ctx.batch!.add("Row", [rows]);
      return rows;
    },
    [],
    { results: { rows: 7 } },
  );
  assertEquals([await test.run(), test.result], ["succeeded", 7]);
  assertEquals(JSON.parse(test.pushed[0]!.payload).args, [7]);
  const member = testJob((ctx) => ctx.batch!.add("Row", []), [], { batch: true });
  assertEquals([await member.run(), member.pushed.length], ["succeeded", 1]);
});

Deno.test("a flow that is pushed twice with one id exists once", async () => {
  const client = fakeClient({ jobs });
  const push = (n: number) => client.flow("rows", { a: { job: [Row, [n]] } }, { id: "rows" });
  const first = await push(1);
  assertEquals(await push(1), { ...first, existed: true });
  await assertRejects(() => push(2), Error, `flow "${first.id}" was pushed with it`);
  assertEquals((await client.pushed(Row)).length, 1);
});
