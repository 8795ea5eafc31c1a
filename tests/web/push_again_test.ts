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
