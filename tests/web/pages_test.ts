import { receiveCommands } from "../../src/store/ops/await.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { optionNames } from "../../src/job/option_names.ts";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { OutcomeNote } from "../../src/web/pages/run_times.tsx";
import { Counters } from "../../src/server/stats/counters.ts";
import { ClassCounters } from "../../src/server/stats/counters.ts";
import { register, takeUpTo } from "../store_contract/jobs.ts";
import { promtool } from "../support/promtool.ts";
import { bury, onBothStores, openSite, placeOf, push, pushAll, workerRecord } from "./site.ts";
import { keepRecord } from "../support/records.ts";

onBothStores("every page shows the store's content", async ({ store, visitor }) => {
  await bury(store, "d1", { args: ["bob", { api_key: "k-123" }], tags: ["night"], display_class: "Shown::As" });
  await push(store, "q1", { args: [12345678901234567890n.toString()] });
  await push(store, "s1", { queue: "mail" }, 3_600_000);
  const someone = visitor();
  const shows = async (path: string, ...texts: string[]) => {
    const answer = await someone.visit(path);
    assertEquals(answer.status, 200, path);
    for (const text of texts) assertStringIncludes(answer.text, text, path);
    return answer.text;
  };
  await shows("/", "No worker is running: 1 job waits", "Jobs per minute", "default");
  await shows("/queues", "default", "Pause", "Clear");
  await shows("/queues/default", "q1", "12345678901234567890", "no worker");
  await shows("/scheduled", "s1", "Run now", "mail");
  const dead = await shows("/dead", "Shown::As", "RangeError: no luck", "night", "&quot;bob&quot;", "••••••");
  assert(!dead.includes("k-123"));
  await shows("/retrying", "No jobs are waiting for a retry.");
  await shows("/running", "No jobs running");
  await shows("/workers", "No workers are running.");
  await shows("/jobs/d1", "Moved to dead", "RangeError", "no luck", "••••••");
  await shows("/jobs/q1", "No worker is online");
  await shows("/jobs/s1", "It is due in ");
});

onBothStores("filters combine, are part of the address, and don't match masked values", async ({ store, visitor }) => {
  await bury(store, "d1", { class: "Import", args: ["/srv/a.csv", { password: "hunter2" }], tags: ["night"] });
  await bury(store, "d2", { class: "Import", args: ["/srv/b.csv"], error_message: "disk full", queue: "low" });
  await bury(store, "d3", { class: "Mail", args: ['quote " and \\ and é'] });
  const someone = visitor();
  const found = async (query: string) => {
    const { text } = await someone.visit(`/dead?${query}`);
    return ["d1", "d2", "d3"].filter((jid) => text.includes(`/jobs/${jid}`)).join(" ");
  };
  assertEquals(await found("class=Import"), "d1 d2");
  assertEquals(await found("class=Imp*&q=b.csv"), "d2");
  assertEquals(await found("error=FULL"), "d2");
  assertEquals(await found("tag=night"), "d1");
  assertEquals(await found("queue=low"), "d2");
  assertEquals(await found("q=d3"), "d3");
  assertEquals(await found(`q=${encodeURIComponent('" and')}`), "d3");
  assertEquals(await found("q=É"), "d3");
  assertEquals(await found("q=hunter2"), "");
  assertEquals(await found("q=hunter2&class=Import"), "");
  const everywhere = await someone.visit("/search?q=srv");
  assertStringIncludes(everywhere.text, "2 jobs found");
});

