/** Presses each button on each page that has it, as a browser without scripts does, on both stores. */
import { receiveCommands } from "../../src/store/ops/await.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import type { JobAction } from "../../src/operator/actions/job_ids.ts";
import { actionsIn, parsePlace, placePath } from "../../src/web/read/job_sets.ts";
import type { HtmlPage } from "./html_page.ts";
import { bury, onBothStores, placeOf, push, PUT, type Site, workerRecord } from "./site.ts";
import { keepRecord } from "../support/records.ts";

const MESSAGES: Readonly<Record<JobAction, string>> = {
  retry: "queued",
  kill: "moved to dead",
  cancel: "cancelled",
  delete: "deleted",
  move: "moved",
};
const LEADS_TO: Readonly<Record<JobAction, string | undefined>> = {
  retry: "queue:default",
  kill: "dead",
  cancel: undefined,
  delete: undefined,
  move: "queue:elsewhere",
};

type Scope = "one" | "row" | "selected" | "matching" | "all";

/** The label of the action's button. */
function labelOf(action: JobAction, place: string): string {
  if (action === "retry" && place === "scheduled") return "Run now";
  return { retry: "Retry", kill: "Move to dead", cancel: "Cancel", delete: "Delete", move: "Move" }[action];
}

/** The button that confirms the action. */
function confirmationOf(action: JobAction, place: string, jobs: string): string {
  return {
    retry: place === "scheduled" ? `Run ${jobs} now` : `Retry ${jobs}`,
    kill: `Move ${jobs} to dead`,
    cancel: `Cancel ${jobs}`,
    delete: `Delete ${jobs}`,
    move: `Move ${jobs} to queue elsewhere`,
  }[action];
}

for (const place of Object.keys(PUT)) {
  onBothStores(
    `each action on the jobs in ${place} changes the jobs that its button names, and no other`,
    async (site) => {
      for (const action of actionsIn(parsePlace(place))) {
        const hasRowButton = action === "retry" || action === "delete";
        const scopes = ["one", ...(hasRowButton ? ["row" as const] : []), "selected", "matching", "all"] as const;
        for (const scope of scopes) await act(site, place, action, scope);
      }
    },
  );
}

async function act({ store, visitor }: Site, place: string, action: JobAction, scope: Scope): Promise<void> {
  const what = `${action} ${scope} in ${place}`;
  const jids = ["a", "b", "c"].map((letter) => `${letter}-${action}-${scope}`);
  const [a, b] = jids as [string, string];
  for (const jid of jids) {
    await PUT[place]!(store, jid, { args: [`<${jid}>`], class: jid === a ? "Meant" : "Other" });
  }
  const path = placePath(parsePlace(place));
  let page = await visitor().open(scope === "matching" ? `${path}?class=Meant` : path);
  if (scope === "one") page = await page.follow("Meant", `<${a}>`);
  const label = labelOf(action, place);
  const button = scope === "one" ? label : scope === "row" ? `${label} Meant ${a}` : `${label} selected`;
  page = await page.press(button, {
    tick: scope === "selected" ? [`<${a}>`, `<${b}>`] : [],
    all: scope === "matching" || scope === "all",
    fill: action === "move" ? { "Queue to move to": "elsewhere" } : {},
  });
  const meant = { one: [a], row: [a], selected: [a, b], matching: [a], all: jids }[scope];
  const jobs = meant.length === 1 ? "1 job" : `${meant.length} jobs`;
  if (action === "delete" || action === "cancel" || action === "kill" || scope === "matching" || scope === "all") {
    assertStringIncludes(page.heading, jobs, what);
    for (const jid of jids) assertEquals(await placeOf(store, jid), place, `${what} asks first`);
    page = await page.press(confirmationOf(action, place, jobs));
  }
  assertEquals([page.status, page.message], [200, `${jobs} ${MESSAGES[action]}.`], what);
  for (const jid of jids) {
    assertEquals(await placeOf(store, jid), meant.includes(jid) ? LEADS_TO[action] : place, `${what}: ${jid}`);
    const record = (await store.results.read({ jids: [jid] })).records[0];
    const state = record === undefined ? undefined : JSON.parse(record).state;
    assertEquals(state, action === "cancel" && meant.includes(jid) ? "cancelled" : undefined, `${what}: ${jid}`);
  }
  for (const { name: queue } of (await store.admin.stats()).queues) {
    await store.jobs.edit({ in: { in: "queue", queue }, limit: 100 }, "delete");
  }
  for (const set of ["scheduled", "retry", "dead"] as const) {
    await store.jobs.edit({ in: { in: set }, limit: 100 }, "delete");
  }
}

