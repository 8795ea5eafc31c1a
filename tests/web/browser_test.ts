/**
 * The dashboard in a real browser, on both stores: each action by the button for it, live pages, keys, a narrow screen,
 * and what a screen reader needs.
 */
import { assert, assertEquals } from "@std/assert";
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { serve, type Server } from "../../src/web/serve.ts";
import { JobsProcess } from "../support/process.ts";
import { until } from "../support/eventually.ts";
import { bury, openSite, placeOf, push, type Site } from "./site.ts";

const HANDLERS = new URL("../support/handlers.js", import.meta.url).pathname;

/** A page on a dashboard with a few jobs. Whatever it says on the console is an error: also a refused script. */
async function inBrowser(
  kind: "sqlite" | "redis",
  test: (tools: { page: Page; site: Site; base: string; browser: Browser }) => Promise<void>,
): Promise<void> {
  await using site = await openSite(kind);
  await using server: Server = await serve(site.web, { host: "127.0.0.1", port: 0 });
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  const complaints: string[] = [];
  try {
    const page = await browser.newPage();
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.setDefaultTimeout(10_000);
    await test({ page, site, base: `http://127.0.0.1:${server.address.port}`, browser });
    assertEquals(complaints, []);
  } finally {
    await browser.close();
  }
}

/** Playwright keeps a pipe to the browser that Deno's sanitizers take for a leak of the test. */
const OPTIONS = { sanitizeOps: false, sanitizeResources: false };

for (const kind of ["sqlite", "redis"] as const) {
  Deno.test({
    name: `In a browser, every action of every page does what its button says (${kind})`,
    ...OPTIONS,
    fn: () => inBrowser(kind, everyAction),
  });
  Deno.test({
    name: `In a browser, a page follows what happens, and a process is looked after (${kind})`,
    ...OPTIONS,
    fn: () => inBrowser(kind, live),
  });
}

Deno.test({
  name: "axe finds nothing on any page, light or dark, and nothing is wider than 360 pixels",
  ...OPTIONS,
  fn: () => inBrowser("sqlite", accessible),
});

async function everyAction({ page, site: { store }, base }: { page: Page; site: Site; base: string }): Promise<void> {
  for (const jid of ["d1", "d2", "d3", "d4"]) await bury(store, jid, { args: [jid] });
  const row = (jid: string) => page.locator("tr", { hasText: `"${jid}"` });
  const tick = (jid: string) => row(jid).locator("input[name=ref]").check();
  const says = (text: string) => page.locator(".flash", { hasText: text }).waitFor();

  // Dead: ticked, one, all matching.
  await page.goto(`${base}/dead`);
  assert(await page.getByRole("button", { name: "Retry ticked", exact: true }).isDisabled());
  await tick("d1");
  await page.getByRole("button", { name: "Retry ticked", exact: true }).click();
  await says("1 job put into their queues.");
  assertEquals(await placeOf(store, "d1"), "queue:default");
  await tick("d2");
  await page.getByLabel("Queue to move to").fill("low");
  await page.getByRole("button", { name: "Move ticked" }).click();
  await says("1 job moved.");
  assertEquals(await placeOf(store, "d2"), "queue:low");
  await row("d3").locator("a.class").click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Yes, delete" }).click();
  await says("1 job deleted.");
  await page.getByLabel("Text anywhere in it").fill("d4");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByRole("button", { name: "Retry all matching" }).click();
  await page.locator("h1", { hasText: 'Retry 1 job in dead with text "d4"?' }).waitFor();
  await page.getByRole("button", { name: "Yes, retry" }).click();
  await says("1 job put into their queues.");
  assertEquals((await store.stats()).dead, 0);

  // A queue: kill, pause, resume, clear.
  await page.goto(`${base}/queues/default`);
  await tick("d4");
  await page.getByRole("button", { name: "Kill ticked" }).click();
  await says("1 job moved to dead.");
  await page.getByRole("button", { name: "Pause queue default" }).click();
  await says("Queue default is paused.");
  await page.getByRole("button", { name: "Resume queue default" }).click();
  await says("Queue default is taken from again.");
  await page.goto(`${base}/queues`);
  await page.getByRole("button", { name: "Clear queue default" }).click();
  await page.getByRole("button", { name: "Yes, delete" }).click();
  await says("1 job deleted.");

  // A new job for later, run now; edited and pushed again; killed.
  await page.getByRole("link", { name: "New job" }).click();
  await page.getByLabel("Class").fill("Greet");
  await page.getByRole("textbox", { name: "Arguments" }).fill('["bob", {"password": "hunter2"}]');
  await page.getByLabel("When").fill("in 5m");
  await page.getByRole("button", { name: "Push" }).click();
  await page.getByRole("link", { name: "Edit and push again" }).click();
  await page.getByRole("textbox", { name: "Arguments" }).fill('["ann", {"password": "••••••"}]');
  await page.getByRole("button", { name: "Push" }).click();
  await says("Pushed as ");
  await page.goto(`${base}/queues/default`);
  await row("ann").locator("a.class").click();
  await page.getByRole("button", { name: "Kill" }).click();
  await says("1 job moved to dead.");
  const [entry] = (await store.page({ in: "dead" }, { reverse: true })).entries;
  assertEquals(JSON.parse(entry!.payload).args, ["ann", { password: "hunter2" }]);
  await push(store, "s1", { args: ["s1"] }, 3_600_000);
  await page.goto(`${base}/scheduled`);
  await tick("s1");
  await page.getByRole("button", { name: "Run now ticked" }).click();
  await says("1 job put into their queues.");
  assertEquals(await placeOf(store, "s1"), "queue:default");

  // Search, theme.
  await page.keyboard.press("/");
  await page.keyboard.type("hunter2");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/search?q=hunter2");
  await page.locator("main", { hasText: "0 jobs found" }).waitFor();
  await page.getByRole("button", { name: "dark" }).click();
  await page.locator("html[data-theme=dark]").waitFor();
}

