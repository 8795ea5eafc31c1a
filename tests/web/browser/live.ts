/** Pages that update live. */
import { assert, assertEquals } from "@std/assert";
import type { Page, Route } from "playwright-core";
import { Client } from "../../../src/client/client.ts";
import { RUN_BOUNDS_MS } from "../../../src/store/port/metrics.ts";
import { asleep } from "../asleep.ts";
import { bury, push, workerRecord } from "../site.ts";
import { browserTest, QUICK } from "./browser.ts";

browserTest("a page updates live, unless that is switched off", async ({ page, site: { store }, go }) => {
  await go("/");
  await push(store, "w1", { queue: "slow" });
  await page.locator("#queues a", { hasText: "slow" }).waitFor();
  await page.locator("[data-stat=queued]").first().filter({ hasText: "1" }).waitFor();
  await page.locator("#alerts", { hasText: "No worker is running" }).waitFor();
  await page.getByLabel("Live").uncheck();
  const requested: string[] = [];
  page.on("request", (request) => void requested.push(new URL(request.url()).pathname));
  await page.reload();
  assert(requested.includes("/") && !requested.includes("/events"), "a reload doesn't switch it on again");
  const watching = page.waitForRequest("**/events");
  await page.getByLabel("Live").check();
  await watching;
}, { web: { clock: QUICK } });

browserTest("a page shows a change during a fetch, and a change whose fetch failed", async (tools) => {
  const { page, site: { store }, go, complaints } = tools;
  const { promise: held, resolve: hold } = Promise.withResolvers<Route>();
  let fetched = 0;
  await page.route("**/queues", async (route) => {
    if (route.request().headers()["x-live"] === undefined) return await route.continue();
    fetched++;
    if (fetched === 1) hold(route);
    else if (fetched === 3) await route.fulfill({ status: 503, body: "Too many requests" });
    else await route.continue();
  });
  await go("/queues");
  const route = await held;
  const response = await route.fetch();
  await push(store, "w1", { queue: "slow" });
  await page.locator("[data-stat=queued]").filter({ hasText: "1" }).waitFor();
  await route.fulfill({ response });
  await page.locator("#queues a", { hasText: "slow" }).waitFor();

  await push(store, "w2", { queue: "slower" });
  await page.locator("#queues a", { hasText: "slower" }).waitFor();
  assert(fetched > 3 && complaints.every((text) => text.includes("503")), complaints.join());
  complaints.length = 0;
}, { web: { clock: QUICK } });

browserTest("the pages of a flow and of the flows show the states of its nodes live", async (tools) => {
  const { page, site: { store }, go } = tools;
  const client = new Client({ store, onUnregistered: () => {} });
  const { id } = await client.flow("nightly", {
    extract: { job: ["Extract", []] },
    load: { job: ["Load", []], after: "extract" },
  }, { success: { class: "Notify", args: [] } });
  await go(`/flows/${id}`);
  await page.locator("#graph .node.waiting").waitFor();
  const kill = async () => {
    const { entries } = await store.admin.page({ in: "queue", queue: "default" });
    await store.jobs.edit(entries.map(({ ref }) => ref), "kill");
  };
  await kill();
  await page.locator("#graph .node.dead").waitFor();
  await page.locator("#heading .badge", { hasText: "stuck" }).waitFor();
  await page.locator("#counts a", { hasText: "Dead" }).waitFor();
  await page.locator("#nodes .badge.bad").waitFor();
  await page.getByRole("button", { name: "Retry dead" }).waitFor();
  await page.getByText("Dead by error").waitFor();
  await page.getByText("Why it hasn't ended").waitFor();
  await go("/flows");
  await page.locator("#rows .badge", { hasText: "stuck" }).waitFor();
  const { entries } = await store.admin.page({ in: "dead" });
  await store.jobs.edit(entries.map(({ ref }) => ref), "requeue");
  await page.locator("#rows .badge", { hasText: "running" }).waitFor();
}, { web: { clock: QUICK } });

browserTest("a page shows a job as ended once its worker's heartbeat reports it", async (tools) => {
  const { page, site: { store }, go } = tools;
  const worker = "web1:7:abc";
  await push(store, "r1");
  await store.workers.heartbeat(workerRecord(worker), 60_000);
  const [lease] = await store.jobs.take({ queues: ["default"], limit: 1, worker });
  const work = [{ task: "processor-1", queue: "default", payload: lease!.payload, since: Date.now() }];
  await store.workers.heartbeat(workerRecord(worker, { busy: 1, work }), 60_000);
  await go("/running");
  await page.locator("#running a", { hasText: "Hard" }).waitFor();
  await store.jobs.settle(worker, [{ kind: "ack", token: lease!.token }]);
  const refreshed = page.waitForResponse((response) => response.request().headers()["x-live"] !== undefined);
  await page.locator("[data-stat=running]").first().filter({ hasText: "0" }).waitFor();
  await refreshed;
  await store.workers.heartbeat(workerRecord(worker), 60_000);
  await page.locator("#running", { hasText: "No jobs running" }).waitFor();
}, { web: { clock: QUICK } });

/** Tells a page that its tab has been left, or entered again. */
const setHidden = (page: Page, hidden: boolean) =>
  page.evaluate(`
    Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  `);

