/**
 * `jobs.push` in SQL: the same checks, words and jobs as the client. One table of cases runs against both.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import driver from "postgres";
import { Client } from "../src/client/client.ts";
import { JobBuilder } from "../src/client/builder.ts";
import { KnownWebhooks } from "../src/client/known_webhooks.ts";
import { systemClock } from "../src/clock.ts";
import { InvalidPayload } from "../src/job/errors.ts";
import { stringifyLossless } from "../src/job/json.ts";
import { type JobRequest, LINK_FIELDS } from "../src/job/payload.ts";
import { requireZone } from "../src/job/time.ts";
import { openStore } from "../src/store/open.ts";
import { register } from "./store_contract/jobs.ts";
import { until } from "./support/eventually.ts";
import { startPostgres } from "./support/postgres.ts";
import { CLASSY, REQUESTS } from "./support/push_cases.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";
import { requireTool } from "./support/tools.ts";

const NOW = 1_790_000_000_123;
const postgres = await startPostgres();
const name = await postgres.create();
const url = postgres.url(name);
const store = await openStore(url);
const client = new Client({ store, onUnregistered: () => {} });
const sql = driver(url, { onnotice: () => {}, max: 8, max_lifetime: null });
Deno.test.afterAll(async () => {
  await sql.end();
  await store[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

const webhooks = new KnownWebhooks(store, systemClock);

/** Returns what the client makes of a request, or its error. */
async function byClient(request: Record<string, unknown>): Promise<string> {
  const builder = new JobBuilder({
    clock: { ...systemClock, now: () => NOW },
    maxPayloadBytes: 1024 * 1024,
    wire: 7,
    classOptions: (name) => name === "Classy" ? CLASSY : undefined,
  });
  try {
    const link = Object.keys(request).find((field) => LINK_FIELDS.has(field));
    if (link !== undefined) return `"${link}" is written by jobs alone: choose another name`;
    requireZone(request.at);
    const prepared = builder.prepare(request as unknown as JobRequest);
    const job = builder.build(prepared, request.args);
    await webhooks.check(prepared.notify);
    return shown(job, request.jid);
  } catch (error) {
    if (error instanceof InvalidPayload) return error.message;
    throw error;
  }
}

/** Returns a job as text, without an ID that was made for it. */
function shown({ ...job }: object, chosen: unknown): string {
  const { jid, ...rest } = job as { jid: string };
  const text = JSON.stringify(
    Object.fromEntries(Object.entries(rest).toSorted()),
    (_, value) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).toSorted())
        : value,
  );
  return chosen === undefined ? text.replaceAll(jid, "JID") : text;
}

Deno.test("SQL builds the same jobs as the client, and refuses the same ones in the same words", async () => {
  await store.webhooks.declare([{ name: "billing" }, { name: "deploys", on: ["dead"] }]);
  await store.classes.declare([{ name: "Classy", options: JSON.stringify(CLASSY) }]);
  await sql.unsafe(
    `CREATE FUNCTION jobs.attempt(request json, now bigint) RETURNS text LANGUAGE plpgsql SET search_path = jobs AS $$
    BEGIN RETURN jobs.build_push(request, now); EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM; END $$`,
  );
  const rows = await sql`SELECT jobs.attempt(value, ${NOW}::bigint) AS made FROM
    json_array_elements(${stringifyLossless(
    REQUESTS,
  )!}::text::json) WITH ORDINALITY AS one (value, place) ORDER BY place`;
  const different: unknown[] = [];
  let stored = 0;
  for (const [i, { made }] of rows.entries()) {
    const isJob = made.startsWith("{");
    const inSql = isJob ? shown(JSON.parse(made), REQUESTS[i]!.jid) : made.replace(/^22023 /, "");
    const expected = await byClient(REQUESTS[i]!);
    if (isJob) stored++;
    if (inSql !== expected) {
      different.push({
        request: stringifyLossless(REQUESTS[i])!.slice(0, 300),
        inSql: inSql.slice(0, 600),
        expected: expected.slice(0, 600),
      });
    }
  }
  assertEquals(different.slice(0, Number(Deno.env.get("SHOW") ?? 3)), []);
  assertEquals(different.length, 0);
  assert(stored > 500 && rows.length - stored > 500, `${stored} of ${rows.length} are valid`);
});

