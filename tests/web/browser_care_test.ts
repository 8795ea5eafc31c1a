/** Queues, processes, running jobs and the crontab, in a real browser: each button on each page that has it. */
import { assertEquals } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { entryInput } from "../../src/cron/entry_input.ts";
import type { OpenStore } from "../../src/store/open.ts";
import { until } from "../support/eventually.ts";
import { JobsProcess } from "../support/process.ts";
import { browserTest } from "./browser.ts";
import { placeOf, processRecord, push } from "./site.ts";

const HANDLERS = new URL("../support/handlers.js", import.meta.url).pathname;

browserTest("Queues are paused, resumed and cleared from each page that shows them", async (tools) => {
  const { site: { store }, go, press, says } = tools;
  const isPaused = async (name: string) => (await store.queues()).find((queue) => queue.name === name)?.paused ?? false;
  for (const path of ["/", "/queues", "/queues/default"]) {
    await push(store, `q-${path}`);
    await push(store, `l-${path}`, { queue: "low" });
    await go(path);
    await press("Pause queue default");
    await says("Queue default is paused.");
    assertEquals([await isPaused("default"), await isPaused("low")], [true, false], path);
    await press("Resume queue default");
    await says("Queue default is taken from again.");
    assertEquals(await isPaused("default"), false, path);
    await press("Clear queue default");
    await press("Yes, delete");
    await says("1 job deleted.");
    assertEquals([await placeOf(store, `q-${path}`), await placeOf(store, `l-${path}`)], [undefined, "queue:low"]);
  }
});

browserTest("A queue is limited in the form on its page, and no longer when that is emptied", async (tools) => {
  const { page, site: { store }, go, press, says } = tools;
  await push(store, "q1");
  const limited = async () => {
    const { running, starts } = (await store.queues()).find(({ name }) => name === "default")?.limit ?? {};
    return { running, starts };
  };
  const fill = async (running: string, starts: string) => {
    await page.getByLabel("Jobs at once").fill(running);
    await page.getByLabel("Starts in a time").fill(starts);
    await press("Limit");
  };
  await go("/queues/default");
  await page.locator("summary").getByText("Limit", { exact: true }).click();
  await fill("5", "100/1m");
  await says("Queue default is limited: 5 at once, 100/1m.");
  assertEquals(await limited(), { running: 5, starts: { count: 100, perMs: 60_000 } });
  await page.locator("summary").getByText("Limited: 5 at once, 100/1m").click();
  assertEquals(await page.getByLabel("Starts in a time").inputValue(), "100/1m");
  await fill("", "");
  await says("Queue default is not limited.");
  assertEquals(await limited(), { running: undefined, starts: undefined });
});

browserTest("All queues are paused and resumed at once, those to come included", async (tools) => {
  const { page, site: { store }, go, press } = tools;
  await push(store, "q1");
  const owner = "web1:7:abc";
  await store.beat(processRecord(owner, { queues: ["default", "new"] }), 60_000);
  const take = () => store.take({ queues: ["default", "new"], limit: 9, owner });
  await go("/queues");
  await press("Pause all");
  await page.getByRole("button", { name: "Resume all" }).waitFor();
  await push(store, "n1", { queue: "new" });
  assertEquals((await take()).length, 0);
  await press("Resume all");
  await page.getByRole("button", { name: "Pause all" }).waitFor();
  assertEquals((await take()).length, 2);
});

browserTest(
  "From each page that shows a process, it is asked to be quiet, to resume, to dump and to stop",
  async (tools) => {
    const { page, site: { store }, go, press, says } = tools;
    const identity = "web1:7:abc";
    const asked = async () => (await store.receive(identity, AbortSignal.timeout(60_000)))[0]!;
    for (const path of ["/", "/busy", "/processes"]) {
      await store.beat(processRecord(identity), 60_000);
      await go(path);
      await press("Quiet web1:7");
      await says(`Asked ${identity} to be quiet.`);
      assertEquals((await asked()).verb, "quiet", path);
      await press("Stop web1:7");
      await press("Yes, stop");
      await says(`Asked ${identity} to stop.`);
      assertEquals((await asked()).verb, "stop", path);
      await store.beat(processRecord(identity, { quiet: true }), 60_000);
      await go(path);
      await page.locator(".badge", { hasText: "quiet" }).waitFor();
      await press("Resume web1:7");
      await says(`Asked ${identity} to resume.`);
      assertEquals((await asked()).verb, "resume", path);
      const pressing = press("Dump web1:7");
      await store.reply((await asked()).id!, `task <1> of ${path}`);
      await pressing;
      await page.locator("pre", { hasText: `task <1> of ${path}` }).waitFor();
    }
  },
);