onBothStores("lists are paged: each job is on one page, in both orders", async ({ store, visitor }) => {
  await pushAll(store, Array.from({ length: 120 }, (_, i) => ({ jid: `j${String(i).padStart(3, "0")}` })));
  for (const order of ["forward", "reverse"]) {
    const someone = visitor();
    const jids: string[] = [];
    for (let path: string | undefined = `/queues/default?order=${order}`; path !== undefined;) {
      const { text } = await someone.visit(path);
      jids.push(...[...text.matchAll(/<a class="class" href="\/jobs\/(j\d+)/g)].map(([, jid]) => jid!));
      path = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll("&amp;", "&");
    }
    const sorted = Array.from({ length: 120 }, (_, i) => `j${String(i).padStart(3, "0")}`);
    assertEquals(jids, order === "forward" ? sorted : sorted.reverse());
  }
});

onBothStores("the API does the same as the pages", async ({ store, visitor }) => {
  const program = visitor();
  const pushed = await program.api("POST", "/jobs", { class: "Greet", args: ["bob", { token: "t" }], queue: "mail" });
  assertEquals(pushed.status, 201);
  const many = await program.api("POST", "/jobs", [{ class: "A" }, { class: "" }, { class: "B", in: "5m" }]);
  assertEquals(many.value.results.map((one: { jid?: string }) => one.jid !== undefined), [true, false, true]);
  assertEquals((await program.api("GET", "/stats")).value.queued, 2);
  assertEquals((await program.api("GET", "/queues")).value.queues.length, 2);
  const list = await program.api("GET", "/jobs?in=queue:mail");
  assertEquals(list.value.jobs[0].payload.args, ["bob", { token: "••••••" }]);
  const { jid } = pushed.value;
  const act = async (action: string, body = {}) => (await program.api("POST", `/jobs/${jid}/${action}`, body)).value;
  assertEquals(await act("move", { queue: "low" }), { changed: 1 });
  assertEquals(await act("kill"), { changed: 1 });
  assertEquals(await act("retry"), { changed: 1 });
  assertEquals((await program.api("GET", `/jobs/${jid}`)).value.jobs[0].place, "queue:low");
  const again = (await program.api("POST", `/jobs/${jid}/push-again`, { args: [{ token: "••••••" }] })).value;
  assertEquals((await program.api("GET", `/jobs/${jid}`)).status, 404);
  assertEquals(JSON.parse((await store.jobs.find([again.jid]))[0]!.payload).args, [{ token: "••••••" }]);
  assertEquals((await program.api("POST", "/queues/low/pause")).value, { queue: "low", paused: true });
  assertEquals((await program.api("POST", "/queues/low/resume")).value, { queue: "low", paused: false });
  assertEquals((await program.api("POST", "/queues/low/clear")).value, { changed: 1, removed: true });
  const all = { action: "kill", all: { in: "scheduled", class: "B" } };
  assertEquals((await program.api("POST", "/actions", all)).value, { changed: 1 });
  const refs = (await program.api("GET", "/jobs?in=dead")).value.jobs.map((job: { ref: string }) => job.ref);
  assertEquals((await program.api("POST", "/actions", { action: "delete", refs })).value, { changed: 1 });
  assertEquals((await program.api("POST", `/jobs/${jid}/retry`)).status, 404);
  assertEquals((await program.api("POST", "/actions", { action: "eat", refs: [] })).status, 422);
  assertEquals((await program.api("POST", "/workers/x/quiet")).status, 404);
  const document = (await program.api("GET", "/openapi.json")).value;
  assertEquals(document.openapi, "3.1.0");
  const push = document.components.schemas.Push.properties;
  assertEquals(optionNames("push").filter((name) => push[name] === undefined), [], "every option of a push");
  for (const path of ["/jobs", "/jobs/{jid}/retry", "/actions", "/queues/{name}/clear"]) {
    assert(document.paths[path]?.post);
  }
});

Deno.test("under a prefix, every link and redirect stays under it", async () => {
  await using site = await openSite("sqlite", { prefix: "/ops/jobs" });
  await push(site.store, "q1");
  const someone = site.visitor();
  for (const path of ["/", "/queues", "/queues/default", "/dead", "/jobs/q1", "/push", "/settings"]) {
    const { status, text } = await someone.visit(`/ops/jobs${path}`);
    assertEquals(status, 200, path);
    for (const [, address] of text.matchAll(/\s(?:href|src|action)="([^"]*)"/g)) {
      assert(address!.startsWith("/ops/jobs") || address!.startsWith("#"), `${path}: ${address}`);
    }
  }
  const page = await someone.visit("/ops/jobs/queues");
  const token = /name="token" value="([^"]+)"/.exec(page.text)![1]!;
  const { headers } = await someone.send("/ops/jobs/queues/default/pause", {
    method: "POST",
    body: new URLSearchParams({ token, back: "/queues" }),
  });
  assertEquals(headers.get("location"), "/ops/jobs/queues");
  assertEquals((await someone.visit("/queues")).status, 404);
});

