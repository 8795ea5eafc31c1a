/** How pages look and behave in a real browser: without scripts, live, by keys, in zones, narrow, dark, to a screen reader. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import axe from "axe-core";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { JobsProcess } from "../support/process.ts";
import { browserTest, type Tools } from "./browser.ts";
import { bury, fail, placeOf, processRecord, push } from "./site.ts";

const HANDLERS = new URL("../support/handlers.js", import.meta.url).pathname;

browserTest(
  "Without JavaScript one reads and acts all the same",
  async ({ page, site: { store }, go, press, says }) => {
    for (let i = 0; i < 52; i++) await bury(store, `d${i}`, { args: [`<${i}>`] });
    await go("/dead");
    assertMatch(await page.locator("tbody time").first().innerText(), /ago|now/);
    assertEquals(await page.getByLabel("Tick all on this page").isVisible(), false);
    await page.locator("tr", { hasText: "<51>" }).locator("input[name=ref]").check();
    await press("Retry ticked");
    await says("1 job put into their queues.");
    assertEquals(await placeOf(store, "d51"), "queue:default");
    await page.getByRole("link", { name: "Next" }).click();
    await page.locator("tr", { hasText: "<0>" }).locator("a.class").click();
    await press("Delete");
    await press("Yes, delete");
    await says("1 job deleted.");
    await page.getByRole("link", { name: "New job" }).click();
    await page.getByLabel("Class").fill("Greet");
    await press("Push");
    await says("Pushed as ");
    await go("/queues");
    await press("Pause queue default");
    await says("Queue default is paused.");
    await page.getByRole("searchbox", { name: "Search all jobs" }).fill("<17>");
    await page.keyboard.press("Enter");
    await page.locator("main", { hasText: "1 job found" }).waitFor();
    await press("dark");
    await page.locator("html[data-theme=dark]").waitFor();
  },
  { context: { javaScriptEnabled: false } },
);

browserTest("A page follows what happens, unless told not to", async (tools) => {
  const { page, site: { store, url }, go } = tools;
  await go("/");
  await push(store, "w1", { class: "Wait", args: ["/dev/null"], queue: "slow" });
  await page.locator("#queues a", { hasText: "slow" }).waitFor();
  await page.locator("[data-stat=enqueued]").first().filter({ hasText: "1" }).waitFor();
  await page.locator("#attention", { hasText: "no process runs" }).waitFor();
  await go("/busy");
  await page.getByText("Nothing runs.").waitFor();
  await using server = new JobsProcess({ store: url, args: [HANDLERS, "-q", "slow", "-t", "0"] });
  await server.logged("Ready");
  await page.locator("#busy a", { hasText: "Wait" }).waitFor();
  await page.locator("#busy", { hasText: "Waiting for the end" }).waitFor();
  await page.getByLabel("Live").uncheck();
  const asked: string[] = [];
  page.on("request", (request) => void asked.push(new URL(request.url()).pathname));
  await page.reload();
  assert(asked.includes("/busy") && !asked.includes("/events"), "it stays told");
  const watching = page.waitForRequest("**/events");
  await page.getByLabel("Live").check();
  await watching;
});

browserTest("Keys lead to every page, walk through a list and tick; Shift ticks a range", async (tools) => {
  const { page, site: { store }, base, go } = tools;
  for (let i = 0; i < 5; i++) await bury(store, `d${i}`);
  await go("/dead");
  const keys = await page.locator("nav a[data-key]").evaluateAll((links) =>
    links.map((link) => [link.getAttribute("data-key")!, link.getAttribute("href")!])
  );
  assert(keys.length >= 12);
  assertEquals(new Set(keys.map(([key]) => key)).size, keys.length, "each key once");
  for (const [key, path] of [...keys, ["d", "/dead"] as const]) {
    await page.keyboard.press("g");
    await page.keyboard.press(key!);
    await page.waitForURL(base + path, { waitUntil: "load" });
  }
  const ticked = () =>
    page.locator("input[name=ref]").evaluateAll((all) =>
      all.map((one) => Number((one as unknown as { checked: boolean }).checked)).join("")
    );
  for (const key of ["j", "j", "x", "k", "x"]) await page.keyboard.press(key);
  assertEquals(await ticked(), "11000");
  await page.locator("input[name=ref]").nth(4).click({ modifiers: ["Shift"] });
  assertMatch(await ticked(), /^1?1111$/);
  assertEquals(await page.locator("[data-ticked]").first().innerText(), String((await ticked()).match(/1/g)!.length));
  await page.keyboard.press("/");
  await page.keyboard.type("gd");
  assertEquals(await page.getByRole("searchbox", { name: "Search all jobs" }).inputValue(), "gd");
}, { kinds: ["sqlite"] });

browserTest("Times are in the viewer's zone, exact on hover", async ({ page, site: { store }, go }) => {
  await push(store, "s1", {}, 3_600_000);
  await go("/scheduled");
  const time = page.locator("tbody time").first();
  assertMatch(await time.innerText(), /^in (59m|1h)/);
  assertMatch(await time.getAttribute("title") ?? "", /GMT\+9|JST/);
  assertMatch(await page.locator("footer time").innerText(), /GMT\+9|JST/);
}, { kinds: ["sqlite"], context: { timezoneId: "Asia/Tokyo" } });

browserTest("Dark where the system is, and light or dark where the viewer says so", async ({ page, go, press }) => {
  const ground = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
  await go("/");
  const dark = await ground();
  await page.emulateMedia({ colorScheme: "light" });
  const light = await ground();
  assertNotEquals(dark, light);
  await press("dark");
  await page.locator("html[data-theme=dark]").waitFor();
  assertEquals(await ground(), dark);
  await page.emulateMedia({ colorScheme: "dark" });
  await press("light");
  await page.locator("html[data-theme=light]").waitFor();
  assertEquals(await ground(), light);
  await press("auto");
  await page.locator("html:not([data-theme])").waitFor();
  assertEquals(await ground(), dark);
}, { kinds: ["sqlite"], context: { colorScheme: "dark" } });

/** Of a small tablet, a small window, a laptop; then a telephone, on which the rest is looked at. */
const WIDTHS = [730, 900, 1_024, 1_240, 360];

browserTest(
  "axe finds nothing on any page, light or dark, and nothing is wider than the window, of 360 pixels or more",
  accessible,
  {
    kinds: ["sqlite"],
    context: { viewport: { width: 360, height: 740 }, bypassCSP: true, reducedMotion: "reduce" },
  },
);

async function accessible({ page, site: { store }, base, go, press }: Tools): Promise<void> {
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
    await page.evaluate(axe.source);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      // The rest of it is the same in the dark.
      const only = colorScheme === "light" ? "" : '{ runOnly: ["color-contrast"] }';
      const { violations } = await page.evaluate(`axe.run(${only})`) as axe.AxeResults;
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((one) => one.html).slice(0, 3).join(" ")}`);
      assertEquals(found, [], `${what}, ${colorScheme}`);
    }
  };
  for (const path of [...paths, ...more]) {
    await page.goto(base + path);
    await check(path);
  }
  await go("/queues");
  await press("Clear queue default");
  await check("a question");
  await store.limit("default", { running: 5, starts: { count: 100, perMs: 60_000 } });
  await go("/queues/default");
  await page.locator("details.limit summary").click();
  await page.getByLabel("Jobs at once").waitFor();
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
