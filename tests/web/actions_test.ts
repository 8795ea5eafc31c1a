import { receiveCommands } from "../../src/store/ops/await.ts";
import { readEvents } from "../../src/store/admin/audit.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { bury, onBothStores, PATIENT, placeOf, push, refsOf, workerRecord } from "./site.ts";

onBothStores("retries, kills, deletes and moves one job and selected jobs", async ({ store, visitor }) => {
  const someone = visitor();
  for (const jid of ["d1", "d2", "d3", "d4"]) await bury(store, jid);
  const [d1, d2, d3, d4] = await refsOf(store, "d1", "d2", "d3", "d4") as [string, string, string, string];

  const retried = await someone.submit("/jobs/act", { in: "dead", do: "retry", ref: [d1, d2] }, "/dead");
  assertStringIncludes(retried.text, "2 jobs queued.");
  assertEquals([await placeOf(store, "d1"), await placeOf(store, "d3")], ["queue:default", "dead"]);

  await someone.submit("/jobs/act", { in: "dead", do: "move", ref: [d3], queue_to: "low" }, "/dead");
  assertEquals(await placeOf(store, "d3"), "queue:low");

  await someone.submit(
    "/jobs/act",
    { in: "queue:low", do: "kill", ref: await refsOf(store, "d3") },
    "/queues/low",
  );
  assertEquals(await placeOf(store, "d3"), "queue:low", "it asks first");
  await someone.submit(
    "/jobs/act",
    { in: "queue:low", do: "kill", ref: await refsOf(store, "d3"), confirmed: "yes" },
    "/queues/low",
  );
  assertEquals(await placeOf(store, "d3"), "dead");

  const asked = await someone.submit("/jobs/act", { in: "dead", do: "delete", ref: [d4] }, "/dead");
  assertStringIncludes(asked.text, "Delete 1 job?");
  assertEquals(await placeOf(store, "d4"), "dead");
  await someone.submit("/jobs/act", { in: "dead", do: "delete", ref: [d4], confirmed: "yes" }, "/dead");
  assertEquals(await placeOf(store, "d4"), undefined);

  const late = await someone.submit("/jobs/act", { in: "dead", do: "retry", ref: [d1] }, "/dead");
  assertStringIncludes(late.text, "0 jobs queued. 1 job had moved.");
  const none = await someone.submit("/jobs/act", { in: "dead", do: "retry" }, "/dead");
  assertStringIncludes(none.text, "No jobs selected.");
});

onBothStores("shows, pauses and clears queues that other programs named", async ({ store, visitor }) => {
  const someone = visitor();
  for (const [i, queue] of ["billing/invoices", "a b", "{x}", "größe", "50%"].entries()) {
    await push(store, `f${i}`, { queue });
    const path = `/queues/${encodeURIComponent(queue)}`;
    assertEquals((await someone.visit(path)).status, 200, queue);
    await someone.submit(`${path}/pause`, {}, path);
    const found = (await store.admin.stats()).queues.find(({ name }) => name === queue);
    assertEquals([found?.paused, found?.size], [true, 1], queue);
    const deleted = { in: `queue:${queue}`, do: "delete", scope: "all", confirmed: "yes" };
    await someone.submit("/jobs/act", deleted, path);
    assertEquals(await placeOf(store, `f${i}`), undefined, queue);
  }
});

