/** The pages of a job, batch, flow, queue or class that doesn't exist, or that isn't used yet. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { onBothStores, push, workerRecord } from "./site.ts";

onBothStores("the page of what doesn't exist is 404, says why, and links to where to look", async ({ visitor }) => {
  const someone = visitor();
  for (
    const [path, message, list] of [
      ["/jobs/nope", "Job &quot;nope&quot; not found: it may have ended without a record", "/finished"],
      ["/batches/nope", "Batch &quot;nope&quot; not found: it doesn&#39;t exist, or its retention has", "/batches"],
      ["/flows/nope", "Flow &quot;nope&quot; not found", "/flows"],
      ["/queues/nope", "Queue &quot;nope&quot; not found: it has no jobs and no limit, and no worker", "/queues"],
      ["/queued/nope", "Queue &quot;nope&quot; not found", "/queued"],
      ["/queues/nope/groups/g", "Queue &quot;nope&quot; not found", "/queues"],
      ["/classes/nope", "Class &quot;nope&quot; not found: no worker has registered it", "/classes"],
      ["/cron/nope", "Cron entry &quot;nope&quot; not found", "/cron"],
    ] as const
  ) {
    const { status, text } = await someone.visit(path);
    assertEquals(status, 404, path);
    for (const shown of [message, `href="${list}"`, 'href="/search?q=nope"']) assertStringIncludes(text, shown, path);
  }
  // A name that isn't an address.
  for (const name of ["%E0%A4%A", "a%26b%3Cx%3E"]) assertEquals((await someone.visit(`/jobs/${name}`)).status, 404);
});

onBothStores("a queue and a class that are empty or not used yet have a page", async ({ store, visitor }) => {
  const someone = visitor();
  const status = async (path: string) => (await someone.visit(path)).status;
  await push(store, "q1", { queue: "emptied" });
  const { entries } = await store.admin.page({ in: "queue", queue: "emptied" });
  await store.jobs.edit(entries.map(({ ref }) => ref), "delete");
  await store.admin.configure("limited", { limit: { running: 1 } });
  await store.workers.heartbeat(workerRecord("web1:7:abc", { queues: ["fetched"] }), 60_000);
  for (const queue of ["emptied", "limited", "fetched"]) {
    assertEquals([await status(`/queues/${queue}`), await status(`/queued/${queue}`)], [200, 200], queue);
  }
  await store.classes.declare([{ name: "Declared", options: "{}" }]);
  await push(store, "q2", { class: "Pushed" });
  for (let n = 0; n < 150; n++) await push(store, `r${n}`, { class: "Pushed" });
  await push(store, "q3", { class: "Behind" });
  for (const name of ["Declared", "Pushed", "Behind"]) assertEquals(await status(`/classes/${name}`), 200, name);
});

onBothStores("a batch, and each node of a flow, link to their jobs by state", async ({ store, visitor }) => {
  const client = new Client({ store, onUnregistered: () => {} });
  const ids = [
    (await client.batch({}, async (add) => {
      for (const n of [1, 2]) await add("Row", [n]);
    })).id,
    (await client.flow("f", { a: { job: ["Row", []] }, b: { job: ["Row", []] }, c: { job: ["Row", []], after: "a" } }))
      .id,
  ];
  const someone = visitor();
  for (const [i, id] of ids.entries()) {
    const [entry] = (await store.admin.page({ in: "queue", queue: "default" }, { limit: 10 })).entries
      .filter(({ payload }) => payload.includes(id));
    await store.jobs.edit([entry!.ref], "kill");
    const { text } = await someone.visit(`/${["batches", "flows"][i]}/${id}`);
    const link = (label: string) => new RegExp(`<dt><a href="([^"]+)">${label}</a>`).exec(text)?.[1];
    assertEquals([link("Pending"), link("Dead"), link("Succeeded")], [`/search?q=${id}`, `/dead?q=${id}`, undefined]);
    const jid = JSON.parse(entry!.payload).jid;
    assertStringIncludes((await someone.visit(`/jobs/${jid}`)).text, `href="/${["batches", "flows"][i]}/${id}"`);
    const rows = async (path: string) =>
      [...(await someone.visit(path)).text.matchAll(/class="class"[^>]*>Row</g)].length;
    assertEquals([await rows(link("Pending")!), await rows(link("Dead")!)], [2, 1]);
    if (i === 1) assertEquals(link("Waiting"), `/search?q=${id}`);
  }
});
