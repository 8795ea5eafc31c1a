/** Forms in a browser: required fields, and pages without scripts. */
import { assertEquals, assertMatch } from "@std/assert";
import { Client } from "../../../src/client/client.ts";
import { Crontab } from "../../../src/client/crontab.ts";
import { entryInput } from "../../../src/cron/entry_input.ts";
import { placeOf, pushAll } from "../site.ts";
import { browserTest } from "./browser.ts";

browserTest("a form adds a cron entry once it is valid, and changes it", async (tools) => {
  const { page, site: { store }, go, press, says } = tools;
  const crontab = new Crontab({ store, client: new Client({ store }) });
  const fill = async (fields: Record<string, string>) => {
    for (const [label, text] of Object.entries(fields)) {
      await page.locator("form.sheet").getByLabel(new RegExp(`^${label}`)).fill(text);
    }
  };
  await go("/cron");
  await page.getByRole("link", { name: "New entry" }).click();
  await press("Add");
  assertEquals((await crontab.page()).entries, [], "the browser requires a name first");
  await fill({
    Name: "nightly report",
    "Cron expression": "61 3 * * *",
    Class: "Report",
    Arguments: '["a"]',
    Queue: "low",
  });
  await press("Add");
  await page.getByRole("alert").filter({ hasText: "One field is invalid." }).waitFor();
  await page.locator("#rule-error", { hasText: "61" }).waitFor();
  assertEquals(await page.getByRole("textbox", { name: "Arguments" }).inputValue(), '["a"]', "the input is kept");
  await fill({ "Cron expression": "30 3 * * *", "Time zone": "Europe/London" });
  await press("Check");
  await page.getByRole("heading", { name: "Runs at 03:30 every day" }).waitFor();
  assertEquals(await page.locator("table.narrow tbody tr").count(), 5);
  assertEquals((await crontab.page()).entries, [], "a check adds nothing");
  await press("Add");
  await says("Cron entry nightly report runs at 03:30 every day");

  await page.getByRole("link", { name: "Change" }).click();
  await fill({ "Cron expression": "", "Time zone": "", Interval: "90s", Queue: "" });
  await press("Save");
  await says("Cron entry nightly report runs every 90 seconds");
  const { name, class: className, every, rule, queue, args } = entryInput(
    (await crontab.page()).entries[0]!.definition!,
  );
  const expected = ["nightly report", "Report", "1m30s", undefined, undefined, ["a"]];
  assertEquals([name, className, every, rule, queue, args], expected);
});

browserTest("pages show and act without JavaScript", async ({ page, site: { store }, go, press, says }) => {
  await pushAll(store, Array.from({ length: 52 }, (_, i) => ({ jid: `d${i}`, args: [`<${i}>`] })));
  await store.jobs.edit({ in: { in: "queue", queue: "default" }, limit: 52 }, "kill");
  await go("/dead");
  assertMatch(await page.locator("tbody time").first().innerText(), /ago|now/);
  assertEquals(await page.getByLabel("Select all on this page").isVisible(), false);
  await page.locator("tr", { hasText: "<51>" }).locator("input[name=ref]").check();
  await press("Retry selected");
  await says("1 job queued.");
  assertEquals(await placeOf(store, "d51"), "queue:default");
  await page.getByRole("link", { name: "Next" }).click();
  await page.locator("tr", { hasText: "<0>" }).locator("a.class").click();
  await press("Delete");
  await press("Delete 1 job");
  await says("1 job deleted.");
  await page.getByRole("link", { name: "New job" }).click();
  await page.getByLabel("Class").fill("Greet");
  await press("Push");
  await says("Pushed as ");
  await go("/queues");
  await press("Pause queue default");
  await says("Queue default paused.");
  await page.getByRole("searchbox", { name: "Search all jobs" }).fill("<17>");
  await page.keyboard.press("Enter");
  await page.locator("main", { hasText: "1 job found" }).waitFor();
  await press("Theme: dark");
  await page.locator("html[data-theme=dark]").waitFor();
}, { context: { javaScriptEnabled: false } });