onBothStores("cancels waiting jobs and records it; dead and unreadable jobs stay", async (site) => {
  const { store, visitor } = site;
  const someone = visitor();
  const stateOf = async (jid: string) => {
    const record = (await store.results.read({ jids: [jid] })).records[0];
    return record === undefined ? undefined : JSON.parse(record).state;
  };
  for (let i = 0; i < 6; i++) await push(store, `s${i}`, { class: i % 3 ? "Mail" : "Report" }, 60_000);
  const act = (fields: Record<string, string | string[]>) =>
    someone.submit("/jobs/act", { in: "scheduled", ...fields }, "/scheduled");
  const ref = await refsOf(store, "s1", "s2");
  assertStringIncludes((await act({ do: "cancel", ref })).text, "Cancel 2 jobs?");
  assertEquals(await placeOf(store, "s1"), "scheduled");
  assertStringIncludes((await act({ do: "cancel", ref, confirmed: "yes" })).text, "2 jobs cancelled.");
  assertStringIncludes(
    (await act({ do: "cancel", scope: "all", class: "Mail" })).text,
    "Cancel 2 jobs in scheduled with class",
  );
  await act({ do: "cancel", scope: "all", class: "Mail", confirmed: "yes" });
  assertEquals(await Promise.all(["s0", "s1", "s2", "s3", "s4", "s5"].map(stateOf)), [
    undefined,
    "cancelled",
    "cancelled",
    undefined,
    "cancelled",
    "cancelled",
  ]);
  assertStringIncludes((await act({ do: "cancel", scope: "all", confirmed: "yes" })).text, "2 jobs cancelled.");
  assertEquals([(await store.admin.stats()).scheduled, await stateOf("s0")], [0, "cancelled"]);
  assertStringIncludes((await someone.visit("/finished")).text, "cancelled");

  await bury(store, "gone");
  const dead = await refsOf(store, "gone");
  await someone.submit("/jobs/act", { in: "dead", do: "cancel", ref: dead, confirmed: "yes" }, "/dead");
  assertEquals([await placeOf(store, "gone"), await stateOf("gone")], ["dead", undefined]);
  await store.jobs.enqueue([{ jid: "odd", queue: "default", payload: "[1]" }]);
  const [odd] = (await store.admin.page({ in: "queue", queue: "default" })).entries;
  const form = { in: "queue:default", do: "cancel", ref: odd!.ref, confirmed: "yes" };
  const left = await someone.submit("/jobs/act", form, "/queues/default");
  assertStringIncludes(left.text, "0 jobs cancelled. 1 job had moved or cannot be read.");
  assertEquals((await store.admin.stats()).enqueued, 1);
});

onBothStores(
  "the API and the page of a job cancel one whose worker is offline: its lease passes to no queue",
  async (site) => {
    const { store, visitor } = site;
    const someone = visitor();
    const worker = "gone:7:abc";
    for (const jid of ["api", "page"]) await push(store, jid);
    await store.jobs.take({ queues: ["default"], limit: 2, worker });
    assertEquals(await someone.api("POST", "/jobs/api/cancel"), { status: 200, value: { asked: 1 } });
    await someone.submit("/jobs/cancel", { jid: "page", worker, confirmed: "yes" }, "/running");
    await store.workers.deregister(worker);
    assertEquals([await placeOf(store, "api"), await placeOf(store, "page")], ["running", "running"]);
  },
);

onBothStores("the API cancels a waiting and a running job, and refuses a dead one", async (site) => {
  const { store, visitor } = site;
  const someone = visitor();
  const worker = "web1:7:abc";
  await store.workers.heartbeat(workerRecord(worker), 60_000);
  await push(store, "runs");
  await store.jobs.take({ queues: ["default"], limit: 1, worker });
  await push(store, "waits");
  await bury(store, "dead", { queue: "default" });
  assertEquals(await someone.api("POST", "/jobs/waits/cancel"), { status: 200, value: { changed: 1 } });
  assertEquals([
    await placeOf(store, "waits"),
    JSON.parse((await store.results.read({ jids: ["waits"] })).records[0]!).state,
  ], [
    undefined,
    "cancelled",
  ]);
  assertEquals(await someone.api("POST", "/jobs/runs/cancel"), { status: 200, value: { asked: 1 } });
  const [command] = await receiveCommands(store, worker, new AbortController().signal);
  assertEquals([command!.verb, command!.jid], ["cancel", "runs"]);
  const refused = await someone.api("POST", "/jobs/dead/cancel");
  assertEquals([refused.status, await placeOf(store, "dead")], [404, "dead"]);
  assertStringIncludes(refused.value.error.message, "it is dead");
  assertEquals((await someone.api("POST", "/jobs/unknown/cancel")).status, 404);
  for (let i = 0; i < 3; i++) await push(store, `all${i}`);
  const all = { action: "cancel", all: { in: "queue:default" } };
  assertEquals(await someone.api("POST", "/actions", all), { status: 200, value: { changed: 3 } });
  assertEquals(JSON.parse((await store.results.read({ jids: ["all2"] })).records[0]!).state, "cancelled");
  const { events } = await readEvents(store);
  const cancels = events.filter(({ action }) => action === "cancel");
  const refusals = cancels.filter(({ outcome }) => outcome?.startsWith("refused"));
  assertEquals([cancels.length, refusals.length], [6, 2]);
});

