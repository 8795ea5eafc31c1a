import { assertEquals } from "@std/assert";
import { type Job, parsePayload, releasesOf } from "./job.ts";
import { occurrenceOf } from "./occurrence.ts";

const OCCURRENCE = { name: "nightly", scheduledAt: "2026-06-15T12:00:00.000Z", lateMs: 3 };

function job(more: Record<string, unknown>): Job {
  return parsePayload(JSON.stringify({ class: "A", args: [], jid: "1", ...more }))!;
}

Deno.test("occurrenceOf returns the cron run of a payload, and undefined for an invalid one", () => {
  assertEquals(occurrenceOf(job({ occurrence: OCCURRENCE }).payload), OCCURRENCE);
  for (const other of [undefined, null, "nightly", [], { name: "nightly" }, { ...OCCURRENCE, lateMs: "3" }]) {
    assertEquals(occurrenceOf(job({ occurrence: other }).payload), undefined);
  }
});

Deno.test("releasesOf returns the lock, the cron entry, both or none, with the jid", () => {
  assertEquals(releasesOf(job({})), {});
  assertEquals(releasesOf(job({ unique_key: "k" })), { unlock: "k", jid: "1" });
  assertEquals(releasesOf(job({ occurrence: OCCURRENCE })), { jid: "1", occurrence: "nightly" });
  assertEquals(releasesOf(job({ unique_key: "k", occurrence: OCCURRENCE })), {
    unlock: "k",
    jid: "1",
    occurrence: "nightly",
  });
});
