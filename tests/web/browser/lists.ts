/** Lists of jobs with the page's script: selection, confirmation, and keys. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { bury, placeOf, push } from "../site.ts";
import { browserTest } from "./browser.ts";

browserTest("jobs are selected, confirmed and acted on, one by one and all at once", async (tools) => {
  const { page, site: { store }, go, press, says } = tools;
  for (const jid of ["d1", "d2", "d3", "d4", "d5"]) await bury(store, jid, { args: [`<${jid}>`] });
  const row = (jid: string) => page.locator("tr", { hasText: `<${jid}>` });
  await go("/dead");
  assertEquals(await page.getByRole("group", { name: "Selected jobs" }).isVisible(), false);
  await row("d1").locator("input[name=ref]").check();
  await press("Retry selected");
  await says("1 job queued.");
  assertEquals(await placeOf(store, "d1"), "queue:default");

  await page.getByLabel("Select all on this page").check();
  const [gone] = await store.jobs.find(["d2"]);
  await store.jobs.edit([gone!.ref], "delete");
  await press("Retry selected");
  await says("3 jobs queued. 1 job had moved.");

  await go("/queues/default");
  await row("d3").locator("a.class").click();
  await press("Move to dead");
  await press("Move 1 job to dead");
  await says("1 job moved to dead.");
  assertEquals(await placeOf(store, "d3"), "dead");

  await go("/queues/default");
  await row("d4").locator("input[name=ref]").check();
  await page.getByLabel("Select all 3").check();
  await page.getByText("Move…").click();
  await page.getByLabel("Queue to move to").fill("elsewhere");
  await press("Move selected");
  await page.locator("h1", { hasText: "3 jobs" }).waitFor();
  assertEquals(await page.locator(":focus").innerText(), "Back", "Enter confirms nothing");
  assertEquals(await placeOf(store, "d4"), "queue:default", "asks for confirmation first");
  await press("Move 3 jobs to queue elsewhere");
  await says("3 jobs moved.");
  assertEquals(await placeOf(store, "d4"), "queue:elsewhere");
});

browserTest("keys open pages, walk through a list and select; Shift selects a range", async (tools) => {
  const { page, site: { store }, base, go } = tools;
  for (let i = 0; i < 5; i++) await bury(store, `d${i}`);
  await go("/queues");
  const keys = await page.locator("nav a[data-key]").evaluateAll((links) =>
    links.map((link) => [link.getAttribute("data-key")!, link.getAttribute("href")!] as const)
  );
  assert(keys.length >= 12);
  assertEquals(new Set(keys.map(([key]) => key)).size, keys.length, "each key once");
  for (const [key, path] of keys.filter(([key]) => [",", "o", "d"].includes(key)).sort()) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.waitForURL(base + path, { waitUntil: "load" });
  }
  await go("/dead");
  const ticked = () =>
    page.locator("input[name=ref]").evaluateAll((all) =>
      all.map((one) => Number((one as unknown as { checked: boolean }).checked)).join("")
    );
  for (const key of ["j", "j", "x", "k", "x"]) await page.keyboard.press(key);
  assertEquals(await ticked(), "11000");
  await page.locator("input[name=ref]").nth(4).click({ modifiers: ["Shift"] });
  assertMatch(await ticked(), /^1?1111$/);
  assertEquals(await page.locator("[data-selected]").first().innerText(), String((await ticked()).match(/1/g)!.length));
  await page.keyboard.press("/");
  await page.keyboard.type("gd");
  assertEquals(await page.getByRole("searchbox", { name: "Search all jobs" }).inputValue(), "gd");
});

browserTest(
  "a question mark shows the keys and hides them, and a button copies the ID of a job",
  async ({ page, site, go }) => {
    await push(site.store, "w1");
    await go("/jobs/w1");
    const keys = page.locator("#keys");
    await page.keyboard.press("?");
    await keys.getByText("Next and previous row").waitFor();
    await page.keyboard.press("?");
    await keys.waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Copy the job ID" }).click();
    await page.getByText("Copied").waitFor();
    await page.context().grantPermissions(["clipboard-read"]);
    assertEquals(await page.evaluate("navigator.clipboard.readText()"), "w1");
  },
);