let passedMs = 0;

onBothStores(
  "deletes only the jobs that were old enough when the page asked, and names an invalid time of the question",
  async ({ store, visitor }) => {
    passedMs = 0;
    const now = Date.now() / 1_000;
    await push(store, "old", { created_at: now - 3_600 }, 86_400_000);
    await push(store, "young", { created_at: now }, 86_400_000);
    const page = await visitor().open("/scheduled?older=30m");
    const asked = await page.press("Delete selected", { all: true });
    assertStringIncludes(asked.html, "Delete 1 job in scheduled with older than &quot;30m&quot;?");
    passedMs = 3_600_000;
    assertStringIncludes((await asked.press("Delete 1 job")).html, "1 job deleted.");
    assertEquals([await placeOf(store, "old"), await placeOf(store, "young")], [undefined, "scheduled"]);
    for (const time of ["soon", "-1", "1e3", "9".repeat(20), ""]) {
      const form = { in: "scheduled", do: "delete", scope: "all", older: "30m", asked: time, confirmed: "yes" };
      const { status, text } = await visitor().submit("/jobs/act", form, "/scheduled");
      assertEquals(status, 422, time);
      assertStringIncludes(text, "Invalid field &quot;asked&quot;:");
    }
    assertEquals(await placeOf(store, "young"), "scheduled");
  },
  { clock: { ...PATIENT, now: () => PATIENT.now() + passedMs } },
);

onBothStores("changes all matching jobs, and no others, once the count was confirmed", async ({ store, visitor }) => {
  const someone = visitor();
  for (let i = 0; i < 12; i++) {
    await push(store, `s${i}`, { class: i % 3 ? "Mail" : "Report", args: [`user-${i}`] }, 60_000);
  }
  const asked = await someone.submit(
    "/jobs/act",
    { in: "scheduled", do: "retry", scope: "all", class: "Report" },
    "/scheduled",
  );
  assertStringIncludes(asked.text, "Run 4 jobs now in scheduled with class &quot;Report&quot;?");
  assertEquals((await store.admin.stats()).scheduled, 12);
  const done = await someone.submit(
    "/jobs/act",
    { in: "scheduled", do: "retry", scope: "all", class: "Report", confirmed: "yes" },
    "/scheduled",
  );
  assertStringIncludes(done.text, "4 jobs queued.");
  const { scheduled, enqueued } = await store.admin.stats();
  assertEquals([scheduled, enqueued], [8, 4]);

  await someone.submit(
    "/jobs/act",
    { in: "scheduled", do: "kill", scope: "all", q: "USER-1", confirmed: "yes" },
    "/scheduled",
  );
  assertEquals((await store.admin.stats()).dead, 3); // 1, 10 and 11
  await someone.submit("/jobs/act", { in: "scheduled", do: "delete", scope: "all", confirmed: "yes" }, "/scheduled");
  assertEquals((await store.admin.stats()).scheduled, 0);
  await someone.submit("/jobs/act", {
    in: "queue:default",
    do: "move",
    scope: "all",
    queue_to: "low",
    confirmed: "yes",
  });
  assertEquals((await store.admin.stats()).queues.map(({ name, size }) => [name, size]), [["default", 0], ["low", 4]]);
});

onBothStores("pauses, resumes and clears a queue", async ({ store, visitor }) => {
  const someone = visitor();
  for (let i = 0; i < 3; i++) await push(store, `q${i}`);
  const paused = await someone.submit("/queues/default/pause", {}, "/queues");
  assertStringIncludes(paused.text, "Queue default paused.");
  assertEquals((await store.admin.stats()).queues[0]!.paused, true);
  await someone.submit("/queues/default/resume", {}, "/queues");
  assertEquals((await store.admin.stats()).queues[0]!.paused, false);
  const asked = await someone.submit("/jobs/act", { in: "queue:default", do: "delete", scope: "all" }, "/queues");
  assertStringIncludes(asked.text, "Delete 3 jobs in queue default?");
  await someone.submit("/jobs/act", { in: "queue:default", do: "delete", scope: "all", confirmed: "yes" }, "/queues");
  assertEquals((await store.admin.stats()).enqueued, 0);
});

