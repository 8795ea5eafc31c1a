/** Pages that update live. */
import { assert } from "@std/assert";
import type { Route } from "playwright-core";
import { Client } from "../../../src/client/client.ts";
import { push, workerRecord } from "../site.ts";
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
