/** Every page for a screen reader, in light and dark, and in windows of any width. */
import { recordEvent } from "../../../src/store/admin/audit.ts";
import { assertEquals } from "@std/assert";
import axe from "axe-core";
import { Client } from "../../../src/client/client.ts";
import { RUN_BOUNDS_MS } from "../../../src/store/port/metrics.ts";
import { Crontab } from "../../../src/client/crontab.ts";
import { asleep } from "../asleep.ts";
import { bury, fail, push, workerRecord } from "../site.ts";
import { browserTest, type Tools } from "./browser.ts";
import { keepRecord } from "../../support/records.ts";

/** A phone; and the narrowest window of each other layout that `style.css` has, and a very wide one. */
const PHONE = { width: 360, height: 740 };
const WIDTHS = [2560, 1280, 1001];

browserTest(
  "axe finds nothing on any page, light or dark, and no page is wider than its window of 360 pixels or more",
  accessible,
  { live: false, context: { viewport: PHONE, bypassCSP: true, reducedMotion: "reduce" } },
);

async function accessible({ page, site: { store, visitor }, go, press }: Tools): Promise<void> {
  const linked = await linkJobs(store);
  await fillWide(store);
  await go("/");
  const paths = await page.locator("nav a[data-key]").evaluateAll((links) => links.map((a) => a.getAttribute("href")!));
  const { entries: [dead] } = await store.admin.page({ in: "dead" });
  const more = [
    "/queues/default",
    "/jobs/d1",
    "/jobs/f1",
    "/jobs/q1",
    "/jobs/r1",
    "/jobs/e1",
    "/jobs/unknown",
    `/jobs/d1/edit?ref=${encodeURIComponent(dead!.ref)}`,
    "/push",
    "/cron/nightly",
    "/cron/nightly/edit",
    "/cron-new",
    "/search?q=x",
    "/dead?q=nothing",
    "/dead?by=error",
    "/classes/Report",
    "/nope",
    ...linked,
  ];
  const pages = new Map<string, string>();
  for (const path of [...paths, ...more]) pages.set(path, (await visitor().visit(path)).text);
  await go("/queues");
  await press("Clear queue default");
  pages.set("a question", await page.content());
  await store.admin.configure("default", { limit: { running: 5, starts: { count: 100, perMs: 60_000 } } });
  const limited = (await visitor().visit("/queues/default")).text;
  pages.set("the form of a limit", limited.replace('<details class="limit">', '<details class="limit" open>'));

  /** Shows each page in turn: changing the window and the colors for each page would take longer than the checks. */
  const showAll = async (check: (what: string) => Promise<void>) => {
    const width = page.viewportSize()!.width;
    for (const [what, html] of pages) {
      assertEquals(await page.evaluate(SHOW, html), width, `${what} is too wide`);
      await check(what);
    }
  };
  for (const width of WIDTHS) {
    await page.setViewportSize({ ...PHONE, width });
    await showAll(async () => {});
  }
  await page.setViewportSize(PHONE);
  await page.evaluate(axe.source);
  const findNothing = (options: string) => async (what: string) => {
    // The frame around all pages is the same.
    const context = what === "/" ? "document" : `{ exclude: [["header.side"]] }`;
    const run = `axe.run(${context}, { resultTypes: ["violations"], preload: false, ${options} })`;
    const { violations } = await page.evaluate(run) as axe.AxeResults;
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((one) => one.html).slice(0, 3).join(" ")}`);
    assertEquals(found, [], what);
  };
  await showAll(findNothing(""));
  await page.emulateMedia({ colorScheme: "dark" });
  await showAll(findNothing('runOnly: ["color-contrast"]'));
}

/** Puts another page into the open one, which has the style sheet and axe already; returns its width. */
const SHOW = (html: string): number => {
  // deno-lint-ignore no-explicit-any -- runs in the page, where there is a document
  const { document, DOMParser } = globalThis as any;
  const fresh = new DOMParser().parseFromString(html, "text/html");
  document.title = fresh.title;
  document.body.replaceWith(document.adoptNode(fresh.body));
  return document.documentElement.scrollWidth;
};

/** Stores a batch, a flow, a group and a job with steps; returns their pages. */
async function linkJobs(store: Tools["site"]["store"]): Promise<string[]> {
  await asleep(store);
  const client = new Client({ store, onUnregistered: () => {} });
  const callback = { class: "Notify", args: [] };
  const batch = await client.batch({ name: "word".repeat(20), tags: ["a-tag"], success: callback }, async (add) => {
    await add("ImportRow", [1]);
  });
  const { id } = await client.flow("word".repeat(20), {
    extract: { job: ["Extract", []] },
    ["load".repeat(20)]: { job: ["Load", []], after: "extract" },
  }, { success: callback });
  await client.push("Export", [1], { queue: "grouped", group: "word".repeat(20) });
  await store.admin.configure("grouped", { eachGroup: true, limit: { running: 2 } });
  const group = `/queues/grouped/groups/${"word".repeat(20)}`;
  return ["/jobs/o1", `/batches/${batch.id}`, `/flows/${id}`, "/queues/grouped", group];
}

/** Fills the store with everything that pages list, in long words. */
async function fillWide(store: Tools["site"]["store"]): Promise<void> {
  const long = { args: ["x".repeat(200)], tags: ["a-tag"], error_message: "word".repeat(60) };
  const errors = [1, 2].map((n) => ({ at: 1.7e9 + n, error_class: "TypeError", error_message: "word".repeat(60) }));
  for (let i = 0; i < 3; i++) {
    await bury(store, `d${i}`, { ...long, errors, retry_count: 2, error_backtrace: ["at line 1"] });
    await push(store, `s${i}`, { class: `VeryLong${"Name".repeat(20)}` }, 60_000);
    await push(store, `q${i}`);
    await fail(store, `f${i}`, long);
    const body = {
      jid: `e${i}`,
      class: "Report",
      queue: "default",
      state: "succeeded",
      endedAt: Date.now(),
      elapsedMs: 9,
    };
    await keepRecord(store, {
      jid: `e${i}`,
      ttlMs: 60_000,
      body: JSON.stringify({ ...body, result: "x".repeat(200) }),
    });
  }
  const histogram = new Array(RUN_BOUNDS_MS.length + 1).fill(7);
  await store.series.add("classes", [{ class: "Report", processed: 200, failed: 18, workedMs: 9_000, histogram }]);
  await store.series.add("queues", [{ queue: "default", size: 3, latencyMs: 90_000 }]);
  await store.admin.configure("default", { pause: true });
  const worker = "web1:7:abc";
  await push(store, "r1", { queue: "runs" });
  await store.workers.heartbeat(workerRecord(worker, { queues: ["runs"] }), 60_000);
  const [lease] = await store.jobs.take({ queues: ["runs"], limit: 1, worker });
  const work = {
    task: "processor-1",
    queue: "runs",
    payload: lease!.payload,
    since: Date.now(),
    progress: "40 percent",
    lastLine: "word".repeat(60),
    log: ["one", "word".repeat(60)],
  };
  await store.workers.heartbeat(workerRecord(worker, { queues: ["runs"], busy: 1, work: [work] }), 60_000);
  const crontab = new Crontab({ store, client: new Client({ store }) });
  await crontab.add({ name: "nightly", class: "Report", rule: "0 3 * * *", timezone: "UTC" });
  await crontab.run("nightly");
  await recordEvent(store, {
    user: "ann",
    by: "cookie",
    from: "10.0.0.9",
    action: "pause",
    target: "queue:default",
    count: 1,
  });
}
