/** Failed jobs grouped by error, and the action on a group. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { bury, fail, onBothStores, placeOf } from "./site.ts";

onBothStores("failed jobs are grouped by class and error, and a group is retried at once", async (site) => {
  const { store, visitor } = site;
  for (let i = 0; i < 3; i++) {
    await bury(store, `a${i}`, { class: "Import", error_class: "IOError", error_message: `No account ${4_711 + i}` });
  }
  await bury(store, "b", { class: "Import", error_class: "IOError", error_message: "disk full" });
  await bury(store, "c", { class: "Mail", error_class: "IOError", error_message: "No account 1" });
  await fail(store, "r", { class: "Mail", error_class: "Timeout", error_message: "Bearer abcdefghijklmnop" });
  const page = await visitor().open("/dead?by=error");
  const rows = [...page.html.matchAll(/<tr><td[^>]* data-label="Class".*?<\/tr>/gs)].map(([row]) =>
    row.replace(/<svg.*?<\/svg>/gs, "").replace(/<form.*/s, "").replace(/<[^>]+>/g, " ").replace(/\s+/g, " ").trim()
  );
  assertEquals(rows.map((row) => /^(\S+) (.*?) (\d+) /.exec(row)!.slice(1)), [
    ["Import", "IOError: No account *", "3"],
    ["Mail", "IOError: No account *", "1"],
    ["Import", "IOError: disk full", "1"],
  ]);
  const question = await page.press("Retry all Import with IOError: No account *");
  assertStringIncludes(question.heading, "Retry 3 jobs in dead with class");
  assertEquals((await question.press("Retry 3 jobs")).message, "3 jobs queued.");
  assertEquals([await placeOf(store, "a0"), await placeOf(store, "b"), await placeOf(store, "c")], [
    "queue:default",
    "dead",
    "dead",
  ]);
  const retrying = await visitor().open("/retrying?by=error");
  assert(!retrying.html.includes("abcdefghijklmnop"), "secrets are masked");
  assertStringIncludes(retrying.html, "Timeout: ");
  assertStringIncludes((await visitor().open("/dead?by=error&class=Nothing")).html, "No failed jobs.");
});

onBothStores("an invalid age keeps the groups' page, with the error at its field and what was typed", async (site) => {
  await bury(site.store, "a");
  const { status, text } = await site.visitor().visit("/dead?by=error&older=soon&class=Hard");
  assertEquals(status, 422);
  assertMatch(text, /<details class="popover" open[^>]*>.*name="older"/s);
  assertMatch(text, /value="soon"[^>]*aria-invalid="true"/);
  assertStringIncludes(text, "Invalid filter &quot;older&quot;: &quot;soon&quot;; expected an age");
  assertMatch(text, /value="Hard"/);
  assertMatch(text, /name="by" value="error"/);
});
