import { assertEquals } from "@std/assert";
import { fewOf, number } from "./format.ts";
import { cronRecordJson, inZone, outcomeOf } from "./cron.ts";
import { relative } from "./times.ts";

Deno.test("groups thousands, and lists the first of many names", () => {
  assertEquals(number(1e300), "1.00e+300");
  assertEquals([number(0), number(999), number(1_234_567)], ["0", "999", "1,234,567"]);
  for (const value of [-1_234, -999_999, 1_000, 12_345.678, -0.5, 999_999_999_999_999]) {
    assertEquals(number(value), value.toLocaleString("en-US"));
  }
  assertEquals([fewOf([]), fewOf(["a", "b"]), fewOf([..."abcdefg"])], ["", "a b", "a b c d e and 2 more"]);
  assertEquals(fewOf(["a", "b"], 9), "a b and 4 more");
});

Deno.test("formats a time relative to now", () => {
  const told = [undefined, 1_000_100, 1_300_000, 997_000].map((at) => relative(at, 1_000_000));
  assertEquals(told, ["", "now", "in 5m", "3s ago"]);
});

Deno.test("formats the outcome of a run with its reason or count", () => {
  const record = { scheduledAt: 60_000, decidedAt: 61_000 };
  assertEquals(outcomeOf({ ...record, outcome: "skipped", reason: "abc runs" }), "skipped: abc runs");
  assertEquals(
    outcomeOf({ ...record, outcome: "missed", count: 3, first: 0 }),
    "3 missed since 1970-01-01T00:00:00.000Z",
  );
  assertEquals(cronRecordJson({ ...record, outcome: "enqueued", jid: "a" }), {
    outcome: "enqueued",
    jid: "a",
    scheduledAt: "1970-01-01T00:01:00.000Z",
    decidedAt: "1970-01-01T00:01:01.000Z",
    first: undefined,
  });
});

Deno.test("formats a time in the zone of its cron expression", () => {
  const schedule = { rule: "0 3 * * *", timezone: "Europe/Berlin" } as Parameters<typeof inZone>[1];
  assertEquals(inZone(0, schedule), "1970-01-01T01:00:00+01:00");
});