onBothStores(
  "limits a queue by the form on its page and by the API, and refuses invalid limits",
  async (site) => {
    const { store, visitor } = site;
    const someone = visitor();
    const limited = async () => {
      const { taken: _taken, started: _started, freeInMs: _freeInMs, ...limit } =
        (await store.admin.stats()).queues[0]!.limit ??
          {};
      return limit;
    };
    await push(store, "q1");
    const set = await someone.submit("/queues/default/limit", { running: "5", starts: "100/1m" }, "/queues/default");
    assertStringIncludes(set.text, "Queue default is limited to 5 at once, 100/1m.");
    assertStringIncludes(set.text, "0 of 5 running, 0 of 100 started in the last 1m");
    assertEquals(await limited(), { running: 5, starts: { count: 100, perMs: 60_000 } });
    const form = (await someone.visit("/queues/default")).text;
    assertStringIncludes(form, 'value="5"');
    assertStringIncludes(form, 'value="100/1m"');
    for (const wrong of [{ running: "0" }, { running: "x" }, { starts: "5" }, { starts: "<b>/m" }]) {
      assertEquals((await someone.submit("/queues/default/limit", wrong, "/queues/default")).status, 422);
    }
    for (const wrong of [{ running: 0 }, { running: [] }, { starts: 5 }, { starts: "5" }, { foo: 1 }]) {
      const { status } = await someone.api("POST", "/queues/default/limit", wrong);
      assertEquals(status, 422, JSON.stringify(wrong));
    }
    assertEquals(await limited(), { running: 5, starts: { count: 100, perMs: 60_000 } });
    const answer = await someone.api("POST", "/queues/default/limit", { running: 2 });
    assertEquals(answer.value, { queue: "default", running: 2 });
    assertEquals(await limited(), { running: 2 });
    await someone.submit("/queues/default/limit", { running: "", starts: "" }, "/queues/default");
    assertEquals(await limited(), {});
  },
);

onBothStores(
  "the API pauses for the given time, and refuses an invalid one",
  async ({ store, visitor }) => {
    const someone = visitor();
    await push(store, "q1");
    for (const path of ["/queues/default/pause", "/pause"]) {
      for (const value of [-1, 0, "1x", true, null, { s: 1 }]) {
        const { status, value: { error: { message: error } } } = await someone.api("POST", path, { for: value });
        assertEquals(status, 422, `${path} ${JSON.stringify(value)}`);
        assertStringIncludes(JSON.stringify(error), "10m");
      }
      assertEquals((await someone.api("POST", path, { foo: 1 })).status, 422);
      const broken = await someone.send(`/api/v1${path}`, {
        method: "POST",
        body: "{",
        headers: { "content-type": "application/json" },
      });
      assertEquals(broken.status, 400);
    }
    assertEquals((await store.admin.stats()).queues.some(({ paused }) => paused), false);

    assertEquals((await someone.api("POST", "/queues/default/pause", { for: "10m" })).status, 200);
    assertEquals((await someone.api("POST", "/pause", { for: 3_600 })).status, 200);
    const left = new Map((await store.admin.stats()).queues.map(({ name, pausedForMs }) => [name, pausedForMs!]));
    assert(left.get("default")! > 0 && left.get("default")! <= 600_000);
    assert(left.get("*")! > 600_000 && left.get("*")! <= 3_600_000);
    assertEquals((await someone.api("POST", "/resume", { for: "10m" })).status, 422);
    for (const path of ["/resume", "/queues/default/resume"]) {
      assertEquals(
        (await someone.api("POST", path)).status,
        200,
      );
    }
    assertEquals((await store.admin.stats()).queues.some(({ paused }) => paused), false);
  },
);

