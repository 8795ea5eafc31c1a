import { assertEquals } from "@std/assert";
import { describeInterval, describeRule } from "./describe.ts";
import { CronRule } from "./rule.ts";

const WORDS: [rule: string, words: string][] = [
  ["30 3 * * 1-5", "at 03:30 on weekdays"],
  ["30 30 3 * * *", "at 03:30:30 every day"],
  ["0 9,12,17 * * *", "at 09:00, 12:00 and 17:00 every day"],
  ["* * * * * *", "every second"],
  ["*/10 * * * * *", "every 10 seconds"],
  ["15 * * * * *", "at second 15 of every minute"],
  ["10-20 * * * * *", "at seconds 10 through 20 of every minute"],
  ["* * * * *", "every minute"],
  ["*/5 * * * *", "every 5 minutes"],
  ["*/10 9-17 * * *", "every 10 minutes from 09:00 to 17:59"],
  ["*/5 3 * * *", "every 5 minutes from 03:00 to 03:59"],
  ["@hourly", "every hour"],
  ["15,45 * * * *", "at minutes 15 and 45 of every hour"],
  ["*/7 * * * *", "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour"],
  ["0 */2 * * *", "every 2 hours"],
  ["0 9-17 * * MON-FRI", "every hour from 09:00 to 17:00 on weekdays"],
  ["0 1,2,4,8,16 * * *", "at 01:00, 02:00, 04:00, 08:00 and 16:00 every day"],
  ["30 */2 * * *", "at minute 30 of every 2nd hour"],
  ["7 3,5,9,11,13 * * *", "at minute 7 of the hours 3, 5, 9, 11 and 13"],
  ["0 0 1,2,3,22 * *", "at 00:00 on the 1st through 3rd and 22nd of the month"],
  ["0 0 11-13 * *", "at 00:00 on the 11th through 13th of the month"],
  ["0 0 */2 * 1", "at 00:00 on every 2nd day from the 1st to the 31st of the month, only on Monday"],
  ["0 0 L * *", "at 00:00 on the last day of the month"],
  ["0 0 15,L-3 * *", "at 00:00 on the 15th and the 3rd day before the last of the month"],
  ["0 0 15W * *", "at 00:00 on the weekday nearest the 15th of the month"],
  ["0 0 LW * *", "at 00:00 on the last weekday of the month"],
  ["0 9 * * 5L", "at 09:00 on the last Friday of the month"],
  ["0 9 * * 1#2", "at 09:00 on the second Monday of the month"],
  ["0 0 * * 0,1,2", "at 00:00 on Monday, Tuesday and Sunday"],
  ["0 0 13 * 5", "at 00:00 on the 13th of the month and on Friday"],
  ["0 0 1-31 * 1", "at 00:00 every day"],
  ["@yearly", "at 00:00 on the 1st of the month in January"],
  ["30 3 * 6-8,12 6,0", "at 03:30 on weekends in June through August and December"],
];

for (const [rule, words] of WORDS) {
  Deno.test(`describeRule describes "${rule}" in plain words`, () => {
    assertEquals(describeRule(new CronRule(rule, "Europe/London")), `${words}, Europe/London`);
  });
}

Deno.test("describeInterval uses the largest unit that fits", () => {
  assertEquals(
    [1_000, 30_000, 60_000, 90_000, 3_600_000, 5_400_000, 86_400_000, 172_800_000].map(describeInterval),
    [
      "every second",
      "every 30 seconds",
      "every minute",
      "every 90 seconds",
      "every hour",
      "every 90 minutes",
      "every day",
      "every 2 days",
    ],
  );
});
