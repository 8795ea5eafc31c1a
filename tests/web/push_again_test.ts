/** A job that has ended is pushed again from its page and over the API. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { keepRecord } from "../support/records.ts";
import { onBothStores } from "./site.ts";

onBothStores("an ended job is pushed again with its arguments, once, after a question", async ({ store, visitor }) => {
  const payload = {
    class: "Charge",
    args: [94086, "tok_secret"],
    queue: "billing",
    jid: "c1",
    batch: "b1",
    retry_count: 2,
  };
  const record = { jid: "c1", class: "Charge", queue: "billing", state: "succeeded", endedAt: Date.now(), payload };
  await keepRecord(store, { jid: "c1", ttlMs: 60_000, body: JSON.stringify(record) });
  const bare = { jid: "c2", class: "Charge", queue: "billing", state: "succeeded", endedAt: Date.now() };
  await keepRecord(store, { jid: "c2", ttlMs: 60_000, body: JSON.stringify(bare) });
  const queued = async () =>
    (await store.admin.page({ in: "queue", queue: "billing" }, { limit: 9 })).entries.map(({ payload }) =>
      JSON.parse(payload)
    );

  const page = await visitor().open("/jobs/c1");
  for (const path of ["/classes/Charge", "/queues/billing", "/batches/b1"]) {
    assertStringIncludes(page.html, `href="${path}"`);
  }
  assertStringIncludes(page.html, 'data-copy="c1"');
  const question = await page.press("Push again");
  assertEquals([question.heading, await queued()], ["Push job c1 again?", []]);
  const after = await question.press("Push it again");
  const [job, ...others] = await queued();
  assertEquals(after.message, `Pushed as ${job.jid}.`);
  await question.press("Push it again");
  assertEquals([others.length, (await queued()).length], [0, 1], "a form that is sent twice pushes one job");
  assertEquals([job.class, job.args], ["Charge", [94086, "tok_secret"]]);
  assert(job.jid !== "c1" && job.batch === undefined && job.retry_count === undefined);
  assertEquals((await store.results.read({ jids: ["c1"] })).records.length, 1);

  const api = await visitor().api("POST", "/jobs/c1/push-again", { args: [1] });
  assertEquals([api.status, (await queued()).length], [201, 2]);
  const lacking = await visitor().api("POST", "/jobs/c2/push-again", {});
  assertEquals(lacking.status, 409);
  assertStringIncludes(JSON.stringify(lacking.value), "doesn't have its arguments");
  assertEquals((await visitor().api("POST", "/jobs/none/push-again", {})).status, 404);
});

onBothStores("a delivery to a webhook is pushed again as it was, and never changed", async ({ store, visitor }) => {
  const notice = { id: "j1-dead-3", type: "dead", at: 1.9e12, data: { jid: "j1" } };
  const payload = { class: "webhook:ops", args: [notice], queue: "webhooks", jid: "w1", retry: true };
  const record = { jid: "w1", class: "webhook:ops", queue: "webhooks", state: "failed", endedAt: Date.now(), payload };
  await keepRecord(store, { jid: "w1", ttlMs: 60_000, body: JSON.stringify(record) });
  await store.jobs.enqueue([{
    jid: "m1",
    queue: "mail",
    payload: '{"class":"Mail","args":[1],"jid":"m1","queue":"mail"}',
  }]);
  const deliveries = async () =>
    (await store.admin.page({ in: "queue", queue: "webhooks" }, { limit: 9 })).entries.map(({ payload }) => {
      const { jid, class: name, args } = JSON.parse(payload);
      return { jid, name, args };
    });
  const changes = [
    ["w1", { args: [{ ...notice, id: "j2-dead-3" }] }],
    ["w1", { args: [] }],
    ["w1", { class: "webhook:other" }],
    ["m1", { class: "webhook:ops" }],
    ["m1", { class: "webhook:ops", args: [notice], queue: "webhooks" }],
  ] as const;
  for (const [jid, changed] of changes) {
    const { status, value } = await visitor().api("POST", `/jobs/${jid}/push-again`, changed);
    assertEquals([status, await deliveries()], [422, []], JSON.stringify(changed));
    assertStringIncludes(value.error.message, "jobs makes the jobs of webhooks itself");
  }
  const { status, value: { jid } } = await visitor().api("POST", "/jobs/w1/push-again", { args: [notice] });
  assertEquals([status, await deliveries()], [201, [{ jid, name: "webhook:ops", args: [notice] }]]);
});
