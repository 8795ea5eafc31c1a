/** The durable steps of a job: its page, the API, and an operator's actions. */
import { readEvents } from "../../src/store/admin/audit.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { keptSteps } from "../../src/job/kept_steps.ts";
import { endedText } from "../../src/job/result.ts";
import { asleep } from "./asleep.ts";
import { onBothStores, placeOf } from "./site.ts";
import { keepRecord } from "../support/records.ts";

onBothStores("A job's page shows its steps, what it waits for, and no secrets", async ({ store, visitor }) => {
  await asleep(store);
  const { text } = await visitor().visit("/jobs/o1");
  for (const shown of ["charge", "approval", "for signal &quot;order:42&quot;", "visa", "in 1d"]) {
    assertStringIncludes(text, shown);
  }
  assert(!text.includes("hunter2"));
  assertStringIncludes(text, "Step &quot;approval&quot; waits for signal &quot;order:42&quot;, until ");
});

onBothStores(
  "The page sends a signal only with JSON as its data, and shows the error at the field that keeps the text",
  async (bench) => {
    const { store, visitor } = bench;
    await asleep(store);
    const someone = visitor();
    const { text } = await someone.visit("/jobs/o1");
    assertStringIncludes(text, 'aria-label="Data of signal order:42: JSON"');
    const send = (data: string) =>
      someone.submit("/jobs/steps", { do: "signal", jid: "o1", key: "order:42", data }, "/jobs/o1");
    for (const text of ["", "  ", "yes", "{approved: true}", "True"]) {
      const refused = await send(text);
      assertEquals(
        [refused.status, /class="problem"[^>]*>(Missing data|Not JSON)/.test(refused.text)],
        [422, true],
        text,
      );
    }
    assertEquals((await store.steps.read("o1")).length, 2);
    let page = await someone.open("/jobs/o1");
    assertEquals(page.value("Data of signal order:42"), "");
    page = await page.press("Signal", { fill: { "Data of signal order:42": "yes" } });
    assertEquals([page.status, page.heading, page.value("Data")], [422, "Signal order:42", "yes"]);
    page = await page.press("Signal", { fill: { Data: '{"approved":false}' } });
    assertEquals([page.heading, page.message], ["Order", "Job o1 continues."]);
    const [, approval] = await store.steps.read("o1");
    assertEquals(JSON.parse(approval!.record).value, { approved: false });
  },
);

onBothStores("Buttons of the page signal the wait, wake the job and run a step again", async ({ store, visitor }) => {
  await asleep(store);
  const names = async () => (await store.steps.read("o1")).map(({ name }) => name);
  const someone = visitor();
  await someone.visit("/jobs/o1");
  await someone.submit("/jobs/steps", { do: "clear", jid: "o1", name: "charge", confirmed: "yes" }, "/jobs/o1");
  assertEquals(await names(), ["approval"]);
  await someone.submit("/jobs/steps", { do: "signal", jid: "o1", key: "order:42", data: "1" }, "/jobs/o1");
  assertEquals((await store.jobs.promote(1)).moved, 1);
  const actions = (await readEvents(store)).events.map(({ action }) => action);
  assertEquals(actions, ["signal", "steps clear"]);
});

onBothStores(
  "Run again from here repeats the step and all later ones, and wakes the job",
  async ({ store, visitor }) => {
    await asleep(store);
    const someone = visitor();
    await someone.visit("/jobs/o1");
    const form = { do: "rerun", jid: "o1", name: "charge", confirmed: "yes" };
    const { text } = await someone.submit("/jobs/steps", form, "/jobs/o1");
    assertStringIncludes(text, "The job runs again from step charge.");
    assertEquals(await store.steps.read("o1"), []);
    assertEquals(await placeOf(store, "o1"), "queue:default");
    const again = await someone.submit("/jobs/steps", form, "/jobs/o1");
    assertStringIncludes(again.text, "Step charge no longer exists.");
  },
);

onBothStores("The metrics count the steps that wait, by kind", async ({ store, visitor }) => {
  await asleep(store);
  const { text } = await visitor().visit("/metrics");
  for (const [kind, count] of [["sleep", 0], ["wait", 1], ["child", 0]]) {
    assertStringIncludes(text, `jobs_step_waits{kind="${kind}"} ${count}\n`);
  }
});

onBothStores("The API runs a job again from a step: the steps before it stay", async ({ store, visitor }) => {
  await asleep(store);
  const rerun = async (body: unknown) => {
    const { status, value } = await visitor().api("POST", "/jobs/o1/steps/rerun", body);
    return [status, value];
  };
  assertEquals((await rerun({ name: "unknown" }))[0], 404);
  assertEquals((await rerun({}))[0], 422);
  assertEquals(await rerun({ name: "approval" }), [200, { changed: 1, queued: true }]);
  assertEquals((await store.steps.read("o1")).map(({ name }) => name), ["charge"]);
  assertEquals(await placeOf(store, "o1"), "queue:default");
  assertEquals(await rerun({ name: "charge" }), [200, { changed: 1, queued: false }]);
});

onBothStores("The API lists, clears and wakes steps, and sends signals", async ({ store, visitor }) => {
  await asleep(store);
  const someone = visitor();
  const { value: { steps } } = await someone.api("GET", "/jobs/o1/steps");
  assertEquals(steps.map(({ name, state }: Record<string, string>) => [name, state]), [
    ["charge", "succeeded"],
    ["approval", "waiting"],
  ]);
  assertEquals(steps[0].value, { card: "visa", password: "••••••" });
  const post = async (path: string, body: unknown) => {
    const { status, value } = await someone.api("POST", path, body);
    return [status, value];
  };
  assertEquals(await post("/jobs/o1/steps/clear", { name: "charge" }), [200, { changed: 1 }]);
  assertEquals((await post("/jobs/o1/steps/clear", { name: "charge" }))[0], 404);
  assertEquals(await post("/signals/order:42", { data: { ok: true } }), [200, { reached: "o1" }]);
  assertEquals(await post("/signals/order:42", { keepFor: "1h" }), [202, {}]);
  assertEquals((await post("/signals/order:42", { keepFor: "later" }))[0], 422);
  const [status, { error }] = await post(`/signals/${"k".repeat(201)}`, {});
  assertEquals([status, error.field], [422, "key"]);
  assertEquals((await post("/jobs/o1/steps/wake", {}))[0], 404);
});

onBothStores(
  "An ended job's page and the API show the steps of its record, masked and without actions",
  async ({ store, visitor }) => {
    const steps = keptSteps([[
      "charge",
      `{"state":"succeeded","since":1,"ended":2,"kind":"step","value":{"password":"hunter2"}}`,
    ]]);
    const body = endedText({ jid: "o1", class: "Order", queue: "default", state: "succeeded", endedAt: 3 }, { steps });
    await keepRecord(store, { jid: "o1", ttlMs: 60_000, body });
    const someone = visitor();
    const { text } = await someone.visit("/jobs/o1");
    assertStringIncludes(text, "<h2>Steps</h2>");
    assertStringIncludes(text, "charge");
    const { finished } = (await someone.api("GET", "/jobs/o1")).value as { finished: { steps: { name: string }[] } };
    const listed = (await someone.api("GET", "/jobs/o1/steps")).value["steps"] as unknown;
    assertEquals([finished.steps.map(({ name }) => name), listed], [["charge"], finished.steps]);
    for (const shown of [text, JSON.stringify(listed)]) {
      assert(!/hunter2|Run again|Wake now|Signal</.test(shown));
      assertStringIncludes(shown, "password");
    }
  },
);