onBothStores(
  "the API refuses unknown fields, and then changes nothing",
  async ({ store, visitor }) => {
    const someone = visitor();
    await bury(store, "d1");
    const unknown = { delay: 5 };
    for (
      const path of [
        "/jobs/d1/retry",
        "/jobs/d1/delete",
        "/jobs/d1/cancel",
        "/jobs/d1/push-again",
        "/queues/default/clear",
      ]
    ) {
      const { status, value } = await someone.api("POST", path, unknown);
      assertEquals(status, 422, path);
      assertStringIncludes(JSON.stringify(value), "delay");
    }
    const all = { action: "delete", all: { in: "dead" } };
    assertEquals((await someone.api("POST", "/actions", { ...all, ...unknown })).status, 422);
    assertEquals(await placeOf(store, "d1"), "dead");
  },
);

onBothStores("actions on an unknown cron entry return 404", async ({ visitor }) => {
  for (const verb of ["run", "pause", "resume", "remove"]) {
    assertEquals((await visitor().api("POST", `/cron/unknown/${verb}`)).status, 404, verb);
  }
});

onBothStores(
  "pushes a new job; refuses an invalid one and keeps the input in the form",
  async ({ store, visitor }) => {
    const someone = visitor();
    const wrong = await someone.submit("/push", { class: "Greet", args: '{"a":1}', queue: "mail" }, "/push");
    assertEquals(wrong.status, 422);
    assertStringIncludes(wrong.text, "Arguments: expected an array");
    assertStringIncludes(wrong.text, "{&quot;a&quot;:1}");
    const pushed = await someone.submit("/push", {
      class: "Greet",
      args: '["bob", 12345678901234567890]',
      queue: "mail",
    });
    const jid = /Pushed as (\w+)\./.exec(pushed.text)![1]!;
    assertMatch((await store.jobs.find([jid]))[0]!.payload, /"args":\["bob",12345678901234567890\]/);
    await someone.submit("/push", { class: "Greet", args: "[]", when: "in 5m", retry: "3" });
    assertEquals((await store.admin.stats()).scheduled, 1);
  },
);

onBothStores("a job that is pushed without a queue goes to the queue of its class", async ({ store, visitor }) => {
  await store.classes.declare([{ name: "Greet", options: '{"queue":"low"}' }]);
  const { text } = await visitor().submit("/push", { class: "Greet", args: "[]", queue: "" }, "/push");
  assertEquals(await placeOf(store, /Pushed as (\w+)\./.exec(text)![1]!), "queue:low");
});

onBothStores("a push of an unregistered class is stored, and its page has a warning", async ({ store, visitor }) => {
  await store.classes.declare([{ name: "Greet", options: "{}" }]);
  const someone = visitor();
  const warning =
    "isn&#39;t registered: no worker has run it yet, so its jobs wait until one does; did you mean Greet?";
  for (const [name, isTold] of [["Greet", false], ["Great", true]] as const) {
    const { text } = await someone.submit("/push", { class: name, args: "[]", queue: "" }, "/push");
    assertEquals(text.includes(`Warning: class &quot;${name}&quot; ${warning}`), isTold, name);
    assertEquals(await placeOf(store, /Pushed as (\w+)\./.exec(text)![1]!), "queue:default");
  }
});

onBothStores("edits a job and pushes it again; masked values stay unchanged", async ({ store, visitor }) => {
  const someone = visitor();
  await bury(store, "old", { args: [{ name: "bob", password: "hunter2" }], tags: ["x"] });
  const [ref] = await refsOf(store, "old");
  const form = await someone.visit(`/jobs/old/edit?ref=${encodeURIComponent(ref!)}`);
  assert(!form.text.includes("hunter2"));
  await someone.submit("/jobs/old/edit", {
    ref: ref!,
    class: "Hard",
    queue: "low",
    args: '[{"name":"ann","password":"••••••"}]',
  });
  assertEquals(await placeOf(store, "old"), undefined);
  const [entry] = (await store.admin.page({ in: "queue", queue: "low" })).entries;
  const { jid, args, tags, error_class } = JSON.parse(entry!.payload);
  assertEquals({ args, tags, error_class }, {
    args: [{ name: "ann", password: "hunter2" }],
    tags: ["x"],
    error_class: undefined,
  });
  assert(jid !== "old");
});

