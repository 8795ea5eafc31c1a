/** The search of the side bar looks everywhere. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { keepRecord } from "../support/records.ts";
import { onBothStores, workerRecord } from "./site.ts";

onBothStores("a search finds finished jobs next to waiting ones", async ({ store, visitor }) => {
  await new Client({ store, onUnregistered: () => {} }).push("Invoices::Remind", ["invoice-94086"]);
  const charge = (jid: string, number: string) =>
    keepRecord(store, {
      jid,
      ttlMs: 60_000,
      body: JSON.stringify({
        jid,
        class: "Invoices::Charge",
        queue: "billing",
        state: "succeeded",
        result: { charge: "ch_77" },
        endedAt: Date.now(),
        payload: { class: "Invoices::Charge", args: [number], jid },
      }),
    });
  await charge("c1", "invoice-94086");
  await charge("c2", "invoice-11111");
  const { text } = await visitor().visit("/search?q=invoice-94086");
  assertMatch(text, /2 jobs found, searched 1 and the finished ones/);
  assertStringIncludes(text, 'href="/jobs/c1"');
  assertEquals(text.includes('href="/jobs/c2"'), false);
  assertEquals(text.includes("Show more results"), false);
  const byResult = await visitor().visit("/search?q=ch_77");
  assertStringIncludes(byResult.text, 'href="/jobs/c2"', "results are searched, too");
  const words = await visitor().visit("/search?q=94086+charge");
  assertMatch(words.text, /1 job found/, "each word, in any order");
  const phrase = await visitor().visit(`/search?q=${encodeURIComponent('"94086 charge"')}`);
  assertStringIncludes(phrase.text, "No job contains all of these words");
  assertStringIncludes(phrase.text, "keep a phrase together");
  const none = await visitor().visit("/search?q=nowhere");
  assertStringIncludes(none.text, "No job contains this text");
});

onBothStores("a running job found by a search names its worker, with a link", async ({ store, visitor }) => {
  await store.workers.heartbeat(workerRecord("web1:7:abc"), 60_000);
  await new Client({ store, onUnregistered: () => {} }).push("Invoices::Remind", ["invoice-94086"]);
  await store.jobs.take({ queues: ["default"], limit: 1, worker: "web1:7:abc" });
  const { html } = await visitor().open("/search?q=invoice-94086");
  assertStringIncludes(html, '<a href="/workers?name=web1%3A7">web1:7:abc</a>');
});

onBothStores("a scheduled job has its exact time next to the remaining one", async ({ store, visitor }) => {
  const client = new Client({ store, onUnregistered: () => {} });
  await client.push("Invoices::Remind", ["a"], { at: new Date("2099-01-02T03:04:05Z") });
  const { html } = await visitor().open("/scheduled");
  assertStringIncludes(html, ">2099-01-02 03:04:05 UTC</time>");
});