Deno.test("Prometheus' checker accepts the metrics, with hostile and many names too", async () => {
  const totals = new ClassCounters();
  const own = () => ({ ...new Counters().counts(), classes: totals.classes, loopDelayMs: 0, horses: undefined });
  const counts = () => Promise.resolve([{ process: undefined, counts: own() }]);
  await using site = await openSite("sqlite", { counts });
  for (const name of ['a"b\\c\nd', ...Array.from({ length: 300 }, (_, i) => `Class${i}`)]) {
    totals.addWait(name, 1_000);
    totals.add(name, "succeeded", 20);
  }
  totals.add("Boom", "retried", 20);
  await pushAll(site.store, Array.from({ length: 250 }, (_, i) => ({ jid: `q${i}`, queue: `queue-${i}` })));
  const { text, headers } = await site.visitor().visit("/metrics");
  assertStringIncludes(headers.get("content-type")!, "version=0.0.4");
  assertEquals(await promtool(["check", "metrics"], text), "");
  assert(text.split("\n").length < 7_000, "the number of series has a bound");
  assertStringIncludes(text, 'jobs_queue_size{queue="(other)"} 50');
  assertStringIncludes(text, 'class="a\\"b\\\\c\\nd"');
  assertStringIncludes(text, 'jobs_performed_total{class="(other)",outcome="failed"} 1');
  assertStringIncludes(text, 'jobs_run_seconds_bucket{class="Class0",le="0.005"} 0\n');
  assertStringIncludes(text, 'jobs_run_seconds_bucket{class="Class0",le="0.025"} 1\n');
  assertStringIncludes(text, 'jobs_run_seconds_bucket{class="Class0",le="+Inf"} 1\n');
  assertStringIncludes(text, 'jobs_run_seconds_sum{class="Class0"} 0.02\n');
  assertStringIncludes(text, 'jobs_wait_seconds_bucket{class="Class0",le="0.5"} 0\n');
  assertStringIncludes(text, 'jobs_wait_seconds_bucket{class="Class0",le="1"} 1\n');
});

Deno.test("health: alive while it responds, ready only with workers and a reachable store", async () => {
  let problem: string | undefined;
  await using site = await openSite("redis", { notReady: () => problem });
  const someone = site.visitor();
  assertEquals([(await someone.visit("/healthz")).text, (await someone.visit("/readyz")).text], ["ok\n", "ready\n"]);
  problem = "Quiet: it takes no jobs";
  const quiet = await someone.visit("/readyz");
  assertEquals([quiet.status, quiet.text], [503, "Quiet: it takes no jobs\n"]);
  problem = undefined;
  await site.store[Symbol.asyncDispose]();
  assertEquals((await someone.visit("/readyz")).status, 503);
  assertEquals((await someone.visit("/healthz")).status, 200);
  assertEquals((await someone.visit("/dead")).status, 503);
});