browserTest(
  "tabs that are hidden hold no connections, which a browser has six of, and update once shown",
  async (tools) => {
    const { page, base, site: { store }, go } = tools;
    await go("/queues");
    await setHidden(page, true);
    // Without a free connection, the seventh would never load.
    for (let i = 0; i < 7; i++) {
      const tab = await page.context().newPage();
      const watching = tab.waitForResponse("**/events");
      await tab.goto(`${base}/queues`);
      await watching;
      await setHidden(tab, true);
    }
    await push(store, "w1", { queue: "slow" });
    await setHidden(page, false);
    await page.locator("#queues a", { hasText: "slow" }).waitFor();
  },
  { web: { clock: QUICK } },
);

browserTest("a page follows again after a proxy refused its stream of counts", async (tools) => {
  const { page, site: { store }, go, complaints } = tools;
  const refuse = (route: Route) => route.fulfill({ status: 502, body: "Bad Gateway" });
  await page.route("**/events", refuse, { times: 1 });
  const refused = page.waitForResponse((response) => response.status() === 502);
  await go("/queues");
  await refused;
  await push(store, "w1", { queue: "slow" });
  await page.locator("#queues a", { hasText: "slow" }).waitFor();
  assert(complaints.every((text) => text.includes("502")), complaints.join());
  complaints.length = 0;
}, { web: { clock: QUICK } });

browserTest(
  "the stream of a job shows large numbers exactly, and continues in a tab that was hidden",
  async (tools) => {
    const { page, site: { store }, go } = tools;
    const worker = "web1:7:abc";
    await push(store, "r1");
    await store.workers.heartbeat(workerRecord(worker), 60_000);
    const [lease] = await store.jobs.take({ queues: ["default"], limit: 1, worker });
    const write = (from: number, chunk: string) =>
      store.streams.append({ worker, token: lease!.token, jid: "r1" }, { attempt: 1, from, chunks: [chunk] });
    const shown = page.getByLabel("Stream", { exact: true });
    await go("/jobs/r1");
    assert(await write(0, '{"order":9007199254740993}'));
    await shown.filter({ hasText: "order" }).waitFor();
    await setHidden(page, true);
    assert(await write(1, "9007199254740995"));
    await setHidden(page, false);
    await shown.filter({ hasText: "995" }).waitFor();
    assertEquals(await shown.textContent(), '{"order":9007199254740993}\n9007199254740995\n');
  },
  { web: { clock: QUICK } },
);

browserTest("a chart without values shows the first ones live", async ({ page, site: { store }, go }) => {
  await page.clock.install();
  await go("/");
  const chart = page.locator("#chart-throughput");
  await chart.locator(".plot").waitFor({ state: "hidden" });
  const histogram = new Array(RUN_BOUNDS_MS.length + 1).fill(7);
  await store.series.add("classes", [{ class: "Report", processed: 200, failed: 18, workedMs: 9_000, histogram }]);
  const charts = page.waitForResponse((response) => response.request().headers()["x-live"] === "charts");
  await page.clock.fastForward(30_000);
  await charts;
  await chart.locator("canvas").waitFor();
});

browserTest("a signal whose name resembles a time stops no updates", async ({ page, site: { store }, go }) => {
  await asleep(store, { jid: "o1", key: "room 2026-99-31 10:00 UTC" });
  await go("/jobs/o1");
  await page.getByText("room 2026-99-31 10:00 UTC").first().waitFor();
  await page.locator(".side-foot time[title]").waitFor();
});

browserTest("a list that was empty gets its filters and actions live", async ({ page, site: { store }, go, press }) => {
  await go("/dead");
  await page.getByText("No dead jobs.").waitFor();
  await bury(store, "d1");
  await page.getByRole("checkbox", { name: /^Select Hard/ }).check();
  await page.getByRole("button", { name: "Retry selected" }).waitFor();
  await press("Retry selected");
  await page.getByText("No dead jobs.").waitFor();
}, { web: { clock: QUICK } });

browserTest("the list of queued jobs is of the queue that its actions concern", async (tools) => {
  const { page, site: { store }, go } = tools;
  await go("/queued");
  await page.getByText("No jobs are waiting.").waitFor();
  const queue = page.locator("form#jobs input[name=in]");
  await push(store, "m1", { queue: "mail" });
  await page.getByRole("button", { name: "Delete Hard m1" }).waitFor();
  assertEquals(await queue.getAttribute("value"), "queue:mail");
  for (const jid of ["l1", "l2"]) await push(store, jid, { queue: "low" });
  await page.getByRole("button", { name: "Delete Hard l2" }).waitFor();
  assertEquals(await queue.getAttribute("value"), "queue:low");

  const search = page.getByPlaceholder("Search…");
  await search.fill("typed");
  await search.blur();
  await push(store, "l3", { queue: "low" });
  await page.locator("[data-stat=queued]").filter({ hasText: "4" }).waitFor();
  assertEquals(await search.inputValue(), "typed");
  await search.fill("");
  await search.blur();
  await page.getByRole("button", { name: "Delete Hard l3" }).waitFor();
}, { web: { clock: QUICK } });
