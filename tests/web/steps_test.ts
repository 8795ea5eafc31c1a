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
    const send = (data: string) => someone.submit("/signals", { jid: "o1", key: "order:42", data }, "/jobs/o1");
    assertStringIncludes(text, 'placeholder="{&quot;approved&quot;: true}"');
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
    assertEquals([page.heading, (await store.steps.read("o1")).length], ["Send signal order:42?", 2]);
    page = await page.press("Send the signal");
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
  const signal = { jid: "o1", key: "order:42", data: "1", confirmed: "yes" };
  await someone.submit("/signals", signal, "/jobs/o1");
  assertEquals((await store.jobs.promote(1)).moved, 1);
  const { events } = await readEvents(store);
  assertEquals(events.map(({ action }) => action), ["signal", "steps clear"]);
  assertEquals(events[1]!.details, 'charge {"card":"visa","password":"••••••"}', "the lost result is in the audit log");
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

onBothStores(
  "Questions before a step runs again, and before a job with steps is deleted, have the results that are lost",
  async ({ store, visitor }) => {
    await asleep(store);
    const someone = visitor();
    const lost = "charge {&quot;card&quot;:&quot;visa&quot;,&quot;password&quot;:&quot;••••••&quot;}";
    for (const word of ["clear", "rerun"]) {
      const { text } = await someone.submit("/jobs/steps", { do: word, jid: "o1", name: "charge" }, "/jobs/o1");
      assertStringIncludes(text, lost, word);
    }
    const [{ ref } = { ref: "" }] = await store.jobs.find(["o1"]);
    const { text } = await someone.submit("/jobs/act", { do: "delete", in: "scheduled", ref }, "/jobs/o1");
    assertStringIncludes(text, lost);
    assertStringIncludes((await someone.visit(`/jobs/o1/edit?ref=${encodeURIComponent(ref)}`)).text, lost);
    assertEquals((await store.steps.read("o1")).length, 2);
  },
);

onBothStores(
  "A waiting job's main action is its signal, and giving up is asked as a decision without an answer",
  async ({ store, visitor }) => {
    await asleep(store);
    const { text } = await visitor().visit("/jobs/o1");
    assertEquals(/<button type="submit" class="primary">([^<]*)/.exec(text)?.[1], "Signal");
    assertEquals(text.match(/class="primary"/g)?.length, 1, "nothing else is a main action");
    assert(text.indexOf("Waits for signal") < text.indexOf("Why it is not running"));
    const asked = await visitor().submit("/jobs/steps", { do: "wake", jid: "o1", waits: "yes" }, "/jobs/o1");
    assertStringIncludes(asked.text, "Give up waiting?");
  },
);

onBothStores(
  "Pages and the API list the jobs that wait for signals, by key, and send one",
  async ({ store, visitor }) => {
    const someone = visitor();
    assertStringIncludes((await someone.visit("/signals")).text, "No job waits for a signal.");
    for (const [jid, key] of [["o1", "order:42"], ["o2", "order:43"], ["o3", "refund:1"]] as const) {
      await asleep(
        store,
        { jid, key },
      );
    }
    const keys = async (query: string) => {
      const { value: { signals, next } } = await someone.api("GET", `/signals${query}`);
      return [(signals as { key: string }[]).map(({ key }) => key), next !== undefined];
    };
    assertEquals(await keys(""), [["order:42", "order:43", "refund:1"], false]);
    assertEquals(await keys("?key=order:*"), [["order:42", "order:43"], false]);
    assertEquals(await keys("?key=order:43"), [["order:43"], false]);
    assertEquals(await keys("?limit=1"), [["order:42"], true]);
    const { value: { signals: [first] } } = await someone.api("GET", "/signals");
    assertEquals([first.jid, first.step, first.class, first.payload.args], ["o1", "approval", "Order", [42]]);
    assert(Date.parse(first.since) < Date.parse(first.until));
    assertStringIncludes((await someone.visit("/scheduled")).text, '<a href="/signals">3 wait for a signal</a>');
    let page = await someone.open("/signals?key=refund:*");
    assertEquals(page.heading, "Signals");
    page = await page.press("Signal refund:1 of job o3");
    assertEquals([page.status, page.heading, page.value("Data")], [200, "Signal refund:1", ""]);
    page = await (await page.press("Signal", { fill: { Data: "true" } })).press("Send the signal");
    assertEquals([page.heading, page.message], ["Signals", "Job o3 continues."]);
    assertEquals(await keys(""), [["order:42", "order:43"], false]);
  },
);

onBothStores(
  "The API refuses a signal that isn't to be kept, and that no job waits for",
  async ({ store, visitor }) => {
    await asleep(store);
    const send = async (key: string) => {
      const { status, value } = await visitor().api("POST", `/signals/${key}`, { keep: false });
      return [status, value.reached ?? value.error.message];
    };
    assertEquals(await send("ordre:42"), [404, 'No job waits for signal "ordre:42": nothing was sent']);
    assertEquals(await send("order:42"), [200, "o1"]);
  },
);

onBothStores("the navigation counts the jobs that wait for a signal, and shows no zero", async ({ store, visitor }) => {
  const counted = async () => {
    const { html } = await visitor().open("/");
    const stats = await visitor().api("GET", "/stats");
    return [/Signals<span class="([^"]*)" data-stat="signals">(\d+)</.exec(html)?.slice(1), stats.value.signals];
  };
  assertEquals(await counted(), [["count zero", "0"], 0]);
  await asleep(store);
  await asleep(store, { jid: "o2", key: undefined });
  assertEquals(await counted(), [["count", "1"], 1]);
});
