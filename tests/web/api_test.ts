/** The JSON API for programs: refusals, idempotent pushes, results, and tokens with limits. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { newToken } from "../../src/web/auth/accounts.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import { bury, openSite, push, type Site, type SiteOptions, workerRecord } from "./site.ts";
import { stringifyLossless } from "../../src/job/json.ts";
import { LINK_FIELDS } from "../../src/job/payload.ts";
import { endedText } from "../../src/job/result.ts";
import { finishedJson } from "../../src/text/finished.ts";
import { jobJson } from "../../src/text/job_json.ts";
import { workerJson } from "../../src/text/workers.ts";
import { keepRecord } from "../support/records.ts";

type Fields = Record<string, unknown>;

/** Returns a value as a program reads it: without undefined fields. */
function asJson(value: unknown): unknown {
  return JSON.parse(stringifyLossless(value)!);
}

function flowAt(at: string): unknown {
  return { name: "f", nodes: { a: { class: "Mail", args: [], at } } };
}

/** A clock that stands still, for rate limits. */
const STILL = { ...systemClock, monotonic: () => 0 };

type Answer = { readonly status: number; readonly value: Record<string, unknown>; readonly headers: Headers };

/** Calls the API with JSON. */
async function call(
  site: Site,
  method: "GET" | "POST",
  path: string,
  { body, token, key }: { readonly body?: unknown; readonly token?: string; readonly key?: string } = {},
): Promise<Answer> {
  const headers = new Headers({ host: "127.0.0.1", "content-type": "application/json" });
  if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
  if (key !== undefined) headers.set("idempotency-key", key);
  const request = new Request(`http://127.0.0.1/api/v1${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const response = await site.web.handle(request, "127.0.0.1");
  return { status: response.status, value: await response.json(), headers: response.headers };
}

function onEach(title: string, run: (site: Site) => Promise<void>, options: SiteOptions = {}): void {
  for (const kind of ["sqlite", "redis"] as const) {
    Deno.test(`${title} (${kind})`, async () => {
      await using site = await openSite(kind, options);
      await run(site);
    });
  }
}

onEach("an unknown field or parameter is refused by its name, and nothing is stored", async (site) => {
  const cases: [method: "GET" | "POST", path: string, body: unknown, field: string, hint: string][] = [
    ["POST", "/jobs", { class: "Mail", argz: [1] }, "argz", 'did you mean "args"?'],
    ["POST", "/jobs", { class: "Mail", args: [], uniqueFor: 5 }, "uniqueFor", 'did you mean "unique_for"?'],
    ["POST", "/jobs", { class: "Mail", args: [], tenant: "acme" }, "tenant", 'put your fields into "fields"'],
    ["POST", "/jobs", { class: "Mail", args: [], fields: { retry: 5 } }, "fields.retry", 'next to "class"'],
    ["POST", "/jobs", { class: "Mail", args: [], retry: -1 }, "retry", "expected true, false"],
    ["POST", "/jobs", { class: "Mail", args: [], at: "2100-01-02T03:04" }, "at", "a time with its zone, such as"],
    ["POST", "/flows", flowAt("2100-01-02"), "nodes.a.at", "a time with its zone, such as"],
    ["POST", "/pause", { fro: "5m" }, "fro", 'Unknown field "fro"; did you mean "for"?'],
    [
      "POST",
      "/batches",
      { nam: "mails" },
      "nam",
      'nam is "mails"; expected no option of this name: did you mean "name"?',
    ],
    ["GET", "/jobs?in=dead&klass=Mail", undefined, "klass", "Unknown parameter"],
    ["GET", "/jobs?in=dead&limit=0", undefined, "limit", "from 1 to 1000"],
    ["GET", "/jobs?in=dead&limit=5000", undefined, "limit", "from 1 to 1000"],
    ["GET", "/stats?in=dead", undefined, "in", "no parameters"],
  ];
  for (const [method, path, body, field, hint] of cases) {
    const { status, value } = await call(site, method, path, { body });
    const error = value["error"] as Record<string, string>;
    assertEquals([status, error["code"], error["field"]], [422, "invalid", field], path);
    assertStringIncludes(error["message"]!, hint);
  }
  assertEquals((await site.store.admin.stats()).enqueued, 0);
});

onEach("in a list, a job that is refused doesn't affect the others", async (site) => {
  const body = [{ class: "A", args: [] }, { class: "A", argz: [] }, { class: "A", args: [] }];
  const { status, value } = await call(site, "POST", "/jobs", { body });
  const results = value["results"] as { jid?: string; refused?: string }[];
  assertEquals([status, results.map(({ jid }) => jid !== undefined)], [201, [true, false, true]]);
  assertStringIncludes(results[1]!.refused!, 'Unknown field "argz"; did you mean "args"?');
});

onEach("fields of the program's own go into the payload", async (site) => {
  const { value } = await call(site, "POST", "/jobs", {
    body: { class: "Mail", args: [1], fields: { tenant: "acme" } },
  });
  const [entry] = await site.store.jobs.find([value["jid"] as string]);
  assertEquals(JSON.parse(entry!.payload).tenant, "acme");
});

onEach("what doesn't exist is 404, in the same form as every error", async (site) => {
  for (
    const [method, path] of [["GET", "/jobs/none"], ["POST", "/jobs/none/retry"], ["GET", "/cron/none"], ["GET", "/no"]]
  ) {
    const { status, value } = await call(site, method as "GET", path!, method === "POST" ? { body: {} } : {});
    const { code } = (value["error"] ?? {}) as Record<string, string>;
    assertEquals([status, code], [404, "not_found"], `${path}: ${JSON.stringify(value)}`);
  }
});

onEach("an Idempotency-Key makes a push idempotent, single and as a list", async (site) => {
  const push = (body: unknown) => call(site, "POST", "/jobs", { body, key: "order-7" });
  const first = await push({ class: "Mail", args: [7] });
  const second = await push({ class: "Mail", args: [7] });
  assertEquals([first.status, second.status, second.value], [201, 200, { jid: first.value["jid"], existed: true }]);
  const list = [{ class: "Mail", args: [8] }, { class: "Mail", args: [9] }];
  const [one, two] = [await push(list), await push(list)];
  const jids = ({ value }: Answer) => (value["results"] as { jid: string }[]).map(({ jid }) => jid);
  assertEquals(jids(one), jids(two));
  assertEquals((await site.store.admin.stats()).enqueued, 3);
});

onEach(
  "an Idempotency-Key or id with another class, queue or arguments is refused, and nothing is lost",
  async (site) => {
    const push = (body: unknown) => call(site, "POST", "/jobs", { body, key: "order-7" });
    const { jid } = (await push({ class: "Mail", args: [7] })).value;
    for (
      const other of [{ class: "Mail", args: [8] }, { class: "Post", args: [7] }, {
        class: "Mail",
        args: [7],
        queue: "mail",
      }]
    ) {
      const { status, value } = await push(other);
      assertEquals(status, 409);
      assertStringIncludes(
        JSON.stringify(value),
        `expected a new one: job \\"${jid}\\" was pushed with it, and with another class, queue or arguments`,
      );
    }
    const list = await call(site, "POST", "/jobs", {
      body: [{ class: "Mail", args: [1], id: "a" }, { class: "Mail", args: [2], id: "a" }],
    });
    const [one, two] = list.value["results"] as Fields[];
    assertEquals([typeof one!["jid"], two!["jid"]], ["string", undefined]);
    assertStringIncludes(String(two!["refused"]), 'id is "a"; expected a new one');
    assertEquals((await push({ class: "Mail", args: [7] })).value, { jid, existed: true });
    assertEquals((await site.store.admin.stats()).enqueued, 2);
  },
);

onEach(
  "an Idempotency-Key or id makes the push of a flow idempotent, and is refused with other nodes",
  async (site) => {
    const push = (args: unknown, by: Fields = {}) =>
      call(site, "POST", "/flows", {
        body: { name: "nightly", nodes: { a: { class: "Mail", args } }, ...by },
        ...(by["id"] === undefined && { key: "nightly 7" }),
      });
    const first = await push([7]);
    const second = await push([7], { id: "nightly 7", within: "2d" });
    const { id, jids } = first.value;
    assertEquals([first.status, second.status, second.value], [201, 200, { id, jids, existed: true }]);
    for (const by of [{}, { id: "nightly 7" }]) {
      const { status, value } = await push([8], by);
      assertEquals([status, (value["error"] as Fields)["field"]], [409, "id"]);
      assertStringIncludes(JSON.stringify(value), `expected a new one: flow \\"${id}\\" was pushed with it, and with`);
    }
    for (const id of ["", null, 7]) assertEquals((await push([7], { id })).status, 422);
    assertEquals((await site.store.admin.stats()).enqueued, 1);
  },
);

onEach("an Idempotency-Key makes a run of a cron entry idempotent", async (site) => {
  const entry = { name: "nightly", class: "Report", rule: "0 3 * * *", timezone: "UTC" };
  await new Crontab({ store: site.store, client: new Client({ store: site.store }) }).add(entry);
  const run = async (key?: string) =>
    (await call(site, "POST", "/cron/nightly/run", { body: {}, ...(key !== undefined && { key }) })).value["jid"];
  const first = await run("monday");
  assertEquals([await run("monday") === first, await run("tuesday") === first, await run() === first], [
    true,
    false,
    false,
  ]);
  assertEquals((await site.store.admin.stats()).enqueued, 3);
});

onEach("a result can be waited for, and one that doesn't come is null", async (site) => {
  const body = { jid: "a1", state: "succeeded", result: 42, class: "A", queue: "default", endedAt: Date.now() };
  const none = await call(site, "GET", "/jobs/a1/result?wait=0.05");
  assertEquals([none.status, none.value], [200, { finished: null }]);
  const waiting = call(site, "GET", "/jobs/a1/result?wait=30s");
  await keepRecord(site.store, { jid: "a1", ttlMs: 60_000, body: JSON.stringify(body) });
  const { value } = await waiting;
  assertEquals((value["finished"] as Record<string, unknown>)["result"], 42);
  assertEquals((await call(site, "GET", "/jobs/a1/result?wait=soon")).status, 422);
});

onEach("jobs, finished jobs and workers have the fields of --json", async (site) => {
  const { store } = site;
  await bury(store, "d1");
  await push(store, "s1", {}, 60_000);
  const ended = {
    jid: "e1",
    class: "A",
    queue: "default",
    state: "succeeded",
    startedAt: 1,
    endedAt: 2,
    worker: "w",
  } as const;
  await keepRecord(store, { jid: "e1", ttlMs: 60_000, body: endedText(ended) });
  const work = [{ task: "processor-1", queue: "default", payload: '{"class":"A","args":[],"jid":"r1"}', since: 1 }];
  await store.workers.heartbeat(workerRecord("web1:7:x", { work }), 60_000);
  const get = async (path: string) => (await call(site, "GET", path)).value;
  for (const place of ["scheduled", "dead"] as const) {
    const { entries: [entry] } = await store.admin.page({ in: place }, { limit: 1 });
    const [{ ref, place: shown, ...job }] = (await get(`/jobs?in=${place}`))["jobs"] as [Fields];
    assertEquals([ref, shown], [entry!.ref, place]);
    assertEquals(job, asJson(jobJson(entry!)));
  }
  const finished = asJson(finishedJson(ended));
  assertEquals(await get("/finished"), { jobs: [finished] });
  assertEquals(await get("/jobs/e1/result"), { finished });
  assertEquals(await get("/jobs/e1"), { jobs: [], finished });
  const [{ jobs: [{ payload, ...job }], ...worker }] = (await get("/workers"))["workers"] as [
    Fields & { jobs: [Fields] },
  ];
  assertEquals(payload, { class: "A", args: [], jid: "r1" });
  assertEquals({ ...worker, jobs: [job] }, asJson(workerJson((await store.workers.list())[0]!)));
});

const tokens = Object.fromEntries(["any", "mail", "low", "eye"].map((name) => [name, newToken()]));
const users = [
  `any:push:${tokens["any"]!.secret}`,
  `mail:push(class=Mail|Report):${tokens["mail"]!.secret}`,
  `low:push(queue=low):${tokens["low"]!.secret}`,
  `eye:reader:${tokens["eye"]!.secret}`,
];

onEach("a token of the role push pushes what its scope allows, and does nothing else", async (site) => {
  const push = async (name: string, body: unknown) =>
    (await call(site, "POST", "/jobs", { body, token: tokens[name]!.token })).status;
  const mail = { class: "Mail", args: [] };
  assertEquals(await push("any", mail), 201);
  assertEquals([await push("mail", mail), await push("mail", { class: "Other", args: [] })], [201, 403]);
  const list = await call(site, "POST", "/jobs", {
    body: [mail, { class: "Other", args: [] }],
    token: tokens["mail"]!.token,
  });
  assertEquals((list.value["results"] as { refused?: string }[])[1]!.refused, "This token may push only Mail, Report");
  assertEquals([await push("low", { ...mail, queue: "low" }), await push("low", mail)], [201, 403]);
  assertEquals(await push("eye", mail), 403);
  assertEquals(await push("low", { ...mail, queue: "low", retry_queue: "default" }), 403);
  assertEquals(await push("low", { ...mail, queue: "low", retry_queue: "low" }), 201);
  const batch = await new Client({ store: site.store }).batches.open();
  assertEquals([await push("any", { ...mail, batch: batch.id }), await push("mail", { ...mail, batch: batch.id })], [
    201,
    403,
  ]);
  assertEquals((await site.store.batches.read({ ids: [batch.id] })).batches[0]!.total, 1);
  for (const field of LINK_FIELDS) {
    assertEquals(await push("any", { ...mail, fields: { [field]: "x" } }), 422, field);
  }
  const token = tokens["any"]!.token;
  for (const path of ["/stats", "/jobs?in=dead", "/settings", "/tokens", "/jobs/a1"]) {
    assertEquals((await call(site, "GET", path, { token })).status, 403, path);
  }
  for (const path of ["/pause", "/actions", "/jobs/a1/delete", "/cron"]) {
    assertEquals((await call(site, "POST", path, { token, body: {} })).status, 403, path);
  }
  assertEquals((await call(site, "GET", "/jobs/a1/result", { token })).value, { finished: null });
  const { value } = await call(site, "GET", "/tokens", { token: tokens["eye"]!.token });
  const listed = value["tokens"] as { name: string; role: string; classes?: string[]; lastUsed: string | null }[];
  assertEquals(listed.map(({ name, role, classes }) => [name, role, classes]), [
    ["any", "push", undefined],
    ["mail", "push", ["Mail", "Report"]],
    ["low", "push", undefined],
    ["eye", "reader", undefined],
  ]);
  assertEquals(listed.every(({ lastUsed }) => lastUsed !== null), true);
}, { users });

onEach("a token limited to classes or queues reads the results of those jobs alone", async (site) => {
  const result = async (name: string, jid: string, wait = "") =>
    (await call(site, "GET", `/jobs/${jid}/result${wait}`, { token: tokens[name]!.token })).value["finished"] !== null;
  const keep = (jid: string, job: { class: string; queue: string }) =>
    keepRecord(site.store, {
      jid,
      ttlMs: 60_000,
      body: JSON.stringify({ jid, state: "succeeded", result: 42, endedAt: Date.now(), ...job }),
    });
  await keep("m1", { class: "Mail", queue: "low" });
  await keep("m2", { class: "Mail", queue: "default" });
  await keep("o1", { class: "Other", queue: "default" });
  const read = async (name: string) => [await result(name, "m1"), await result(name, "m2"), await result(name, "o1")];
  assertEquals(await read("any"), [true, true, true]);
  assertEquals(await read("mail"), [true, true, false]);
  assertEquals(await read("low"), [true, false, false]);
}, { users });

/** A clock on which a wait of 29 s ends when the test lets it. */
let endWait = Promise.withResolvers<void>();
const GATED: Clock = {
  ...systemClock,
  sleep: (ms, signal) => ms === 29_000 ? endWait.promise : systemClock.sleep(ms, signal),
};

onEach(
  "a wait for the result of a job outside of the scope ends no earlier than for one that doesn't exist",
  async (site) => {
    endWait = Promise.withResolvers<void>();
    const keep = (jid: string, name: string) =>
      keepRecord(site.store, {
        jid,
        ttlMs: 60_000,
        body: JSON.stringify({ jid, state: "succeeded", endedAt: Date.now(), class: name, queue: "default" }),
      });
    const ended: string[] = [];
    const wait = async (jid: string) => {
      const path = `/jobs/${jid}/result?wait=29s`;
      const { value } = await call(site, "GET", path, { token: tokens["mail"]!.token });
      ended.push(jid);
      return value["finished"] !== null;
    };
    await keep("before", "Other");
    const hidden = [wait("before"), wait("later"), wait("none")];
    const seen = wait("mine");
    await keep("later", "Other");
    await keep("mine", "Mail");
    assertEquals([await seen, ended], [true, ["mine"]]);
    endWait.resolve();
    assertEquals(await Promise.all(hidden), [false, false, false]);
  },
  { users, clock: GATED },
);

onEach("a token limited to a class can't push a job that wraps another class", async (site) => {
  const push = async (body: unknown) =>
    (await call(site, "POST", "/jobs", { body, token: tokens["mail"]!.token })).status;
  assertEquals(await push({ class: "Mail", args: [], wrapped: "Other" }), 403);
  // The options of the outer class, and the names of its locks, would be those of another class.
  assertEquals(await push({ class: "Other", args: [], wrapped: "Mail" }), 403);
  assertEquals(await push({ class: "Report", args: [], wrapped: "Mail" }), 201);
  assertEquals(await push({ class: "Mail", args: [], fields: { tenant: "acme" } }), 201);
  assertEquals((await site.store.admin.stats()).enqueued, 2);
}, { users });

onEach(
  "in a read-only dashboard, a push token waits for results, pushes nothing and reads nothing else",
  async (site) => {
    const status = async (method: "GET" | "POST", path: string, body?: unknown) =>
      (await call(site, method, path, { token: tokens["any"]!.token, body })).status;
    assertEquals(await status("POST", "/jobs", { class: "Mail", args: [] }), 403);
    assertEquals([await status("GET", "/jobs/a1/result"), await status("GET", "/jobs?in=dead")], [200, 403]);
  },
  { users, readOnly: true },
);

onEach("a token that sends too many requests is told when to try again, and no other token is", async (site) => {
  const statuses: number[] = [];
  for (let i = 0; i < 11; i++) {
    statuses.push((await call(site, "GET", "/jobs/x/result", { token: tokens["any"]!.token })).status);
  }
  assertEquals([statuses[0], statuses.at(-1)], [200, 429]);
  const late = await call(site, "GET", "/jobs/x/result", { token: tokens["any"]!.token });
  assertEquals(late.headers.get("retry-after"), "1");
  assertEquals((await call(site, "GET", "/jobs/x/result", { token: tokens["low"]!.token })).status, 200);
}, { users, tokenRate: 1, clock: STILL });
