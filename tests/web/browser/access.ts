/** Every page to a screen reader, in light and dark, and in windows of any width. */
import { assertEquals } from "@std/assert";
import axe from "axe-core";
import { Client } from "../../../src/client/client.ts";
import { Crontab } from "../../../src/client/crontab.ts";
import { bury, fail, processRecord, push } from "../site.ts";
import { browserTest, type Tools } from "./browser.ts";

/** The narrowest window of each layout that `style.css` has; the last one, a telephone, stays for the rest. */
const WIDTHS = [901, 801, 360];

browserTest(
  "axe finds nothing on any page, light or dark, and no page is wider than its window of 360 pixels or more",
  accessible,
  {
    live: false,
    context: { viewport: { width: 360, height: 740 }, bypassCSP: true, reducedMotion: "reduce" },
  },
);

/** Puts another page into this one: loading it, and axe into it, would take longer than looking at it. */
const SHOW = async (path: string): Promise<void> => {
  // deno-lint-ignore no-explicit-any -- runs in the page, where there is a document
  const { document, DOMParser } = globalThis as any;
  const fresh = new DOMParser().parseFromString(await (await fetch(path)).text(), "text/html");
  document.title = fresh.title;
  document.body.replaceWith(document.adoptNode(fresh.body));
};

async function accessible({ page, site: { store }, go, press }: Tools): Promise<void> {
  await fillWide(store);
  await go("/");
  const paths = await page.locator("nav a[data-key]").evaluateAll((links) => links.map((a) => a.getAttribute("href")!));
  const { entries: [dead] } = await store.page({ in: "dead" });
  const more = [
    "/queues/default",
    "/jobs/d1",
    "/jobs/f1",
    "/jobs/q1",
    "/jobs/r1",
    "/jobs/e1",
    "/jobs/nobody",
    `/jobs/d1/edit?ref=${encodeURIComponent(dead!.ref)}`,
    "/push",
    "/cron/nightly",
    "/cron/nightly/edit",
    "/cron-new",
    "/search?q=x",
    "/dead?q=nothing",
    "/nope",
  ];
  const check = async (what: string) => {
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 740 });
      assertEquals(await page.evaluate("document.documentElement.scrollWidth"), width, `${what} is too wide`);
    }
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      // Only the colors differ in the dark.
      const only = colorScheme === "light" ? "" : ', runOnly: ["color-contrast"]';
      const { violations } = await page.evaluate(
        `axe.run({ resultTypes: ["violations"], preload: false${only} })`,
      ) as axe.AxeResults;
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((one) => one.html).slice(0, 3).join(" ")}`);
      assertEquals(found, [], `${what}, ${colorScheme}`);
    }
  };
  await page.evaluate(axe.source);
  for (const path of [...paths, ...more]) {
    await page.evaluate(SHOW, path);
    await check(path);
  }
  await go("/queues");
  await press("Clear queue default");
  await page.evaluate(axe.source);
  await check("a question");
  await store.limit("default", { running: 5, starts: { count: 100, perMs: 60_000 } });
  await go("/queues/default");
  await page.locator("details.limit summary").click();
  await page.getByLabel("Jobs at once").waitFor();
  await page.evaluate(axe.source);
  await check("the form of a limit");
}

/** Everything there is, in long words. */
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
      state: "done",
      ended_at: Date.now(),
      elapsed_ms: 9,
    };
    await store.keepResult({ jid: `e${i}`, ttlMs: 60_000, body: JSON.stringify({ ...body, result: "x".repeat(200) }) });
  }
  await store.pause("default");
  const owner = "web1:7:abc";
  await push(store, "r1", { queue: "runs" });
  await store.beat(processRecord(owner, { queues: ["runs"] }), 60_000);
  const [lease] = await store.take({ queues: ["runs"], limit: 1, owner });
  const work = {
    task: "processor-1",
    queue: "runs",
    payload: lease!.payload,
    since: Date.now(),
    progress: "40 percent",
    lastLine: "word".repeat(60),
    log: ["one", "word".repeat(60)],
  };
  await store.beat(processRecord(owner, { queues: ["runs"], busy: 1, work: [work] }), 60_000);
  const crontab = new Crontab({ store, client: new Client({ store }) });
  await crontab.add({ name: "nightly", class: "Report", rule: "0 3 * * *", timezone: "UTC" });
  await crontab.run("nightly");
  await store.audit({
    user: "ann",
    by: "cookie",
    from: "10.0.0.9",
    action: "pause",
    target: "queue:default",
    count: 1,
  });
}
