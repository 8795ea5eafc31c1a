import { assertEquals, assertThrows } from "@std/assert";
import { parseRule, RuleError } from "./rule_parser.ts";

/** Each message names what was found and what is wanted; the column is where the finger should point. */
const WRONG: [rule: string, column: number, reason: string][] = [
  ["", 1, "0 fields; wanted: 5 (minute, hour, day of month, month, day of week), or 6 with seconds first"],
  ["* * * *", 8, "4 fields; wanted: 5"],
  ["* * * * * * 2026", 13, "7 fields; wanted: 5"],
  ["60 * * * *", 1, `minute "60" is out of range; wanted: 0-59`],
  ["  61  5 * * *", 3, `minute "61" is out of range`],
  ["0 24 * * *", 3, `hour "24" is out of range; wanted: 0-23`],
  ["0 0 0 * *", 5, `day of month "0" is out of range; wanted: 1-31`],
  ["0 0 1 13 *", 7, `month "13" is out of range; wanted: 1-12 or JAN-DEC`],
  ["0 0 1 JUNE *", 7, `month "JUNE" is not understood; wanted: 1-12 or JAN-DEC`],
  ["0 0 * * 8", 9, `day of week "8" is out of range; wanted: 0-7 or SUN-SAT`],
  ["99 0 0 * * *", 1, `second "99" is out of range; wanted: 0-59`],
  ["1,2,x,4 * * * *", 5, `minute "x" is not understood`],
  ["1,,4 * * * *", 3, `minute "" is not understood`],
  ["0 9-25 * * *", 5, `hour "25" is out of range`],
  ["0 22-2 * * *", 3, `hour "22-2" runs backwards; wanted: two ranges, such as 22-23,0-2`],
  ["0 0 * * FRI-MON", 9, `day of week "FRI-MON" runs backwards; wanted: two ranges, such as FRI-6,0-MON`],
  ["*/90 * * * *", 3, `step "90" of minute is out of range; wanted: 1 to 60, or "every" for longer intervals`],
  ["*/0 * * * *", 3, `step "0" of minute is out of range`],
  ["10-14/6 * * * *", 7, `step "6" of minute is out of range; wanted: 1 to 5`],
  ["*/x * * * *", 1, `minute "*/x" is not understood; wanted: *, 0-59, ranges, steps`],
  ["-1 * * * *", 1, `minute "-1" is not understood`],
  ["1.5 * * * *", 1, `minute "1.5" is not understood`],
  ["? * * * *", 1, `minute "?" is not understood`],
  ["0 L * * *", 3, `hour "L" is not understood`],
  ["0 0 L-31 * *", 5, `day of month "L-31" lies before the month; wanted: L-1 to L-30`],
  ["0 0 32W * *", 5, `day of month "32" is out of range`],
  ["0 0 1-5W * *", 7, `day of month "5W" is not understood`],
  ["0 0 * * L", 9, `day of week "L" does not say which one is the last; wanted: 5L, FRIL`],
  ["0 0 * * 5#6", 9, `day of week "5#6" counts with "#6"; wanted: #1 to #5`],
  ["0 0 * * 9#1", 9, `day of week "9" is out of range`],
  ["0 0 31 2 *", 5, `month "2" never has a day "31": the rule never occurs`],
  ["0 0 31 4,6,SEP *", 5, `month "4,6,SEP" never has a day "31": the rule never occurs`],
  ["0 0 L-30 FEB *", 5, `month "FEB" never has a day "L-30": the rule never occurs`],
  ["@reboot", 1, `"@reboot" is not known; wanted: @yearly, @annually, @monthly, @weekly, @daily`],
  [" @daily 5", 2, `"@daily 5" is not known`],
  ["@constructor", 1, `"@constructor" is not known`],
];

for (const [rule, column, reason] of WRONG) {
  Deno.test(`parseRule refuses "${rule}" and says where`, () => {
    const error = assertThrows(() => parseRule(rule), RuleError, `Rule "${rule}", column ${column}: ${reason}`);
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

Deno.test("parseRule reads five fields as six with second 0, and short forms as what they stand for", () => {
  for (const same of ["0 3 * * *", "0 0 3 * * *", "  0   0 3 *\t* * "]) {
    assertEquals(parseRule(same).normal, "0 0 3 * * *");
  }
  assertEquals(parseRule("@hourly").normal, parseRule("0 * * * *").normal);
  assertEquals(parseRule("0 0 * jan mon").normal, parseRule("0 0 0 * JAN MON").normal);
});

Deno.test("parseRule takes a step as wide as its range: it means the first alone", () => {
  assertEquals(parseRule("*/60 * * * *").minutes, [0]);
  assertEquals(parseRule("0 */24 * * *").hours, [0]);
});
