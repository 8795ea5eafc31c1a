import { assert, assertEquals } from "@std/assert";
import { checkBounds, offsetOf } from "./bounds.ts";
import { checkEntries } from "./entry_check.ts";
import { EntryFields } from "./entry_fields.ts";
import { plan } from "./plan.ts";
import { CronRule } from "./rule.ts";
import { between } from "./schedule.ts";
import { describeSchedule, isSameSchedule, openSchedule, type ScheduleSpec } from "./schedule_spec.ts";

function scheduleOf(fields: Record<string, unknown>, name = "a"): ScheduleSpec {
  const { active, problems } = checkEntries([{ name, class: "A", ...fields }], { environment: "" });
  assertEquals(problems, []);
  return active[0]!.schedule;
}

const at = (text: string) => Date.parse(text);
const runs = (spec: ScheduleSpec) =>
  between(openSchedule(spec), at("2025-12-31T00:00:00Z"), Infinity, 5).map((time) => new Date(time).toISOString());

Deno.test("start and end bound a schedule, both included", () => {
  const spec = scheduleOf({ rule: "0 9 * * *", start: "2026-01-02T09:00:00Z", end: "2026-01-03T09:00:00Z" });
  assertEquals(runs(spec), ["2026-01-02T09:00:00.000Z", "2026-01-03T09:00:00.000Z"]);
  const later = scheduleOf({ rule: "0 9 * * *", start: "2026-01-02T09:00:00.001Z", end: "2026-01-03T08:59:59Z" });
  assertEquals(runs(later), []);
});

Deno.test("a count becomes the time of the last of these runs from the start", () => {
  const spec = scheduleOf({ rule: "0 9 * * *", timezone: "Europe/London", start: "2026-06-01T08:00:00Z", count: 2 });
  assertEquals(runs(spec), ["2026-06-01T08:00:00.000Z", "2026-06-02T08:00:00.000Z"]);
  assertEquals(runs(scheduleOf({ every: "1h", start: "2026-01-01T00:30:00Z", count: 1 })), [
    "2026-01-01T01:00:00.000Z",
  ]);
});

Deno.test("the runs of a count are within 100 years of the start, and the check searches no further", () => {
  const check = (input: Record<string, unknown>) =>
    checkEntries([{ name: "a", class: "A", ...input }], {
      environment: "",
      isSingle: true,
    }).problems.map(({ message }) => message);
  const error = (count: number, most: number) =>
    `Cron entry "a": "count" is ${count}; expected at most ${most}, as further runs are over 100 years after "start"`;
  const leap = { rule: "0 0 29 2 */7", start: "2026-01-01T00:00:00Z" };
  assertEquals(check({ ...leap, count: 3 }), []);
  assertEquals(check({ ...leap, count: 4 }), [error(4, 3)]);
  assertEquals(check({ every: "365d", start: "2026-01-01T00:00:00Z", count: 1_000 }), [error(1_000, 100)]);

  const rule = new CronRule(leap.rule);
  let searches = 0;
  const schedule = { next: (after: number) => (searches++, rule.next(after)) };
  const fields = new EntryFields({ name: "a", ...leap, count: 1_000 }, undefined);
  checkBounds(fields, { name: "a", schedule });
  assertEquals([fields.problems.length, searches], [1, 4]);
});

Deno.test("a spread shifts the runs of an entry by a time that follows from its name, even over the end", () => {
  const offset = offsetOf("customer-7", 600_000);
  const fields = { rule: "0 9 * * *", start: "2026-01-01T09:00:00Z", count: 1, spread: "10m" };
  const spec = scheduleOf(fields, "customer-7");
  assert(offset > 0 && offset <= 600_000);
  assertEquals(runs(spec), [new Date(at("2026-01-01T09:00:00Z") + offset).toISOString()]);
  const stored = plan(
    { schedule: spec, catchUp: { policy: "last", windowMs: 1 } },
    undefined,
    at("2026-01-01T09:00:00Z"),
  );
  assertEquals(stored.next, at("2026-01-01T09:00:00Z") + offset);
});

Deno.test("a spread distributes names evenly over its seconds", () => {
  const counts = new Array<number>(10).fill(0);
  for (let customer = 0; customer < 10_000; customer++) {
    const offset = offsetOf(`customer-${customer}`, 599_000);
    assertEquals(offset % 1_000, 0);
    counts[Math.floor(offset / 60_000)]!++;
  }
  assert(counts.every((count) => count > 850 && count < 1_150), String(counts));
});

Deno.test("a run after the end is missed like any other, and nothing follows", () => {
  const schedule = scheduleOf({ rule: "0 9 * * *", end: "2026-01-02T12:00:00Z" });
  const entry = { schedule, catchUp: { policy: "last", windowMs: 3_600_000 } } as const;
  const planned = plan(entry, { schedule, considered: at("2026-01-01T00:00:00Z") }, at("2026-02-01T00:00:00Z"));
  assertEquals([planned.due, planned.missed?.count, planned.next], [[], 2, undefined]);
});

Deno.test("bounds are a part of the schedule: in words, and when it changes", () => {
  const plain = scheduleOf({ rule: "0 9 * * *" });
  const spec = scheduleOf({ rule: "0 9 * * *", start: "2026-01-01T00:00:00Z", spread: "10m" });
  assertEquals(describeSchedule(spec), `${describeSchedule(plain)}, spread over 10m, from 2026-01-01T00:00:00Z`);
  assert(!isSameSchedule(plain, spec));
  assert(isSameSchedule(spec, { ...spec }));
});

Deno.test("the times of an entry are in the years 0 to 9999", () => {
  const about = (fields: object) =>
    checkEntries([{ name: "a", class: "A", every: "1h", ...fields }], { environment: "" }).problems
      .map(({ message }) => message);
  for (const field of ["start", "end", "anchor"]) {
    for (const text of ["+275760-09-12T23:30:00Z", "+010000-01-01T00:00:00Z", "-000001-12-31T23:59:59.999Z"]) {
      assertEquals(about({ [field]: text, spread: "1h" }), [
        `Cron entry "a": "${field}" is "${text}"; expected a time in the years 0 to 9999`,
      ]);
    }
    for (const text of ["9999-12-31T23:59:59.999Z", "0000-01-01T00:00:00Z"]) {
      assertEquals(about({ [field]: text, spread: "1h" }), []);
    }
  }
  // Counting these runs threw a RangeError.
  assertEquals(about({ start: "+275760-09-12T23:30:00Z", count: 3 }).length, 1);
});
