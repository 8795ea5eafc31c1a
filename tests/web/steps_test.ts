/** The durable steps of a job: its page, the API, and an operator's actions. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Store } from "../../src/store/admin/store.ts";
import { onBothStores, processRecord } from "./site.ts";

/** A job that has charged a card, and sleeps until a signal comes. */
async function asleep(store: Store): Promise<void> {
  const owner = "web1:7:abc";
  const payload = JSON.stringify({ class: "Order", args: [42], jid: "o1", queue: "default" });
  await store.workers.heartbeat(processRecord(owner), 60_000);
  await store.jobs.enqueue([{ jid: "o1", queue: "default", payload }]);
  const [lease] = await store.jobs.take({ queues: ["default"], limit: 1, owner });
  const { token } = lease!;
  const step = { owner, token, jid: "o1" };
  const value = JSON.stringify({ card: "visa", password: "hunter2" });
  const record = `{"state":"done","since":1,"ended":2,"kind":"step","attempts":1,"value":${value}}`;
  await store.steps.remember(step, { name: "charge", record });
  const about = `"kind":"wait","key":"order:42"`;
  await store.steps.wait(step, { name: "approval", about, forMs: 86_400_000, key: "order:42" });
  const marked = payload.replace(/}$/, `,"has_steps":true}`);
  await store.jobs.settle(owner, [
    { kind: "snooze", token, jid: "o1", steps: true, delayMs: 86_400_000, payload: marked },
  ]);
}

onBothStores("A job's page shows its steps, what it waits for, and no secrets", async ({ store, visitor }) => {
  await asleep(store);
  const { text } = await visitor().visit("/jobs/o1");
  for (const shown of ["charge", "approval", "for signal &quot;order:42&quot;", "visa", "in 1d"]) {
    assertStringIncludes(text, shown);
  }
  assert(!text.includes("hunter2"));
});

onBothStores("Buttons of the page signal the wait, wake the job and run a step again", async ({ store, visitor }) => {
  await asleep(store);
  const names = async () => (await store.steps.read("o1")).map(({ name }) => name);
  const someone = visitor();
  await someone.visit("/jobs/o1");
  await someone.submit("/jobs/steps", { do: "clear", jid: "o1", name: "charge" }, "/jobs/o1");
  assertEquals(await names(), ["approval"]);
  await someone.submit("/jobs/steps", { do: "signal", jid: "o1", key: "order:42" }, "/jobs/o1");
  assertEquals((await store.jobs.promote(1)).moved, 1);
  const actions = (await store.audit.page()).acts.map(({ action }) => action);
  assertEquals(actions, ["signal", "steps clear"]);
});

onBothStores("The API lists, clears and wakes steps, and sends signals", async ({ store, visitor }) => {
  await asleep(store);
  const someone = visitor();
  const { value: { steps } } = await someone.api("GET", "/jobs/o1/steps");
  assertEquals(steps.map(({ name, state }: Record<string, string>) => [name, state]), [
    ["charge", "done"],
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
  assertEquals((await post("/jobs/o1/steps/wake", {}))[0], 404);
});
