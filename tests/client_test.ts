/** The client on a real store: every push that reports success is stored, and nothing else is. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Client, type JobRequest } from "../src/client/client.ts";
import { InvalidPayload } from "../src/job/errors.ts";
import { sqliteFolder } from "./support/stores.ts";

Deno.test("a push stores the job in its queue or set, under the returned jid", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  const client = new Client({ store });
  const now = await client.push("Now", [{ id: 2n ** 60n }], { queue: "low" });
  const later = await client.push("Later", [], { in: "5m" });
  const past = await client.push("Past", [], { at: "2001-02-03T04:05Z" });
  const places = await Promise.all([now, later, past].map(async (jid) => (await store.jobs.find([jid!]))[0]?.place));
  assertEquals(places, [{ in: "queue", queue: "low" }, { in: "scheduled" }, { in: "queue", queue: "default" }]);
  const [entry] = await store.jobs.find([now!]);
  assertEquals(entry!.payload.includes(`"args":[{"id":1152921504606846976}]`), true);
});

Deno.test("a rejected push stores nothing", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  const client = new Client({ store });
  const refused = [{ class: "A", args: null }, { class: "A", args: [NaN] }, { class: "A", args: [], queue: "a b" }];
  for (const job of refused) await assertRejects(() => client.push(job as unknown as JobRequest), InvalidPayload);
  const { enqueued, scheduled, queues } = await store.admin.stats();
  assertEquals([enqueued, scheduled, queues], [0, 0, []]);
});

Deno.test("a bulk push of thousands returns a result for each job, and stores the accepted ones in order", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  const client = new Client({ store });
  const args = Array.from({ length: 2_500 }, (_, i) => i % 1_000 === 7 ? [undefined] : [i]);
  const results = await client.pushBulk({ class: "A", args });
  const jids = results.flatMap((result) => result.jid ?? []);
  assertEquals([results.length, jids.length, new Set(jids).size], [2_500, 2_497, 2_497]);
  assertEquals((await store.admin.stats()).enqueued, 2_497);
  const { entries } = await store.admin.page({ in: "queue", queue: "default" }, { limit: 10 });
  assertEquals(entries.map((entry) => JSON.parse(entry.payload).args[0]), [0, 1, 2, 3, 4, 5, 6, 8, 9, 10]);
});

Deno.test("a unique job is stored once, whichever client pushes it", async () => {
  await using folder = await sqliteFolder();
  const clients = [new Client({ store: await folder.open() }), new Client({ store: await folder.open() })];
  const pushes = Array.from({ length: 20 }, (_, i) => clients[i % 2]!.push("A", [1], { unique_for: "1h" }));
  const jids = (await Promise.all(pushes)).filter((jid) => jid !== undefined);
  assertEquals(jids.length, 1);
  const [held] = await clients[0]!.pushBulk({ class: "A", args: [[1]], unique_for: "1h" });
  assertEquals(held?.refused?.startsWith(`duplicate of job "${jids[0]}"`), true);
});

Deno.test("a push with an ID is stored once, whichever client repeats it, single or in bulk, with or without middleware", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  const plain = new Client({ store });
  const layered = new Client({ store: await folder.open(), middleware: [(_context, next) => next()] });
  const options = { id: "order-7-email", within: "7d" };
  const first = await plain.push("Mail", [7], options);
  assertEquals(await layered.push("Mail", [7], options), first);
  assertEquals(await plain.tryPush({ class: "Mail", args: [7], ...options }), { kind: "existed", jid: first! });
  const many: unknown[] = [];
  for (const client of [plain, layered]) {
    const jobs = [{ class: "Mail", args: [7], ...options }, { class: "Mail", args: [8] }];
    for await (const result of client.pushMany(jobs)) many.push(result.kind === "existed");
  }
  assertEquals(many, [true, false, true, false]);
  assertEquals((await store.admin.stats()).enqueued, 3);
  const [entry] = await store.jobs.find([first!]);
  assertEquals(JSON.parse(entry!.payload).id, "order-7-email");
  await assertRejects(() => plain.push("Mail", [], { within: "7d" }), InvalidPayload, 'within is "7d"; expected "id"');
  await assertRejects(() => plain.pushBulk({ class: "Mail", args: [[]], id: "x" }), InvalidPayload, "id is");
});

Deno.test("a push with the ID of another one is refused unless class, queue and arguments are the same before middleware", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  const encrypting = new Client({
    store,
    middleware: [(context, next) => {
      context.job = { ...context.job, args: [crypto.randomUUID()] };
      return next();
    }],
  });
  for (const client of [new Client({ store }), encrypting]) {
    const id = `order-${client === encrypting}`;
    const first = await client.push("Mail", [7], { id });
    assertEquals(await client.push("Mail", [7], { id, retry: 3 }), first);
    const refused = `id is "${id}"; expected a new one: job "${first}" was pushed with it`;
    await assertRejects(() => client.push("Mail", [8], { id }), InvalidPayload, refused);
    await assertRejects(() => client.tryPush({ class: "Post", args: [7], id }), InvalidPayload, refused);
    const [result] = await Array.fromAsync(client.pushMany([{ class: "Mail", args: [7], queue: "mail", id }]));
    assertStringIncludes(result!.refused!, refused);
  }
  assertEquals((await store.admin.stats()).enqueued, 2);
});

Deno.test("a job with a given jid is stored once; jids that the client generates never count as repeated", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  for (const middleware of [[], [(_context: unknown, next: () => Promise<string | undefined>) => next()]]) {
    const client = new Client({ store, middleware });
    const jid = `chosen-${middleware.length}`;
    assertEquals([await client.push("A", [1], { jid }), await client.push("A", [1], { jid })], [jid, jid]);
    assertEquals(await client.tryPush({ class: "A", args: [1], jid }), { kind: "existed", jid });
    assertEquals((await store.jobs.find([jid])).length, 1);
    await Promise.all([client.push("B", []), client.push("B", [])]);
  }
  assertEquals((await store.admin.stats()).enqueued, 6);
});
