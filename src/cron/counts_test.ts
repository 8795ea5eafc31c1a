import { assertEquals } from "@std/assert";
import { countRecords } from "./counts.ts";
import type { CronRecord } from "./occurrence.ts";
import { type CronState, ON_TIME_MS } from "./plan.ts";

const STATE: CronState = { schedule: { everyMs: 1_000, anchor: 0 }, considered: 5 };

function record(outcome: CronRecord["outcome"], more: Partial<CronRecord> = {}): CronRecord {
  return { outcome, scheduledAt: 0, decidedAt: 0, ...more };
}

Deno.test("countRecords returns the same state for no records", () => {
  assertEquals(countRecords(STATE, []) === STATE, true);
});

Deno.test("countRecords counts each outcome, missed runs by their number, and late runs", () => {
  const first = countRecords(STATE, [
    record("enqueued", { decidedAt: ON_TIME_MS }),
    record("enqueued", { decidedAt: ON_TIME_MS + 1 }),
    record("missed", { count: 40 }),
  ]);
  const { considered, counts } = countRecords(first, [record("missed", { count: 2 }), record("skipped")]);
  assertEquals({ considered, counts }, { considered: 5, counts: { enqueued: 2, late: 1, missed: 42, skipped: 1 } });
});
