/** The pages of batches and flows: counts, the dead by error, the filter of the lists. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { onBothStores } from "./site.ts";

const WORKER = "web1:7:a";

/** Ends the queued jobs: those that `fails` names an error for are dead. */
async function end(store: Store, fails: (args: readonly unknown[]) => string | undefined): Promise<void> {
  const leases = await store.jobs.take({ queues: ["default"], limit: 100, worker: WORKER });
  await store.jobs.settle(
    WORKER,
    leases.map(({ token, payload }) => {
      const job = JSON.parse(payload);
      const error = fails(job.args);
      const batch = { id: job.batch, from: "pending" } as const;
      return error === undefined ? { token, kind: "ack", jid: job.jid, batch: { ...batch, to: "succeeded" } } : {
        token,
        kind: "bury",
        payload: JSON.stringify({ ...job, batch_counted: "dead", error_class: "Error", error_message: error }),
        batch: { ...batch, to: "dead" },
      };
    }),
  );
}

onBothStores(
  "a batch has its dead members by error, and a stuck one a number in the navigation",
  async ({ store, visitor }) => {
    const client = new Client({ store, onUnregistered: () => {} });
    const batch = await client.batch({ name: "newsletter", tags: ["november"] }, async (add) => {
      for (let i = 0; i < 6; i++) await add("Send", [i]);
    });
    const other = await client.batch({ name: "resize" }, async (add) => await add("Resize", [0], { queue: "images" }));
    await end(store, ([i]) => i === 0 ? "unreachable" : (i as number) < 3 ? "no such user" : undefined);
    let page = await visitor().open(`/batches/${batch.id}`);
    assertMatch(page.html, /Dead by error.*no such user.*>2<.*unreachable.*>1</s);
    assertMatch(page.html, /<rect width="72.0" height="6"><\/rect><rect class="bad" x="36.0" width="36.0"/);
    assertMatch(page.html, /Batches<span class="count bad" title="1 stuck: [^"]*">1</);
    page = await page.press("Retry all Send with Error: no such user");
    assertStringIncludes(page.heading, "2 jobs");
    for (
      const [query, id] of [["q=NOVEMB", batch.id], ["state=stuck", batch.id], ["q=resi", other.id], [
        "state=running",
        other.id,
      ]]
    ) {
      const { text } = await visitor().visit(`/batches?${query}`);
      assertEquals([...text.matchAll(/class="class" href="\/batches\/(\w+)"/g)].map(([, one]) => one), [id], query);
    }
    assertStringIncludes((await visitor().visit("/batches?q=<none>")).text, "No matching batches.");
  },
);

onBothStores("the counts of a flow add up to its nodes", async ({ store, visitor }) => {
  const client = new Client({ store, onUnregistered: () => {} });
  const flow = await client.flow("nightly", {
    load: { job: ["Load", []] },
    index: { job: ["Index", []], after: ["load"] },
    mail: { job: ["Mail", []], after: ["index"] },
  });
  const { text } = await visitor().visit(`/flows/${flow.id}`);
  const tiles = [.../<dl class="tiles" id="counts".*?<\/dl>/s.exec(text)![0].matchAll(/<dt>(.*?)<\/dt><dd>(\d+)/g)];
  const counts = Object.fromEntries(tiles.map(([, label, count]) => [label!.replace(/<[^>]*>/g, ""), Number(count)]));
  assertEquals(counts, { Waiting: 2, Pending: 1, Dead: 0, Succeeded: 0 });
  assert(text.includes("0 of 3"));
});