onBothStores("a queue is paused, resumed and cleared from each page that shows it", async ({ store, visitor }) => {
  const isPaused = async (name: string) =>
    (await store.admin.stats()).queues.find((queue) => queue.name === name)?.paused ?? false;
  for (const path of ["/", "/queues", "/queues/default"]) {
    await push(store, `q-${path}`);
    await push(store, `l-${path}`, { queue: "low" });
    let page = await (await visitor().open(path)).press("Pause queue default");
    assertEquals(page.message, "Queue default paused.");
    assertEquals([await isPaused("default"), await isPaused("low")], [true, false], path);
    page = await page.press("Resume queue default");
    assertEquals(page.message, "Queue default resumed.");
    assertEquals(await isPaused("default"), false, path);
    page = await (await page.press("Clear queue default")).press("Delete 1 job");
    assertEquals(page.message, "1 job deleted.");
    assertEquals([await placeOf(store, `q-${path}`), await placeOf(store, `l-${path}`)], [undefined, "queue:low"]);
  }
});

onBothStores("a queue is limited in the form on its page, until the form is emptied", async ({ store, visitor }) => {
  await push(store, "q1");
  const limit = async () => {
    const { running, starts } = (await store.admin.stats()).queues.find(({ name }) => name === "default")?.limit ?? {};
    return { running, starts };
  };
  let page = await visitor().open("/queues/default");
  page = await page.press("Save limit", { fill: { "Max concurrent": "5", "Rate limit": "100/1m" } });
  assertEquals(page.message, "Queue default is limited to 5 at once, 100/1m.");
  assertEquals(await limit(), { running: 5, starts: { count: 100, perMs: 60_000 } });
  assertEquals([page.value("Max concurrent"), page.value("Rate limit")], ["5", "100/1m"]);
  page = await page.press("Save limit", { fill: { "Max concurrent": "", "Rate limit": "" } });
  assertEquals(page.message, "Queue default has no limit.");
  assertEquals(await limit(), { running: undefined, starts: undefined });
});

onBothStores("pausing all queues includes queues that are created later", async ({ store, visitor }) => {
  await push(store, "q1");
  const worker = "web1:7:abc";
  await store.workers.heartbeat(workerRecord(worker, { queues: ["default", "new"] }), 60_000);
  const take = () => store.jobs.take({ queues: ["default", "new"], limit: 9, worker });
  const page = await (await visitor().open("/queues")).press("Pause all");
  await push(store, "n1", { queue: "new" });
  assertEquals((await take()).length, 0);
  await page.press("Resume all");
  assertEquals((await take()).length, 2);
});

onBothStores("quiets, resumes, dumps and stops a worker from each page that shows it", async (site) => {
  const { store, visitor } = site;
  const worker = "web1:7:abc";
  const command = async () => (await receiveCommands(store, worker, AbortSignal.timeout(30_000)))[0]!;
  for (const path of ["/", "/workers"]) {
    await store.workers.heartbeat(workerRecord(worker), 60_000);
    const asks = async (page: Promise<HtmlPage>, verb: string) => {
      assertEquals((await page).message, `Sent ${verb} to ${worker}.`, path);
      assertEquals((await command()).verb, verb, path);
    };
    let page = await visitor().open(path);
    await asks(page.press("Quiet web1:7"), "quiet");
    await asks(page.press("Stop web1:7").then((question) => question.press("Stop the worker")), "stop");
    await store.workers.heartbeat(workerRecord(worker, { quiet: true }), 60_000);
    page = await visitor().open(path);
    assertStringIncludes(page.html, ">quiet</span>");
    await asks(page.press("Resume web1:7"), "resume");
    const dump = page.press("Dump web1:7");
    await store.workers.send((await command()).id!, `task <1> of ${path}`);
    assertStringIncludes((await dump).html, `task &lt;1&gt; of ${path}`);
  }
});