async function live({ page, site: { store, url }, base }: { page: Page; site: Site; base: string }): Promise<void> {
  await page.goto(base);
  await push(store, "w1", { class: "Wait", args: ["/dev/null"], queue: "slow" });
  await page.locator("#queues a", { hasText: "slow" }).waitFor();
  await page.locator("#attention", { hasText: "no process runs" }).waitFor();
  await using server = new JobsProcess({ store: url, args: [HANDLERS, "-q", "slow", "-q", "default", "-t", "0"] });
  await server.logged("Ready");
  await page.goto(`${base}/busy`);
  await page.locator("#busy a", { hasText: "Wait" }).waitFor();
  await page.getByRole("button", { name: /^Dump / }).click();
  await page.locator("pre", { hasText: "w1" }).waitFor();
  await page.goto(`${base}/processes`);
  await page.getByRole("button", { name: /^Quiet / }).click();
  await server.logged("Quiet: taking no more jobs");
  await page.locator(".badge", { hasText: "quiet" }).waitFor();
  await page.getByRole("button", { name: /^Resume / }).click();
  await server.logged("Resumed: taking jobs");
  await page.getByRole("button", { name: /^Stop / }).click();
  await page.getByRole("button", { name: "Yes, stop" }).click();
  await server.status();
  await until(async () => await placeOf(store, "w1") === "queue:slow");
}

async function accessible({ site: { store }, base, browser }: { site: Site; base: string; browser: Browser }) {
  for (let i = 0; i < 3; i++) {
    await bury(store, `d${i}`, { args: ["x".repeat(200)], tags: ["a-tag"], error_message: "word".repeat(60) });
    await push(store, `s${i}`, { class: `VeryLong${"Name".repeat(20)}` }, 60_000);
    await push(store, `q${i}`);
  }
  await store.pause("default");
  const pages = [
    "/",
    "/busy",
    "/queues",
    "/queues/default",
    "/scheduled",
    "/retries",
    "/dead",
    "/jobs/d1",
    "/processes",
    "/done",
    "/cron",
    "/classes",
  ];
  const more = ["/settings", "/push", "/search?q=x", "/dead?q=nothing", "/nope"];
  for (const colorScheme of ["light", "dark"] as const) {
    const context = await browser.newContext({ colorScheme, viewport: { width: 360, height: 740 }, bypassCSP: true });
    const page = await context.newPage();
    for (const path of [...pages, ...more]) {
      await page.goto(base + path);
      const width = await page.evaluate("document.documentElement.scrollWidth");
      assertEquals(width, 360, `${path} is too wide`);
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate("axe.run()") as axe.AxeResults;
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
      assertEquals(found, [], `${colorScheme} ${path}`);
    }
    await context.close();
  }
}
