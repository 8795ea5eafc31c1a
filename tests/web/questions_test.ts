/** Presses every button of the dashboard once, and compares the store: those that can't be undone ask first. */
import { readEvents } from "../../src/store/admin/audit.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { asleep } from "./asleep.ts";
import { bury, fail, onBothStores, push, type Site, workerRecord } from "./site.ts";

/** The buttons that ask, by the beginning of their name, with the button that confirms. */
const ASK: Readonly<Record<string, string>> = {
  "Delete": "Delete ",
  "Move to dead": "Move ",
  "Clear": "Delete ",
  "Cancel Task": "Cancel the job",
  "Cancel": "Cancel ",
  "Run again from here": "Run the steps again",
  "Run again": "Run the step again",
  "Give up waiting": "Give up waiting",
  "Wake now": "Wake it now",
  "Retry dead": "Retry ",
  "Remove": "Remove the entry",
  "Stop": "Stop ",
  "Signal": "Send the signal",
};
/** The buttons that act at once, because another button undoes them, or that lead to a form. */
const ACT = [
  "Retry",
  "Run now",
  "Move",
  "Pause",
  "Resume",
  "Quiet",
  "Dump",
  "Signal order",
  "Save limit",
  "Push",
  "Save",
  "Forget",
];

const PAGES = [
  ...[
    "/",
    "/queues",
    "/queues/default",
    "/queued",
    "/scheduled",
    "/signals",
    "/retrying",
    "/dead",
    "/dead?by=error",
    "/running",
  ],
  ...["/cron", "/cron/nightly", "/workers", "/batches", "/flows", "/jobs/o1", "/jobs/s1", "/jobs/d1", "/jobs/run1"],
  ...["/jobs/slept", "/search?q=Task"],
];

/** All that a button could change. */
async function stateOf({ store }: Site): Promise<unknown> {
  const { enqueued, scheduled, retry, dead, running } = await store.admin.stats();
  const steps = [...await store.steps.read("o1"), ...await store.steps.read("slept")].map(({ record }) => record);
  const { batches } = await store.batches.read({ limit: 9 });
  const events = (await readEvents(store)).events.map(({ action }) => action);
  return { enqueued, scheduled, retry, dead, running, steps, batches, events };
}

onBothStores(
  "each button that deletes, ends or repeats something asks first, and does nothing until then",
  async (site) => {
    const { store, visitor } = site;
    const client = new Client({ store });
    await asleep(store);
    await asleep(store, { jid: "slept", key: undefined });
    const worker = "web1:7:abc";
    await push(store, "run1", { class: "Task", queue: "run" });
    const [lease] = await store.jobs.take({ queues: ["run"], limit: 1, worker });
    const work = [{ task: "processor 1", queue: "run", payload: lease!.payload, since: 1 }];
    await store.workers.heartbeat(workerRecord(worker, { work }), 60_000);
    await push(store, "q1", { class: "Task" });
    await bury(store, "d1", { class: "Task" });
    await push(store, "s1", { class: "Task" }, 3_600_000);
    await fail(store, "r1", { class: "Task" });
    await new Crontab({ store, client }).add({ name: "nightly", class: "Report", rule: "0 3 * * *", timezone: "UTC" });
    const batch = await client.batches.open({ name: "import" });
    for (const n of [1, 2]) await batch.add("Part", [n]);
    await batch.close();
    const { entries } = await store.admin.page({ in: "queue", queue: "default" });
    const part = entries.find(({ payload }) => payload.includes('"Part"'))!;
    await store.jobs.edit([part.ref], "kill");
    const before = await stateOf(site);
    const asked = new Set<string>();
    const pressed = new Set<string>();
    for (const path of [...PAGES, `/batches/${batch.id}`]) {
      const page = await visitor().open(path);
      for (const name of new Set(page.acts)) {
        if (name === "" || /^Select/.test(name)) continue;
        const ask = Object.keys(ASK).find((label) => label === "Signal" ? name === label : name.startsWith(label));
        if (ask === undefined) {
          assertEquals(ACT.some((label) => name.startsWith(label)), true, `"${name}" on ${path} is in neither list`);
          continue;
        }
        const kind = `${path} ${ask}${/ selected$/.exec(name) ?? ""}`;
        if (pressed.has(kind)) continue;
        pressed.add(kind);
        const fill = name === "Signal" ? { "Data of signal order:42": "true" } : {};
        const question = await page.press(name, { all: / selected$/.test(name), fill });
        asked.add(ask);
        assertEquals(question.status, 200, `${name} on ${path}`);
        assertStringIncludes(question.html, 'class="danger primary"', `${name} on ${path}`);
        assertEquals(question.acts.some((label) => label.startsWith(ASK[ask]!)), true, `${name}: ${question.acts}`);
        assertEquals(await stateOf(site), before, `${name} on ${path}`);
      }
    }
    assertEquals([...asked].sort(), Object.keys(ASK).sort());
  },
);