onBothStores("quiets, resumes and stops all workers at once", async ({ store, visitor }) => {
  const identities = ["web1:7:abc", "web1:8:abc"];
  for (const worker of identities) await store.workers.heartbeat(workerRecord(worker), 60_000);
  for (
    const [button, verb] of [["Quiet all", "quiet"], ["Resume all", "resume"]] as const
  ) {
    const page = await (await visitor().open("/workers")).press(button);
    assertEquals(page.message, `Sent ${verb} to 2 workers.`);
    for (const worker of identities) {
      assertEquals((await receiveCommands(store, worker, AbortSignal.timeout(30_000))).map(({ verb }) => verb), [
        verb,
      ]);
    }
  }
  const question = await (await visitor().open("/workers")).press("Stop all");
  assertEquals((await question.press("Stop all workers")).message, "Sent stop to 2 workers.");
  for (const worker of identities) {
    const commands = await receiveCommands(store, worker, AbortSignal.timeout(30_000));
    assertEquals(commands.map(({ verb }) => verb), ["stop"]);
  }
});

onBothStores("a refused form keeps its input and shows the error at its field", async ({ store, visitor }) => {
  await push(store, "q1");
  await bury(store, "d1");
  const limit = { "Max concurrent": "5", "Rate limit": "often" };
  let page = await (await visitor().open("/queues/default")).press("Save limit", { fill: limit });
  assertEquals([page.status, page.message], [422, "One field is invalid."]);
  assertEquals([page.value("Max concurrent"), page.value("Rate limit")], ["5", "often"]);
  assertStringIncludes(page.problem("Rate limit"), '"often"');
  assertEquals(page.problem("Max concurrent"), "");
  page = await page.press("Save limit", { fill: { "Rate limit": "100/1m" } });
  assertEquals(page.message, "Queue default is limited to 5 at once, 100/1m.");

  page = await (await visitor().open("/dead")).press("Move selected", {
    tick: ["no luck"],
    fill: { "Queue to move": "a b" },
  });
  assertEquals([page.status, page.heading, page.value("To queue")], [422, "Move 1 job", "a b"]);
  assertEquals(page.problem("To queue"), 'Invalid queue name "a b".');
  page = await page.press("Move", { fill: { "To queue": "low" } });
  assertEquals([page.heading, page.message, await placeOf(store, "d1")], ["Dead", "1 job moved.", "queue:low"]);

  page = await visitor().open("/queues/default?older=soon&class=Greet");
  assertEquals([page.status, page.value("Older than"), page.value("Class")], [422, "soon", "Greet"]);
  assertStringIncludes(page.problem("Older than"), '"soon"; expected an age');
  page = await page.press("Apply", { fill: { "Older than": "" } });
  assertEquals(page.status, 200);

  const entry = { Name: "nightly", "Cron expression": "61 3 * * *", Class: "Report", Arguments: '["a"]' };
  page = await (await visitor().open("/cron-new")).press("Add", { fill: entry });
  assertStringIncludes(page.problem("Cron expression"), "61");
  for (const [label, text] of Object.entries(entry)) assertEquals(page.value(label), text, label);
  page = await page.press("Add", { fill: { "Cron expression": "1 3 * * *", Queue: "a b" } });
  assertEquals([page.problem("Cron expression"), page.value("Queue")], ["", "a b"]);
  assertStringIncludes(page.problem("Queue"), '"a b"');
});

onBothStores("a reader sees no button that acts, on any page", async ({ store, visitor }) => {
  await bury(store, "d1");
  await push(store, "q1");
  await store.workers.heartbeat(workerRecord("web1:7:abc"), 60_000);
  const crontab = new Crontab({ store, client: new Client({ store }) });
  await crontab.add({ name: "nightly", class: "Report", rule: "0 3 * * *", timezone: "UTC" });
  const paths = [
    "/",
    "/running",
    "/queues",
    "/queues/default",
    "/dead",
    "/jobs/d1",
    "/cron",
    "/cron/nightly",
    "/workers",
  ];
  for (const path of paths) {
    const page = await visitor().open(path);
    assertEquals(page.acts, [], path);
    assertEquals(page.html.includes("New job"), false, path);
  }
}, { readOnly: true });

