import { assertEquals, assertThrows } from "@std/assert";
import { parseRule, RuleError } from "./rule_parser.ts";

/** Each message names the value, what was expected, and the column of the mistake. */
const WRONG: [rule: string, column: number, reason: string][] = [
  ["", 1, "0 fields; expected 5 (minute, hour, day of month, month, day of week), or 6 with seconds first"],
  ["* * * *", 8, "4 fields; expected 5"],
  ["* * * * * * 2026", 13, "7 fields; expected 5"],
  ["60 * * * *", 1, `minute "60" is out of range; expected 0-59`],
  ["  61  5 * * *", 3, `minute "61" is out of range`],
  ["0 24 * * *", 3, `hour "24" is out of range; expected 0-23`],
  ["0 0 0 * *", 5, `day of month "0" is out of range; expected 1-31`],
  ["0 0 1 13 *", 7, `month "13" is out of range; expected 1-12 or JAN-DEC`],
  ["0 0 1 JUNE *", 7, `month "JUNE" is invalid; expected 1-12 or JAN-DEC`],
  ["0 0 * * 8", 9, `day of week "8" is out of range; expected 0-7 or SUN-SAT`],
  ["99 0 0 * * *", 1, `second "99" is out of range; expected 0-59`],
  ["1,2,x,4 * * * *", 5, `minute "x" is invalid`],
  ["1,,4 * * * *", 3, `minute "" is invalid`],
  ["0 9-25 * * *", 5, `hour "25" is out of range`],
  ["0 22-2 * * *", 3, `hour "22-2" runs backwards; write two ranges: 22-23,0-2`],
  ["0 0 * * FRI-MON", 9, `day of week "FRI-MON" runs backwards; write two ranges: FRI-6,0-MON`],
  ["*/90 * * * *", 3, `step "90" of minute is out of range; expected 1 to 60; for longer intervals use "every"`],
  ["*/0 * * * *", 3, `step "0" of minute is out of range`],
  ["10-14/6 * * * *", 7, `step "6" of minute is out of range; expected 1 to 5`],
  ["*/x * * * *", 1, `minute "*/x" is invalid; expected *, 0-59, ranges, steps`],
  ["-1 * * * *", 1, `minute "-1" is invalid`],
  ["1.5 * * * *", 1, `minute "1.5" is invalid`],
  ["? * * * *", 1, `minute "?" is invalid`],
  ["0 L * * *", 3, `hour "L" is invalid`],
  ["0 0 L-31 * *", 5, `day of month "L-31" is before the month; expected L-1 to L-30`],
  ["0 0 32W * *", 5, `day of month "32" is out of range`],
  ["0 0 1-5W * *", 7, `day of month "5W" is invalid`],
  ["0 0 * * L", 9, `day of week "L" has no weekday; expected for example 5L or FRIL`],
  ["0 0 * * 5#6", 9, `day of week "5#6" has the suffix "#6"; expected #1 to #5`],
  ["0 0 * * 9#1", 9, `day of week "9" is out of range`],
  ["0 0 31 2 *", 5, `month "2" never has a day "31", so it never runs`],
  ["0 0 31 4,6,SEP *", 5, `month "4,6,SEP" never has a day "31", so it never runs`],
  ["0 0 L-30 FEB *", 5, `month "FEB" never has a day "L-30", so it never runs`],
  ["@reboot", 1, `"@reboot" is unknown; expected @yearly, @annually, @monthly, @weekly, @daily`],
  [" @daily 5", 2, `"@daily 5" is unknown`],
  ["@constructor", 1, `"@constructor" is unknown`],
];

for (const [rule, column, reason] of WRONG) {
  Deno.test(`parseRule rejects "${rule}" and names the column`, () => {
    const error = assertThrows(
      () => parseRule(rule),
      RuleError,
      `Invalid cron expression "${rule}", column ${column}: ${reason}`,
    );
    assertEquals(error.column, column);
  });
}

Deno.test("parseRule reads lists, ranges, steps and names", () => {
  const fields = parseRule("5,1-3,*/30 10-20/5,7/4 0 1,15-16 jan,11-DEC sun,2-3");
  assertEquals(fields.seconds, [0, 1, 2, 3, 5, 30]);
  assertEquals(fields.minutes, [7, 10, 11, 15, 19, 20, 23, 27, 31, 35, 39, 43, 47, 51, 55, 59]);
  assertEquals(fields.hours, [0]);
  assertEquals(fields.daysOfMonth.map((day) => day.kind === "day" && day.day), [1, 15, 16]);
  assertEquals(fields.months, [1, 11, 12]);
  assertEquals(fields.daysOfWeek.map((day) => day.kind === "weekday" && day.weekday), [0, 2, 3]);
});

Deno.test("parseRule reads five fields as six with second 0, and expands short forms", () => {
  for (const same of ["0 3 * * *", "0 0 3 * * *", "  0   0 3 *\t* * "]) {
    assertEquals(parseRule(same).normal, "0 0 3 * * *");
  }
  assertEquals(parseRule("@hourly").normal, parseRule("0 * * * *").normal);
  assertEquals(parseRule("0 0 * jan mon").normal, parseRule("0 0 0 * JAN MON").normal);
});

Deno.test("parseRule accepts a step as wide as its range, which matches only the first value", () => {
  assertEquals(parseRule("*/60 * * * *").minutes, [0]);
  assertEquals(parseRule("0 */24 * * *").hours, [0]);
});