browserTest("Real processes: all quiet, all resumed, a dump, one stopped, then all", async (tools) => {
  const { page, site: { store, url }, go, press, says } = tools;
  const start = (name: string) => new JobsProcess({ store: url, args: [HANDLERS, "-t", "0", "--name", name] });
  await using one = start("one");
  await using other = start("other");
  await Promise.all([one.logged("Ready"), other.logged("Ready")]);
  await go("/processes");
  await press("Quiet all");
  await says("Asked 2 processes to be quiet.");
  await Promise.all([one, other].map((process) => process.logged("Quiet: taking no more jobs")));
  await press("Resume all");
  await says("Asked 2 processes to resume.");
  await Promise.all([one, other].map((process) => process.logged("Resumed: taking jobs")));
  await press(new RegExp(`^Dump .*:${one.pid}$`));
  await page.locator("pre", { hasText: "processor" }).waitFor();
  await press("Again");
  await page.locator("pre", { hasText: "processor" }).waitFor();
  await page.getByRole("link", { name: "All processes" }).click();
  await press(new RegExp(`^Stop .*:${one.pid}$`));
  await press("Yes, stop");
  await one.status();
  await using third = start("third");
  await third.logged("Ready");
  await until(async () => (await store.processes()).filter(({ alive }) => alive).length === 2);
  await go("/processes");
  await press("Stop all");
  await press("Yes, stop");
  await Promise.all([other.status(), third.status()]);
});

browserTest("A running job is cancelled where it is seen: on /busy, and on its own page", async (tools) => {
  const { page, site: { store, url }, go, press, says } = tools;
  await using server = new JobsProcess({ store: url, args: [HANDLERS] });
  await server.logged("Ready");
  for (const path of ["/busy", "/jobs/"]) {
    const jid = `w-${path.length}`;
    await push(store, jid, { class: "Wait", args: ["/dev/null"] });
    await until(async () =>
      (await store.processes()).some(({ work }) => work.some(({ payload }) => payload.includes(jid)))
    );
    await go(path === "/busy" ? path : path + jid);
    await press(path === "/busy" ? `Cancel Wait ${jid}` : "Cancel");
    await says(`Asked for the end of ${jid}.`);
    await until(async () => await placeOf(store, jid) === undefined);
    if (path === "/busy") await page.locator("#busy", { hasText: "Nothing runs" }).waitFor();
  }
});

browserTest("A cron entry is run, paused and resumed from the list and from its page, and removed", async (tools) => {
  const { page, site: { store }, go, press, says } = tools;
  const crontab = crontabOf(store);
  await crontab.add({ name: "nightly report", class: "Report", rule: "0 3 * * *", timezone: "UTC" });
  for (const path of ["/cron", "/cron/nightly%20report"]) {
    await go(path);
    await press("Run now: nightly report");
    await says("Cron entry nightly report is enqueued as ");
    await press("Pause nightly report");
    await says("Cron entry nightly report is paused.");
    assertEquals((await crontab.get("nightly report"))!.state!.paused, true);
    await press("Resume nightly report");
    await says("Cron entry nightly report goes on.");
    assertEquals((await crontab.get("nightly report"))!.state!.paused ?? false, false);
  }
  assertEquals((await store.stats()).enqueued, 2);
  await page.locator("main", { hasText: "at 03:00 every day" }).waitFor();
  await press("Remove");
  await says("Cron entry nightly report is removed.");
  assertEquals(await crontab.list(), []);
});

browserTest("A cron entry is added in a form, once it is right, and changed in one", async (tools) => {
  const { page, site: { store }, go, press, says } = tools;
  const crontab = crontabOf(store);
  const fill = async (fields: Record<string, string>) => {
    for (const [label, text] of Object.entries(fields)) {
      await page.locator("form.sheet").getByLabel(new RegExp(`^${label}`)).fill(text);
    }
  };
  await go("/cron");
  await page.getByRole("link", { name: "New entry" }).click();
  await press("Add");
  assertEquals(await crontab.list(), [], "the browser wants a name first");
  await fill({ Name: "nightly report", Rule: "61 3 * * *", Class: "Report", Arguments: '["a"]', Queue: "low" });
  await press("Add");
  await page.getByRole("alert").filter({ hasText: "61" }).waitFor();
  assertEquals(await page.getByRole("textbox", { name: "Arguments" }).inputValue(), '["a"]', "what was typed is there");
  await fill({ Rule: "30 3 * * *", "Time zone": "Europe/London" });
  await press("Check");
  await page.getByRole("heading", { name: "It would occur at 03:30 every day" }).waitFor();
  assertEquals(await page.locator("ol.times li").count(), 5);
  assertEquals(await crontab.list(), [], "looking adds nothing");
  await press("Add");
  await says("Cron entry nightly report occurs at 03:30 every day");

  await page.getByRole("link", { name: "Change" }).click();
  await fill({ Rule: "", "Time zone": "", "Or every": "90s", Queue: "" });
  await press("Save");
  await says("Cron entry nightly report occurs every 90 seconds");
  const { name, class: className, every, rule, queue, args } = entryInput((await crontab.list())[0]!.definition!);
  assertEquals([name, className, every, rule, queue, args], [
    "nightly report",
    "Report",
    "1m30s",
    undefined,
    undefined,
    ["a"],
  ]);
  assertEquals((await store.acts()).acts.map(({ action }) => action), ["cron edit", "cron add"]);
});

function crontabOf(store: OpenStore): Crontab {
  return new Crontab({ store, client: new Client({ store }) });
}