onBothStores("runs, pauses and resumes a cron entry from its list and its page, and removes it", async (site) => {
  const { store, visitor } = site;
  const crontab = new Crontab({ store, client: new Client({ store }) });
  await crontab.add({ name: "nightly report", class: "Report", rule: "0 3 * * *", timezone: "UTC" });
  const isPaused = async () => (await crontab.get("nightly report"))!.state!.paused ?? false;
  let page: HtmlPage | undefined;
  for (const path of ["/cron", "/cron/nightly%20report"]) {
    page = await (await visitor().open(path)).press("Run now: nightly report");
    assertStringIncludes(page.message, "Cron entry nightly report is enqueued as ");
    page = await page.press("Pause nightly report");
    assertEquals([page.message, await isPaused()], ["Cron entry nightly report is paused.", true]);
    page = await page.press("Resume nightly report");
    assertEquals([page.message, await isPaused()], ["Cron entry nightly report is resumed.", false]);
  }
  assertEquals((await store.admin.stats()).enqueued, 2);
  page = await (await page!.press("Remove")).press("Remove the entry");
  assertEquals([page.message, (await crontab.page()).entries], ["Cron entry nightly report is removed.", []]);
});

onBothStores(
  "a run of a cron entry that is requested twice by one button is enqueued once",
  async ({ store, visitor }) => {
    const crontab = new Crontab({ store, client: new Client({ store }) });
    await crontab.add({ name: "nightly", class: "Report", rule: "0 3 * * *", timezone: "UTC" });
    for (const path of ["/cron", "/cron/nightly"]) {
      const page = await visitor().open(path);
      const pages = await Promise.all([page.press("Run now: nightly"), page.press("Run now: nightly")]);
      assertEquals(new Set(pages.map(({ message }) => message)).size, 1);
      assertStringIncludes(pages[0]!.message, "Cron entry nightly is enqueued as ");
    }
    assertEquals((await store.admin.stats()).enqueued, 2);
    assertEquals((await crontab.history("nightly", 10)).length, 2);
  },
);

onBothStores("edits a job and pushes it again from every place where it waits", async ({ store, visitor }) => {
  for (const [place, put] of Object.entries(PUT)) {
    const jid = `old-${place.split(":")[0]}`;
    await put(store, jid, { args: ["bob", { password: "hunter2" }] });
    const form = await (await visitor().open(`/jobs/${jid}`)).follow("Edit & re-enqueue");
    assertEquals(form.html.includes("hunter2"), false);
    const wrong = await form.press("Push", { fill: { Arguments: "{" } });
    assertStringIncludes(wrong.problem("Arguments"), "Arguments: invalid JSON");
    const fill = { Arguments: '["ann", {"password": "••••••"}]', Queue: "elsewhere" };
    assertStringIncludes((await wrong.press("Push", { fill })).message, "Pushed as ");
    assertEquals(await placeOf(store, jid), undefined, place);
    const { entries: [entry] } = await store.admin.page({ in: "queue", queue: "elsewhere" });
    assertEquals(JSON.parse(entry!.payload).args, ["ann", { password: "hunter2" }], place);
    await store.jobs.edit([entry!.ref], "delete");
  }
});

onBothStores("pushes a new job of a known class, now and for later", async ({ store, visitor }) => {
  await bury(store, "d1", { class: "Known::Job" });
  const form = await (await visitor().open("/")).follow("New job");
  assertEquals(form.options("class-names"), ["Known::Job"]);
  await assertRejects(() => form.press("Push"), Error, "is required");
  const fill = {
    Class: "Known::Job",
    Arguments: '["bob", 12345678901234567890]',
    Queue: "mail",
    "Max retries": "maybe",
  };
  const wrong = await form.press("Push", { fill });
  assertEquals(wrong.message, "One field is invalid.");
  assertEquals(wrong.problem("Max retries"), 'Invalid retries "maybe": expected a number, true or false');
  assertStringIncludes((await wrong.press("Push", { fill: { "Max retries": "3" } })).message, "Pushed as ");
  const { entries: [now] } = await store.admin.page({ in: "queue", queue: "mail" });
  assertStringIncludes(now!.payload, '"args":["bob",12345678901234567890]');
  assertEquals(JSON.parse(now!.payload).retry, 3);
  for (const When of ["in 5m", "at 2099-01-31T08:00Z"]) {
    const page = await (await visitor().open("/push?class=Later")).press("Push", { fill: { When } });
    assertStringIncludes(page.html, "It is due in ");
  }
  assertEquals((await store.admin.stats()).scheduled, 2);
});