Deno.test("a job that a client has built is checked in SQL: its queue, its ID, its group, and that its class isn't internal", async () => {
  const built = { class: "Mail", args: [], jid: "built-1", queue: "built", retry: true };
  const push = async (job: Record<string, unknown>, payload: unknown = {}) => {
    const text = typeof payload === "string" ? payload : JSON.stringify({ ...built, ...Object(payload) });
    const jobs = JSON.stringify([{ jid: built.jid, queue: built.queue, payload: text, ...job }]);
    return await sql`SELECT jobs.push_built(${jobs}::text)`.then(() => "stored", (error: Error) => error.message);
  };
  const refusals: [job: Record<string, unknown>, payload: unknown, refusal: RegExp][] = [
    [{ queue: "a|b" }, { queue: "a|b" }, /^queue is "a\|b"; expected a name of letters, digits/],
    [{ queue: null }, {}, /^queue is null; expected a name of letters, digits/],
    [{ queue: "" }, { queue: "" }, /^queue is ""; expected/],
    [{ jid: "a b" }, { jid: "a b" }, /^jid is "a b"; expected a text of letters, digits/],
    [{}, { queue: "other" }, /^payload.queue is "other"; expected "built"$/],
    [{}, { jid: "other" }, /^payload.jid is "other"; expected "built-1"$/],
    [{ group: "|top" }, {}, /^group is "\|top"; expected a text of 1 to 256 bytes/],
    [{ group: "g".repeat(257) }, {}, /^group is .*; expected a text of 1 to 256 bytes/],
    [{}, "[]", /^payload is \[\]; expected an object with class and args$/],
    [{}, { args: 5 }, /; expected an object with class and args$/],
    [{}, { class: "webhook:ops" }, /^class is "webhook:ops"; expected a class that doesn't begin with "webhook:"/],
    [{}, { wrapped: "webhook:ops" }, /^class is "webhook:ops"; expected/],
    [{}, { class: "Sidekiq::ActiveJob::Wrapper", args: [{ job_class: "webhook:ops" }] }, /^class is "webhook:ops"/],
  ];
  for (const [job, payload, refusal] of refusals) {
    assertMatch(await push(job, payload), refusal, JSON.stringify([job, payload]));
  }
  assertEquals(await push({ group: "acme" }, { group: "acme" }), "stored");
  assertEquals(await push({ jid: "built-2", group: "|high" }, { jid: "built-2", priority: "high" }), "stored");
});

const count = async (queue: string) =>
  Number(await postgres.sql(`SELECT coalesce((SELECT size FROM jobs.queue WHERE name = '${queue}'), 0)`, name));

Deno.test("a pushed job exists if and only if the transaction of the application commits", async () => {
  const push = (end: string) =>
    postgres.sql(
      `BEGIN; SELECT jobs.push('Mail', '["ada",1.0,12345678901234567890]', queue => 'tx', tags => '{a,b}'); ${end}`,
      name,
    );
  await push("ROLLBACK");
  assertEquals(await count("tx"), 0);
  const jid = await push("COMMIT");
  const { entries: [entry] } = await store.admin.page({ in: "queue", queue: "tx" });
  const { enqueued_at: enqueued, created_at: created, ...job } = JSON.parse(entry!.payload);
  assertEquals(job, {
    class: "Mail",
    args: ["ada", 1, 12345678901234567890],
    jid,
    queue: "tx",
    retry: true,
    tags: ["a", "b"],
  });
  assert(entry!.payload.includes(`["ada",1.0,12345678901234567890]`) && enqueued >= created);
});

Deno.test("a commit notifies the workers that wait for the queue, and a rollback doesn't", async () => {
  const stop = new AbortController();
  // Once it has waited, a store listens until it is closed.
  await using waiter = await openStore(url);
  await waiter.admin.configure("held", { pause: true });
  const watched = waiter.watch({ work: ["rolled", "held", "kept"] }, stop.signal);
  const topics: string[] = [];
  const told = Promise.withResolvers<void>();
  const listening = await sql.listen("jobs_jobs", (topic) => {
    topics.push(topic);
    if (topic === "ready:work:kept") told.resolve();
  });
  await until(
    async () => Number(await postgres.sql("SELECT count(*) FROM jobs.waiting WHERE topic = 'work:kept'", name)) > 0,
    () => "the worker waits",
  );
  const push = (queue: string, end: string) =>
    postgres.sql(`BEGIN; SELECT jobs.push('Mail', queue => '${queue}'); ${end}`, name);
  await push("rolled", "ROLLBACK");
  await push("held", "COMMIT");
  await push("kept", "COMMIT");
  await Promise.all([watched, told.promise]);
  assertEquals(topics.filter((topic) => topic.includes("work:")), ["work:held", "ready:work:kept"]);
  stop.abort();
  await listening.unlisten();
});

Deno.test("a push starts the take of a worker that waits without another look", async () => {
  await using proxy = await TcpProxy.start(postgres.port);
  const listens = () =>
    postgres.sql("SELECT count(*) FROM pg_stat_activity WHERE query ILIKE 'listen%' AND state = 'idle'", name);
  const before = Number(await listens());
  await using waiting = await openStore(`${postgres.url(name, proxy.port)}?listen=127.0.0.1:${postgres.port}`);
  const watched = waiting.watch({ work: ["ready"] }, new AbortController().signal);
  await until(
    async () => Number(await postgres.sql("SELECT count(*) FROM jobs.waiting WHERE topic = 'work:ready'", name)) > 0,
    () => "the worker waits",
  );
  await until(async () => Number(await listens()) > before, () => "the worker listens");
  // Only the connection that listens receives anything.
  proxy.weather = "held";
  await postgres.sql("SELECT jobs.push('Mail', queue => 'ready')", name);
  assertEquals(await watched, true);
  proxy.weather = "fair";
});

Deno.test("the parameters of a push are the options of the client", async () => {
  const all =
    `queue => 'all', in_ms => 300000, id => 'order-7', "group" => 'acme', retry => 3, unique_for => '1h', unique_key => 'k',
    throttle => '5/1m', options => '{"timeout": "30s", "custom": [1, 2]}'`;
  const jid = await postgres.sql(`SELECT jobs.push('Mail', '["ada"]', ${all})`, name);
  assertEquals(await postgres.sql(`SELECT jobs.push('Mail', '["ada"]', ${all})`, name), jid);
  const { entries: [entry] } = await store.admin.page({ in: "scheduled" });
  const { created_at: _, unique_key: key, ...job } = JSON.parse(entry!.payload);
  assertEquals(job, {
    ...{ class: "Mail", args: ["ada"], jid, queue: "all", retry: 3, group: "acme", id: "order-7", unique_for: 3600 },
    ...{ timeout: 30, custom: [1, 2] },
  });
  assertEquals(key.length, 43);
  await assertRejects(
    () => postgres.sql(`SELECT jobs.push('Mail', '[]', queue => 'a', options => '{"queue":"b"}')`, name),
    Error,
    "queue is",
  );
  await assertRejects(
    () => postgres.sql(`SELECT jobs.push('Mail', '{}')`, name),
    Error,
    "args is {}; expected an array of the handler's arguments",
  );
});

Deno.test("keys, throttles, debounces and batches count pushes of SQL and of the client together", async () => {
  const push = async (options: Record<string, unknown>, args: unknown[] = []) => {
    const [row] = await sql`SELECT * FROM jobs.push_many(${
      JSON.stringify([{ class: "Both", args, ...options }])
    }::text::json)`;
    return row!;
  };
  const tryPush = (options: Record<string, unknown>, args: unknown[] = []) =>
    client.tryPush({ class: "Both", args, ...options });
  const unique = { queue: "u", unique_for: "1h" };
  const first = await push(unique);
  const { refused, ...duplicate } = await tryPush(unique) as { refused: string };
  assertEquals({ ...await push(unique) }, { kind: "duplicate", jid: null, refused });
  assertEquals(duplicate as object, { kind: "duplicate", duplicateOf: first.jid });
  assertEquals({ ...await push({ ...unique, on_duplicate: "replace" }) }, { kind: "duplicate", jid: null, refused });
  const waiting =
    (await client.tryPush({ class: "Both", args: [1], ...unique, unique_key: "k", on_duplicate: "replace" })).jid!;
  assertEquals({ ...await push({ ...unique, unique_key: "k", on_duplicate: "replace" }, [2]) }, {
    kind: "replaced",
    jid: waiting,
    refused: null,
  });
  assertEquals((await store.jobs.find([waiting])).map(({ payload }) => JSON.parse(payload).args), [[2]]);

  const throttled = await tryPush({ throttle: "1/1h" });
  const again = await push({ throttle: "1/1h" });
  assertEquals(again.kind, "throttled");
  assert(
    again.refused.startsWith(
      `throttled: job "${throttled.jid}" was pushed within the limit of 1 in 1h; accepted again in `,
    ),
  );

  const { jid } = await push({ id: "x" }, [1]);
  assertEquals({ ...await tryPush({ id: "x" }, [1]) }, { kind: "existed", jid });
  const used = await assertRejects(() => client.push({ class: "Both", args: [2], id: "x" }), InvalidPayload);
  await assertRejects(() => push({ id: "x" }, [2]), Error, used.message);

  const debounce = { queue: "later", debounce: "1h" };
  const put = (await tryPush(debounce, [])).jid!;
  assertEquals({ ...await push(debounce) }, { kind: "replaced", jid: put, refused: null });

  const batch = await client.batches.open({});
  await push({ batch: batch.id, queue: "batched" });
  await tryPush({ batch: batch.id, queue: "batched" });
  assertEquals((await client.batches.get(batch.id))?.pending, 2);
  await batch.close();
  const closed = await assertRejects(() => client.push("Both", [], { batch: batch.id }), Error);
  await assertRejects(() => push({ batch: batch.id }), Error, closed.message);
  const missing = await assertRejects(() => client.push("Both", [], { batch: "none" }), Error);
  await assertRejects(() => push({ batch: "none" }), Error, missing.message);
});

Deno.test("one invalid job of push_many fails all", async () => {
  const jobs = JSON.stringify([{ class: "Many", queue: "many" }, { class: "Many", args: 5 }]);
  await assertRejects(() => sql`SELECT * FROM jobs.push_many(${jobs}::text::json)`, Error, "args is 5; expected");
  assertEquals(await count("many"), 0);
  const good = JSON.stringify([1, 2, 3].map((n) => ({ class: "Many", args: [n], queue: "many" })));
  const rows = await sql`SELECT * FROM jobs.push_many(${good}::text::json)`;
  assertEquals(rows.map(({ kind }) => kind), ["stored", "stored", "stored"]);
  assertEquals((await store.jobs.find(rows.map(({ jid }) => jid))).map(({ payload }) => JSON.parse(payload).args[0]), [
    1,
    2,
    3,
  ]);
});

Deno.test("pushes of open transactions hold up neither other pushes nor takes", async () => {
  const before = (await client.push("Open", [0], { queue: "open" }))!;
  await sql.begin(async (open) => {
    await open`SELECT jobs.push('Open', '[1]', queue => 'open'), jobs.push('Open', '[2]', queue => 'open', id => 'open-2')`;
    await client.push("Open", [3], { queue: "open" });
    await postgres.sql(`SELECT jobs.push('Open', '[4]', queue => 'open', id => 'open-4')`, name);
    const worker = await register(store);
    const leases = await store.jobs.take({ queues: ["open"], limit: 10, worker });
    assertEquals(leases.map(({ payload }) => JSON.parse(payload).args[0]).toSorted(), [0, 3, 4]);
    assert(before.length > 0);
  });
  assertEquals(await count("open"), 2);
});

for (const level of ["repeatable read", "serializable"]) {
  Deno.test(`pushes in ${level} transactions are stored once, and don't fail without need`, async () => {
    const queue = level.replace(" ", "-");
    await client.push("Level", [], { queue });
    /** Begins two transactions with a snapshot each, then pushes in both, then commits both. */
    const both = async (options: (i: number) => string) => {
      const results: unknown[] = [];
      const { promise: begun, resolve } = Promise.withResolvers<void>();
      let open = 0;
      await Promise.allSettled([0, 1].map((i) =>
        sql.begin(`ISOLATION LEVEL ${level}`, async (one) => {
          await one`SELECT count(*) FROM pg_class`;
          if (++open === 2) resolve();
          await begun;
          await one.unsafe(`SELECT jobs.push('Level', '[${i}]', queue => '${queue}', ${options(i)})`);
        }).then(() => results.push("stored"), (error) => results.push(error.code))
      ));
      return results.toSorted();
    };
    assertEquals(await both((i) => `retry => ${i}`), ["stored", "stored"]);
    assertEquals(await both((i) => `id => '${level} ${i}'`), ["stored", "stored"]);
    assertEquals(await both((i) => `unique_for => '1h', unique_key => '${level} ${i}'`), ["stored", "stored"]);
    assertEquals(await both(() => `id => '${level}', options => '{"created_at": 5}'`), ["40001", "stored"]);
    assertEquals(await both(() => `unique_for => '1h', unique_key => '${level}'`), ["40001", "stored"]);
    const [{ push }] = await sql.begin(
      `ISOLATION LEVEL ${level}`,
      (one) =>
        one.unsafe(
          `SELECT jobs.push('Level', '[0]', queue => '${queue}', unique_for => '1h', unique_key => '${level}')`,
        ),
    ) as unknown as [{ push: string | null }];
    assertEquals(push, null);
    assertEquals(await count(queue), 9);
  });
}

Deno.test("the documented lines for psycopg push in the application's transaction", async () => {
  requireTool("psycopg");
  const page = await Deno.readTextFile(new URL("../docs/guides/transactions.md", import.meta.url));
  const [, lines] = /### psycopg\n\n```python\n([^]*?)```/.exec(page)!;
  await postgres.sql("CREATE TABLE orders (id int)", name);
  const before = await count("mail");
  const python = async (text: string) => {
    // Debian's, which has the package.
    const { stderr } = await new Deno.Command("/usr/bin/python3", { args: ["-c", text] }).output();
    return new TextDecoder().decode(stderr);
  };
  const head = `import json, psycopg\nurl = ${JSON.stringify(url)}\n`;
  assertEquals(await python(head + lines), "");
  const rolledBack = await python(`${head}${lines}    raise SystemExit("rolled back")\n`);
  assertEquals(rolledBack, "rolled back\n");
  assertEquals([await count("mail"), await postgres.sql("SELECT count(*) FROM orders", name)], [before + 1, "1"]);
});