onBothStores("shows the running jobs after one is cancelled on its page", async ({ store, visitor }) => {
  const { id: worker } = workerRecord("web1:7:a");
  await store.workers.heartbeat(workerRecord(worker), 60_000);
  await push(store, "busy");
  await store.jobs.take({ queues: ["default"], limit: 1, worker });
  const { ref } = (await store.admin.page({ in: "running" })).entries[0]!;
  const act = { in: "running", do: "cancel", ref, confirmed: "yes" };
  const answer = await visitor().submit("/jobs/act", act, "/jobs/busy");
  assertEquals(answer.status, 200);
  assertStringIncludes(answer.text, "1 job cancelled.");
  assertStringIncludes(answer.text, "<h1>Running");
});

onBothStores(
  "a job pushed again is new: without occurrence, trace and past failures",
  async ({ store, visitor }) => {
    const past = {
      occurrence: { name: "nightly", scheduledAt: "2026-01-01T00:00:00.000Z", lateMs: 0 },
      traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-01`,
      tracestate: "a=b",
      baggage: "user=1",
      errors: [{ class: "RangeError" }],
      rescues: 2,
    };
    const own = { tags: ["x"], timeout: 30, expires_in: 60 };
    await bury(store, "old", { ...past, ...own });
    const [ref] = await refsOf(store, "old");
    await visitor().submit("/jobs/old/edit", { ref: ref!, class: "Hard", queue: "low", args: "[1]" });
    const [entry] = (await store.admin.page({ in: "queue", queue: "low" })).entries;
    const { jid, created_at, enqueued_at, ...rest } = JSON.parse(entry!.payload);
    assert(jid !== "old" && created_at > 1.7e9 && enqueued_at > 1.7e9);
    assertEquals(rest, { class: "Hard", args: [1], queue: "low", retry: true, ...own });
  },
);

onBothStores("a worker receives quiet, resume and stop, and replies with its dump", async ({ store, visitor }) => {
  const someone = visitor();
  const worker = "web1:7:abc";
  await store.workers.heartbeat(workerRecord(worker), 60_000);
  const received = async () =>
    (await receiveCommands(store, worker, AbortSignal.timeout(30_000))).map(({ verb }) => verb);
  for (const verb of ["quiet", "resume", "stop"] as const) {
    if (verb === "stop") {
      const asked = await someone.submit(`/workers/${worker}/stop`, {}, "/workers");
      assertStringIncludes(asked.text, `Stop worker ${worker}?`);
    }
    await someone.submit(`/workers/${worker}/${verb}`, { confirmed: "yes" }, "/workers");
    assertEquals(await received(), [verb]);
  }
  const page = someone.submit(`/workers/${worker}/dump`, {}, "/workers");
  const [command] = await receiveCommands(store, worker, AbortSignal.timeout(30_000));
  await store.workers.send(command!.id!, "task 1 <idle>");
  assertStringIncludes((await page).text, "task 1 &lt;idle&gt;");
  const { totals: _ours, ...sidekiqs } = workerRecord("web2:8:def");
  await store.workers.heartbeat(sidekiqs, 60_000);
  const elsewhere = await someone.submit("/workers/web2:8:def/dump", {}, "/workers");
  assertStringIncludes(elsewhere.text, "it writes the dump of its threads to Sidekiq&#39;s log");
  const gone = await someone.submit("/workers/unknown:1:x/quiet", {}, "/workers");
  assertEquals(gone.status, 404);
});

onBothStores("a reader sees pages and can't act", async ({ store, visitor }) => {
  await bury(store, "d1");
  const someone = visitor();
  const page = await someone.visit("/dead");
  assert(!page.text.includes('name="do"'));
  assertStringIncludes(page.text, "read-only");
  const refused = await someone.submit(
    "/jobs/act",
    { in: "dead", do: "retry", scope: "all", confirmed: "yes" },
    "/dead",
  );
  assertEquals(refused.status, 403);
  const pushed = await someone.api("POST", "/jobs", { class: "A" });
  assertEquals(pushed.status, 403);
  assertEquals(await placeOf(store, "d1"), "dead");
  assertEquals((await someone.submit("/theme", { theme: "dark" })).status, 200);
}, { readOnly: true });