onBothStores(
  "a form for a new job that is sent twice pushes one job, and another one when it is changed",
  async (site) => {
    const { store, visitor } = site;
    const form = await (await visitor().open("/")).follow("New job");
    const fill = { Class: "Order", Arguments: "[7]" };
    const pages = await Promise.all([form.press("Push", { fill }), form.press("Push", { fill })]);
    assertEquals(pages.map(({ message }) => message.split(" as ")[0]).sort(), ["Already pushed", "Pushed"]);
    assertEquals((await store.admin.stats()).enqueued, 1);
    await form.press("Push", { fill: { ...fill, Arguments: "[8]" } });
    await (await visitor().open("/push")).press("Push", { fill });
    assertEquals((await store.admin.stats()).enqueued, 3);
  },
);

onBothStores("filters, reverses, pages through and searches a list", async ({ store, visitor }) => {
  const payload = (i: number) =>
    JSON.stringify({ class: i % 50 ? "Many" : "Few", args: [`<${i}>`], jid: `j${i}`, queue: "default" });
  await store.jobs.enqueue(
    Array.from({ length: 55 }, (_, i) => ({ jid: `j${i}`, queue: "default", payload: payload(i) })),
  );
  const jobs = (page: HtmlPage) => [...page.html.matchAll(/&lt;(\d+)&gt;/g)].map(([, i]) => Number(i));
  let page = await visitor().open("/queues/default");
  assertEquals([jobs(page)[0], jobs(page).length], [0, 50]);
  page = await page.follow("Next →");
  assertEquals(jobs(page), [50, 51, 52, 53, 54]);
  page = await (await page.follow("← First page")).follow("Newest first");
  assertEquals([jobs(page)[0], jobs(page).length], [54, 50]);
  page = await page.press("Apply", { fill: { Class: "Few" } });
  assertEquals(jobs(page), [50, 0]);
  page = await page.follow("Clear");
  page = await visitor().open(`/search?q=${encodeURIComponent("<17>")}`);
  assertStringIncludes(page.html, "1 job found");
  assertEquals((await page.follow("Many")).heading, "Many");
});

onBothStores(
  "filters finished jobs by status, class and queue, and the audit log by user and action",
  async (site) => {
    const { store, visitor } = site;
    const record = (i: number) => ({
      jid: `e${i}`,
      class: i % 10 === 0 ? "Mail::Send" : "Report",
      queue: i % 2 === 0 ? "low" : "default",
      state: i % 20 === 0 ? "failed" : "succeeded",
      endedAt: 1_700_000_000_000 + i,
    });
    for (let i = 0; i < 120; i++) {
      await keepRecord(store, { jid: `e${i}`, ttlMs: Infinity, body: JSON.stringify(record(i)) });
    }
    const rows = (page: HtmlPage) => page.html.match(/href="\/jobs\/e\d+"/g)?.length ?? 0;
    let page = await (await visitor().open("/finished")).press("Apply", { fill: { Class: "Mail::*" } });
    assertEquals([rows(page), page.value("Class")], [12, "Mail::*"]);
    page = await page.follow("Failed");
    assertEquals(rows(page), 6);
    page = await page.press("Apply", { fill: { Queue: "default" } });
    assertStringIncludes(page.html, "Searched 120 results.");
    page = await page.follow("Clear");
    assertEquals(rows(page), 50);

    for (const path of ["/queues/a/pause", "/queues/b/pause", "/queues/a/resume"]) {
      await visitor().submit(
        path,
        {},
        "/queues",
      );
    }
    page = await (await visitor().open("/audit")).press("Apply", { fill: { Action: "pause", Target: "queue:*" } });
    assertEquals(page.html.match(/data-label="Action">(\w+)</g)?.length, 2);
    page = await page.press("Apply", { fill: { User: "nemo" } });
    assertStringIncludes(page.html, "No matching activity.");
    const { value } = await visitor().api("GET", "/audit?action=resume");
    assertEquals(value.events.map(({ target }: { target: string }) => target), ["queue:a"]);
    const finished = await visitor().api("GET", "/finished?state=failed&class=Mail*&limit=3");
    const jids = finished.value.jobs.map(({ jid }: { jid: string }) => jid);
    assertEquals(jids, ["e100", "e80", "e60"]);
    const after = await visitor().api(
      "GET",
      `/finished?state=failed&class=Mail*&limit=3&cursor=${finished.value.next}`,
    );
    assertEquals(after.value.jobs.map(({ jid }: { jid: string }) => jid), ["e40", "e20", "e0"]);
  },
);
