import { assertEquals } from "@std/assert";
import { type Job, lockOf, parsePayload } from "./job.ts";
import { occurrenceOf } from "./occurrence.ts";

const OCCURRENCE = { name: "nightly", scheduledAt: "2026-06-15T12:00:00.000Z", lateMs: 3 };

function job(more: Record<string, unknown>): Job {
  return parsePayload(JSON.stringify({ class: "A", args: [], jid: "1", ...more }))!;
}

Deno.test("occurrence: as it stands in the payload; what is something else is none", () => {
  assertEquals(occurrenceOf(job({ occurrence: OCCURRENCE }).payload), OCCURRENCE);
  for (const other of [undefined, null, "nightly", [], { name: "nightly" }, { ...OCCURRENCE, lateMs: "3" }]) {
    assertEquals(occurrenceOf(job({ occurrence: other }).payload), undefined);
  }
});

Deno.test("lockOf: the lock, the occurrence, both or none, with the jid", () => {
  assertEquals(lockOf(job({})), {});
  assertEquals(lockOf(job({ unique_key: "k" })), { unlock: "k", jid: "1" });
  assertEquals(lockOf(job({ occurrence: OCCURRENCE })), { jid: "1", occurrence: "nightly" });
  assertEquals(lockOf(job({ unique_key: "k", occurrence: OCCURRENCE })), {
    unlock: "k",
    jid: "1",
    occurrence: "nightly",
  });
});
