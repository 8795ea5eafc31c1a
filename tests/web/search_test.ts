/** The search of the side bar looks everywhere. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { keepRecord } from "../support/records.ts";
import { onBothStores } from "./site.ts";

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
