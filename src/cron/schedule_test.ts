import { assertEquals } from "@std/assert";
import { CronRule } from "./rule.ts";
import { between, previous } from "./schedule.ts";
import { Interval } from "./schedule_spec.ts";

const NOON = Date.UTC(2026, 5, 15, 12);

Deno.test("between returns the times after `from`, up to and including `to`, and at most `limit`", () => {
  const hourly = new CronRule("@hourly");
  assertEquals(between(hourly, NOON, NOON + 2 * 3_600_000, 10), [NOON + 3_600_000, NOON + 7_200_000]);
  assertEquals(between(hourly, NOON - 1, NOON, 10), [NOON]);
  assertEquals(between(hourly, NOON, Infinity, 1), [NOON + 3_600_000]);
  assertEquals(between(hourly, NOON, NOON - 1, 10), []);
});

Deno.test("previous returns the last time before a moment", () => {
  const yearly = new CronRule("@yearly");
  assertEquals(previous(yearly, NOON, 0), Date.UTC(2026, 0, 1));
  assertEquals(previous(yearly, Date.UTC(2026, 0, 1), 0), Date.UTC(2025, 0, 1), "not the moment itself");
  assertEquals(previous(yearly, Date.UTC(2026, 0, 1) + 1, 0), Date.UTC(2026, 0, 1));
});

Deno.test("previous returns no time before `notBefore`", () => {
  const yearly = new CronRule("@yearly");
  assertEquals(previous(yearly, NOON, Date.UTC(2026, 0, 1)), Date.UTC(2026, 0, 1));
  assertEquals(previous(yearly, NOON, Date.UTC(2026, 0, 1) + 1), undefined);
  assertEquals(previous(yearly, NOON, NOON), undefined);
  assertEquals(previous(yearly, NOON, NOON + 5), undefined);
});

Deno.test("previous and next agree at every moment around clock changes", () => {
  for (const text of ["*/17 1-3 * * *", "*/17 * * * *", "@daily"]) {
    const rule = new CronRule(text, "America/New_York");
    for (const day of [Date.UTC(2026, 2, 8), Date.UTC(2026, 10, 1)]) {
      for (let time = day; time < day + 12 * 3_600_000; time += 411_000) {
        const before = previous(rule, time, 0)!;
        assertEquals(rule.next(before)! >= time, true, new Date(time).toISOString());
        assertEquals(rule.next(before - 1), before);
      }
    }
  }
});

Deno.test("previous needs few steps over many matching seconds", () => {
  let calls = 0;
  const rule = new CronRule("* * 1 * * *");
  const counting = { next: (after: number) => (calls++, rule.next(after)) };
  assertEquals(previous(counting, NOON, 0), Date.UTC(2026, 5, 15, 1, 59, 59));
  assertEquals(calls < 100, true, `${calls} calls`);
});

Deno.test("Interval counts from the epoch, so that all hosts agree", () => {
  const every = new Interval(30_000);
  assertEquals(every.next(NOON), NOON + 30_000);
  assertEquals(every.next(NOON - 1), NOON);
  assertEquals(every.next(NOON + 29_999), NOON + 30_000);
  assertEquals(between(new Interval(7_000), 0, 20_000, 9), [7_000, 14_000]);
});

Deno.test("Interval counts forwards and backwards from its anchor", () => {
  const every = new Interval(60_000, NOON + 5_000);
  assertEquals(every.next(NOON + 5_000), NOON + 65_000);
  assertEquals(every.next(NOON), NOON + 5_000);
  assertEquals(every.next(NOON - 60_000), NOON - 55_000);
});

Deno.test("Interval ignores a clock change", () => {
  const change = Date.UTC(2026, 10, 1, 6);
  const times = between(new Interval(1_800_000), change - 3_600_000, change + 3_600_000, 10);
  assertEquals(times.map((time) => time - change), [-1_800_000, 0, 1_800_000, 3_600_000]);
});
