/** Flows as a program pushes them: checked before anything is stored, then performed in order by a worker, with results. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Client, defineJob, InvalidPayload, startServer } from "../../src/mod.ts";
import { MAX_NODES } from "../../src/client/flow_graph.ts";
import { parseFlow } from "../../src/client/flow_text.ts";
import { Bench } from "../support/bench.ts";
import { startRedis } from "../support/redis.ts";
import { sqliteFolder } from "../support/stores.ts";

const job = ["Extract", []] as const;

Deno.test("an invalid flow is refused by one clear line, and nothing of it is stored", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  const client = new Client({ store, onUnregistered: () => {} });
  const many = Object.fromEntries(Array.from({ length: MAX_NODES + 1 }, (_, i) => [`n${i}`, { job }]));
  const cases: [nodes: Record<string, unknown>, message: string | RegExp][] = [
    [{}, 'nodes is "0 nodes"; expected 1 to 10000 nodes'],
    [many, 'nodes is "10001 nodes"; expected 1 to 10000 nodes'],
    [{ "a b": { job } }, 'nodes is "a b"; expected names of 1 to 100 letters, digits and _ . : / -'],
    [{ a: { job, after: ["b"] } }, 'nodes.a.after is "b"; expected the name of another node'],
    [{ a: { job, after: "a" } }, 'nodes.a.after is "a → a"; expected no cycle'],
    [
      { a: { job, after: "c" }, b: { job, after: "a" }, c: { job, after: "b" }, d: { job } },
      /"[abc] → .* → .*no cycle$/,
    ],
    [{ a: { job }, b: { job, after: ["a", "a"] } }, 'nodes.b.after is "a"; expected each name once'],
    [{ a: { job, onDead: "ignore" } }, 'nodes.a.onDead is "ignore"; expected stop, continue, cancel'],
    [{ a: { job, afer: "b" } }, 'nodes.a.afer is "b"; expected no option of this name: did you mean "after"?'],
    [{ a: { job: ["Extract", [], { unique_for: "1h" }] } }, /^nodes\.a\.job\.unique_for is "1h"; expected no such/],
    [{ a: { job: ["", []] } }, /^nodes\.a\.class is ""/],
    [{ a: { job }, b: { job: ["Load", "x"] } }, /^nodes\.b\.args is "x"; expected an array/],
    [{ a: { job, in: "soon" } }, /^nodes\.a\.in is "soon"/],
  ];
  for (const [nodes, expected] of cases) {
    const error = await assertRejects(() => client.flow("nightly", nodes as never), InvalidPayload);
    if (typeof expected === "string") assertEquals(error.message, expected);
    else assertMatch(error.message, expected);
  }
  await assertRejects(() => client.flow("", { a: { job } }), InvalidPayload, "name");
  await assertRejects(() => client.flow("x", { a: { job } }, { sucess: {} } as never), InvalidPayload, "sucess");
  const ofBatches: [options: Record<string, unknown> | number, message: string][] = [
    [{ closeWithin: "5m" }, 'closeWithin is "5m"; expected no such option on a flow'],
    [
      { abandoned: { class: "A", args: [] } },
      'abandoned is {"class":"A","args":[]}; expected no such option on a flow',
    ],
    [{ name: "y" }, 'name is "y"; expected no such option on a flow'],
    [{ parent: 7 }, "parent is 7; expected the ID of a batch"],
    [{ keepFor: "x" }, 'keepFor is "x"; expected seconds, or a duration such as 30s, 5m, 2h or 1d'],
    [5, "options is 5; expected an object with the options of a flow"],
  ];
  for (const [options, expected] of ofBatches) {
    const error = await assertRejects(() => client.flow("x", { a: { job } }, options as never), InvalidPayload);
    assertEquals(error.message, expected);
  }
  await assertRejects(() => client.flows.get(7 as never), InvalidPayload, "id is 7; expected the ID of a flow");
  await assertRejects(() => client.flows.results("x", "a" as never), InvalidPayload, 'names is "a"; expected a list');
  assertEquals((await store.batches.read({ flows: true })).batches, []);
  assertEquals((await store.admin.stats()).enqueued, 0);
});

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`callbacks and nodes without args have no arguments, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const client = new Client({ store: bench.store, onUnregistered: () => {} });
    const { name, nodes, options } = parseFlow(
      '{"name": "n", "nodes": {"a": {"class": "A"}, "b": {"class": "B", "after": "a"}}, "death": {"class": "Alert"}}',
    );
    const { id } = await client.flow(name, { ...nodes, c: { job: ["C"] }, d: { job: { class: "D" } } }, options);
    const batch = await client.batch({ complete: { class: "Report" } }, (add) => add("Row"));
    const { nodes: [, waiting] } = await client.flows.nodes(id);
    const [dead] = await bench.store.jobs.find([`${id}-1`]);
    await bench.store.jobs.edit([dead!.ref], "kill");
    const { entries } = await bench.store.admin.page({ in: "queue", queue: "default" });
    const member = entries.find(({ payload }) => payload.includes(batch.id))!;
    await bench.store.jobs.edit([member.ref], "delete");
    const payloads = [waiting!.payload!, dead!.payload];
    for (const { payload } of (await bench.store.admin.page({ in: "queue", queue: "default" })).entries) {
      payloads.push(payload);
    }
    const found = payloads.map((payload) => JSON.parse(payload) as { class: string; args: unknown[] });
    assertEquals(
      Object.fromEntries(found.map(({ class: name, args }) => [name, args])),
      { A: [], Alert: [], B: [], C: [], D: [], Report: [] },
    );
  });
}

Deno.test("a flow's text is checked: JSON, an object, no name twice", () => {
  const flow = parseFlow(
    `{"name": "n", "tags": ["x"], "nodes": {"a": {"class": "A", "args": [9007199254740993], "in": 5}}}`,
  );
  assertEquals(flow, {
    name: "n",
    nodes: Object.assign(Object.create(null), { a: { job: { class: "A", args: [9007199254740993n], in: 5 } } }),
    options: { tags: ["x"] },
  });
  const refused = (text: string) => {
    try {
      parseFlow(text);
    } catch (error) {
      return (error as Error).message;
    }
  };
  assertMatch(refused("{")!, /^flow is ".*"; expected JSON$/);
  assertEquals(refused("[]"), "flow is []; expected an object with name and nodes");
  assertEquals(refused(`{"name": "n"}`), "nodes is undefined; expected an object");
  const node = (fields: string) => refused(`{"name": "n", "nodes": {"a": {"class": "A", "args": [], ${fields}}}}`);
  assertEquals(node(`"afer": "b"`), 'nodes.a.afer is "b"; expected "after"');
  assertEquals(node(`"uniqueFor": "1h"`), 'nodes.a.uniqueFor is "1h"; expected "unique_for"');
  assertEquals(node(`"xyzzy": 1`), 'nodes.a.xyzzy is 1; expected no such field: put your own into "fields"');
  assertEquals(node(`"fields": 1`), 'nodes.a.fields is 1; expected an object such as {"tenant": "acme"}');
  assertEquals(node(`"fields": {"tenant": "acme"}`), undefined);
  const example = 'a job such as {"class": "Notify", "args": [42]}';
  assertEquals(refused(`{"name": "n", "nodes": {"a": 5}}`), `nodes.a is 5; expected ${example}`);
  assertEquals(refused(`{"name": "n", "nodes": {}, "success": "Notify"}`), `success is "Notify"; expected ${example}`);
  assertEquals(
    refused(`{"nodes": {"a": {"class": "A"}, "a": {"class": "B"}}}`),
    'nodes.a is "two nodes"; expected one node of each name',
  );
});

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`a worker performs the nodes in order, and each reads the results of those before it, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const order: string[] = [];
    const Extract = defineJob("Extract", (ctx, name: string) => {
      order.push(ctx.flow!.node);
      return { rows: name.length };
    });
    const Load = defineJob("Load", async (ctx) => {
      order.push(ctx.flow!.node);
      return await ctx.flow!.results();
    });
    const ended = Promise.withResolvers<unknown>();
    const Report = defineJob("Report", async (ctx, id: string) => {
      ended.resolve(await ctx.client.flows.results(id, ["load", "a"]));
    });
    const client = new Client({ store: bench.store, jobs: [Extract, Load, Report] });
    await using _server = await startServer({ store: bench.url, jobs: [Extract, Load, Report] });
    const { id, jids } = await client.flow("nightly", {
      load: { job: [Load, []], after: ["a", "b"] },
      a: { job: [Extract, ["abc"]] },
      b: { job: { class: Extract, args: ["de"] }, after: "a" },
    });
    assertEquals(Object.keys(jids), ["load", "a", "b"]);
    const flow = await client.flows.wait(id, { signal: AbortSignal.timeout(30_000) });
    assertEquals([flow?.state, flow?.succeeded, order], ["succeeded", 3, ["a", "b", "load"]]);
    await client.push(Report, [id]);
    assertEquals(
      await ended.promise,
      Object.assign(Object.create(null), {
        load: { a: { rows: 3 }, b: { rows: 2 } },
        a: { rows: 3 },
      }),
    );
  });
}