onBothStores("a finished job shows its outcome and its result, masked", async ({ store, visitor }) => {
  const record = (jid: string, more: Record<string, unknown>) =>
    keepRecord(store, {
      jid,
      ttlMs: 60_000,
      body: JSON.stringify({
        jid,
        class: "Report",
        queue: "default",
        endedAt: Date.now(),
        elapsedMs: 1_234,
        ...more,
      }),
    });
  await record("e1", {
    state: "succeeded",
    result: { rows: 7, api_key: "k-123" },
    payload: { class: "Report", args: ["may"] },
  });
  await record("e2", { state: "failed", error: { class: "TypeError", message: "<b>no luck</b>" } });
  await keepRecord(store, { jid: "e3", ttlMs: 60_000, body: "{}" });
  const someone = visitor();
  const list = (await someone.visit("/finished")).text;
  for (const text of ["succeeded", "failed", "1.2s", "&quot;may&quot;", "TypeError: &lt;b&gt;no luck"]) {
    assertStringIncludes(list, text);
  }
  assert(!list.includes("k-123"));
  assertEquals((await someone.visit("/finished?q=luck")).text.match(/jobs\/e\d"/g), ['jobs/e2"']);
  assertEquals((await someone.visit("/finished?q=k-123")).text.match(/jobs\/e\d"/g), null);
  const one = (await someone.visit("/jobs/e1")).text;
  assertStringIncludes(one, "••••••");
  assertStringIncludes(one, '<code class="note key">rows</code> <code>7</code>');
  const api = (await someone.api("GET", "/jobs/e2")).value;
  assertEquals([api.jobs, api.finished.state], [[], "failed"]);
  assertEquals((await someone.api("GET", "/classes")).value.classes[0].run.p50, 1_234);
  assertEquals((await someone.api("GET", "/finished?limit=2")).value.jobs.length, 2);
  await record("e4", {
    class: "Reports",
    state: "succeeded",
    endedAt: 1,
    payload: { class: "Reports", tags: ["night"] },
  });
  const found = async (query: string) =>
    (await someone.api("GET", `/finished?${query}`)).value.jobs.map(({ jid }: { jid: string }) => jid);
  assertEquals(await found("class=Reports"), ["e4"]);
  assertEquals(await found("error=typeerror"), ["e2"]);
  assertEquals(await found("error=typeerror*luck&class=Report&newer=1h"), ["e2"]);
  assertEquals(await found("tag=night"), ["e4"]);
  assertEquals(await found("older=1d"), ["e4"]);
  assertEquals(await found("newer=1d&class=Report&state=succeeded"), ["e1"]);
  const refused = await someone.api("GET", "/finished?older=soon");
  assertEquals([refused.status, refused.value.error.field], [422, "older"]);
});

onBothStores("refuses an unknown cursor with one line; an empty cursor starts the list", async ({ store, visitor }) => {
  await bury(store, "d1");
  const someone = visitor();
  const refusal = 'Invalid cursor "x": expected the "next" of the previous page, or none';
  for (
    const [page, api] of [["/dead?", "/jobs?in=dead&"], ["/finished?", "/finished?"], ["/audit?", "/audit?"]] as const
  ) {
    const { status, text } = await someone.visit(`${page}cursor=x`);
    assertEquals(status, 400, page);
    assertStringIncludes(text, refusal.replaceAll('"', "&quot;"));
    assertEquals(await someone.api("GET", `${api}cursor=x`), {
      status: 400,
      value: { error: { code: "bad_request", message: refusal, field: "cursor" } },
    });
    assertEquals((await someone.visit(`${page}cursor=`)).status, 200);
    assertEquals((await someone.api("GET", `${api}cursor=`)).status, 200);
  }
});

onBothStores("shows cron entries in plain words; runs, pauses, resumes and removes one", async (site) => {
  const { store, visitor } = site;
  const crontab = new Crontab({ store, client: new Client({ store }) });
  await crontab.add({ name: "nightly report", class: "Report", rule: "0 3 * * *", timezone: "UTC" });
  const someone = visitor();
  const list = await someone.visit("/cron");
  assertStringIncludes(list.text, "nightly report");
  assertStringIncludes(list.text, "at 03:00 every day");
  const page = "/cron/nightly%20report";
  const idle = async () =>
    /no worker is running/i.test((await someone.visit("/cron")).text) &&
    (await someone.visit(page)).text.includes("No worker is running: these runs don&#39;t take place until one is.");
  assertEquals(await idle(), true);
  await store.workers.heartbeat(workerRecord("w:1:a", { heartbeatMs: 5_000 }), 600_000);
  assertEquals(await idle(), false);
  const ran = await someone.submit(`${page}/run`, {}, page);
  const jid = /is enqueued as (\w+)\./.exec(ran.text)![1]!;
  assertEquals(await placeOf(store, jid), "queue:default");
  assertStringIncludes(ran.text, "manual");
  assertStringIncludes((await someone.submit(`${page}/pause`, {}, page)).text, "paused");
  assertEquals((await crontab.get("nightly report"))!.state!.paused, true);
  assertStringIncludes((await someone.visit(page)).text, "these runs don&#39;t take place until it is resumed");
  assertEquals((await someone.api("POST", `${page}/resume`)).status, 200);
  assertEquals((await someone.api("GET", page)).value.entry.paused, false);
  await someone.submit(`${page}/remove`, { confirmed: "yes" }, page);
  assertEquals((await crontab.page()).entries, []);
  assertEquals((await someone.visit(page)).status, 404);
  assertEquals((await someone.api("POST", `${page}/pause`)).status, 404);
});

onBothStores(
  "shows how the last job of a cron entry ended, and reports one that is dead",
  async ({ store, visitor }) => {
    const crontab = new Crontab({ store, client: new Client({ store, onUnregistered: () => {} }) });
    await crontab.add({ name: "report", class: "Report", every: "1h" });
    const jid = await crontab.run("report");
    const someone = visitor();
    assertStringIncludes((await someone.visit("/cron")).text, `href="/jobs/${jid}">not ended</a>`);
    assertStringIncludes((await someone.visit("/cron/report")).text, '<span class="badge running">not ended</span>');
    const worker = await register(store);
    const [lease] = await takeUpTo(store, worker);
    const body = { jid, class: "Report", queue: "default", state: "dead", endedAt: Date.now(), elapsedMs: 9 };
    const record = { jid: jid!, ttlMs: 60_000, body: JSON.stringify(body) };
    const ended = { token: lease!.token, payload: lease!.payload, jid: jid!, occurrence: "report", record };
    await store.jobs.settle(worker, [{ kind: "bury", ...ended }]);
    const list = (await someone.visit("/cron")).text;
    assertStringIncludes(list, `<a href="/jobs/${jid}"><span class="badge bad">dead</span></a>`);
    assert(!list.includes("not ended"));
    assertMatch(
      (await someone.visit("/cron/report")).text,
      /<td[^>]* data-label="Job ended"><span class="badge bad">/,
    );
    assertStringIncludes((await someone.visit("/")).text, "The last job of cron entry &quot;report&quot; is dead");
  },
);

Deno.test("a run that was missed with others shows their number and the first, in one line", () => {
  const record = { outcome: "missed", scheduledAt: 90_000, decidedAt: 100_000, count: 10, first: 40_000 } as const;
  const note = `${OutcomeNote({ view: { now: 100_000 }, record })}`;
  assertMatch(note, /^<span class="note nowrap">10 runs, the first <time [^>]*>1m ago<\/time><\/span>$/);
  assertEquals(OutcomeNote({ view: { now: 100_000 }, record: { ...record, count: 1 } }), null);
});

Deno.test("the first page takes less than 100 kB over the wire, with its style, scripts and font", async () => {
  await using site = await openSite("sqlite");
  const size = async (path: string) => {
    const headers = { "host": "localhost:7433", "accept-encoding": "gzip" };
    const response = await site.web.handle(new Request(`http://localhost:7433${path}`, { headers }), "127.0.0.1");
    return (await response.arrayBuffer()).byteLength;
  };
  const files = [...(await site.visitor().visit("/")).text.matchAll(/\/assets\/[^"]+/g)].map(([path]) => path);
  assert(
    ["style.css", "live.js", "uplot.js", "inter.woff2"].every((name) => files.some((file) => file.includes(name))),
  );
  const sizes = await Promise.all(["/", ...files].map(size));
  assert(sizes.reduce((sum, one) => sum + one, 0) < 100_000, `${["/", ...files]}: ${sizes}`);
});

onBothStores("a running job shows its progress and its log, and can be cancelled", async ({ store, visitor }) => {
  const worker = "web1:7:abc";
  await register(store, worker);
  await push(store, "r1");
  const [lease] = await takeUpTo(store, worker);
  const work = [{
    task: "processor-1",
    queue: "default",
    payload: lease!.payload,
    since: Date.now(),
    progress: "40 percent",
    lastLine: "At row 7",
  }];
  await store.workers.heartbeat(workerRecord(worker, { busy: 1, work }), 60_000);
  const someone = visitor();
  const { text } = await someone.visit("/running");
  assertStringIncludes(text, "40 percent");
  assertStringIncludes(text, "At row 7");
  await someone.submit("/jobs/cancel", { jid: "r1", worker, confirmed: "yes" }, "/running");
  const [command] = await receiveCommands(store, worker, AbortSignal.timeout(30_000));
  assertEquals([command!.verb, command!.jid], ["cancel", "r1"]);
});
