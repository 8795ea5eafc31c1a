import { assertEquals, assertThrows } from "@std/assert";
import { CronRule } from "./rule.ts";
import { between } from "./schedule.ts";

const LAST = Date.UTC(2100, 0, 1);

/** The next times of a rule, as local time with its distance to UTC. */
function times(rule: string, zone: string, from: string, count: number): string[] {
  return between(new CronRule(rule, zone), Date.parse(from), LAST, count).map((time) =>
    Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(zone)
      .toString({ timeZoneName: "never", smallestUnit: "second" })
  );
}

/** What happens when clocks change. Dates are written in full so that the table can be checked against a calendar. */
const CLOCK_CHANGES: { zone: string; what: string; rule: string; from: string; times: string[] }[] = [
  {
    zone: "America/New_York",
    what: "a skipped time occurs once, right after the gap",
    rule: "30 2 * * *",
    from: "2026-03-07T12:00:00Z",
    times: ["2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"],
  },
  {
    zone: "America/New_York",
    what: "many skipped times occur together, once",
    rule: "*/20 2 * * *",
    from: "2026-03-08T05:00:00Z",
    times: ["2026-03-08T03:00:00-04:00", "2026-03-09T02:00:00-04:00", "2026-03-09T02:20:00-04:00"],
  },
  {
    zone: "America/New_York",
    what: "a skipped time that falls together with a shown one does not double it",
    rule: "0 2,3 * * *",
    from: "2026-03-08T05:00:00Z",
    times: ["2026-03-08T03:00:00-04:00", "2026-03-09T02:00:00-04:00"],
  },
  {
    zone: "America/New_York",
    what: "a repeated time occurs once, the first time",
    rule: "30 1 * * *",
    from: "2026-10-31T12:00:00Z",
    times: ["2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"],
  },
  {
    zone: "America/New_York",
    what: "asked in the second pass, it does not occur again",
    rule: "*/20 1 * * *",
    from: "2026-11-01T06:10:00Z",
    times: ["2026-11-02T01:00:00-05:00"],
  },
  {
    zone: "America/New_York",
    what: "a rule of every hour occurs on both passes",
    rule: "*/30 * * * *",
    from: "2026-11-01T05:00:00Z",
    times: [
      "2026-11-01T01:30:00-04:00",
      "2026-11-01T01:00:00-05:00",
      "2026-11-01T01:30:00-05:00",
      "2026-11-01T02:00:00-05:00",
    ],
  },
  {
    zone: "America/New_York",
    what: "a rule of every hour does not occur in the gap",
    rule: "15,45 * * * *",
    from: "2026-03-08T06:20:00Z",
    times: ["2026-03-08T01:45:00-05:00", "2026-03-08T03:15:00-04:00"],
  },
  {
    zone: "America/New_York",
    what: "the change itself is a time of a rule of every hour",
    rule: "@hourly",
    from: "2026-03-08T06:00:00Z",
    times: ["2026-03-08T03:00:00-04:00", "2026-03-08T04:00:00-04:00"],
  },
  {
    zone: "America/New_York",
    what: "every second hour: the skipped one right after",
    rule: "30 */2 * * *",
    from: "2026-03-08T05:00:00Z",
    times: ["2026-03-08T00:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T04:30:00-04:00"],
  },
  {
    zone: "Europe/London",
    what: "a skipped time occurs once, right after the gap",
    rule: "30 1 * * *",
    from: "2026-03-28T12:00:00Z",
    times: ["2026-03-29T02:00:00+01:00", "2026-03-30T01:30:00+01:00"],
  },
  {
    zone: "Europe/London",
    what: "a repeated time occurs once, the first time",
    rule: "30 1 * * *",
    from: "2026-10-24T12:00:00Z",
    times: ["2026-10-25T01:30:00+01:00", "2026-10-26T01:30:00+00:00"],
  },
  {
    zone: "Europe/London",
    what: "a second of the repeated hour, on a rule of every hour, on both passes",
    rule: "7 59 * * * *",
    from: "2026-10-25T00:00:00Z",
    times: ["2026-10-25T01:59:07+01:00", "2026-10-25T01:59:07+00:00", "2026-10-25T02:59:07+00:00"],
  },
  {
    zone: "Australia/Lord_Howe",
    what: "a gap of half an hour: right after it, not after a whole one",
    rule: "15 2 * * *",
    from: "2026-10-03T12:00:00Z",
    times: ["2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"],
  },
  {
    zone: "Australia/Lord_Howe",
    what: "outside the half hour nothing is skipped",
    rule: "45 2 * * *",
    from: "2026-10-03T12:00:00Z",
    times: ["2026-10-04T02:45:00+11:00"],
  },
  {
    zone: "Australia/Lord_Howe",
    what: "a repeated half hour: the first time",
    rule: "45 1 * * *",
    from: "2026-04-04T12:00:00Z",
    times: ["2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"],
  },
  {
    zone: "Australia/Lord_Howe",
    what: "a rule of every hour occurs on both passes of the half hour",
    rule: "*/15 * * * *",
    from: "2026-04-04T14:15:00Z",
    times: [
      "2026-04-05T01:30:00+11:00",
      "2026-04-05T01:45:00+11:00",
      "2026-04-05T01:30:00+10:30",
      "2026-04-05T01:45:00+10:30",
      "2026-04-05T02:00:00+10:30",
    ],
  },
  {
    zone: "Asia/Tokyo",
    what: "no change, nothing happens",
    rule: "30 2 * * *",
    from: "2026-03-07T18:00:00Z",
    times: ["2026-03-09T02:30:00+09:00", "2026-03-10T02:30:00+09:00"],
  },
  {
    zone: "UTC",
    what: "no change, nothing happens",
    rule: "30 1,2 * * *",
    from: "2026-03-08T00:00:00Z",
    times: ["2026-03-08T01:30:00+00:00", "2026-03-08T02:30:00+00:00", "2026-03-09T01:30:00+00:00"],
  },
  {
    zone: "Africa/Cairo",
    what: "midnight is skipped: the day begins at one",
    rule: "@daily",
    from: "2026-04-23T12:00:00Z",
    times: ["2026-04-24T01:00:00+03:00", "2026-04-25T00:00:00+03:00"],
  },
  {
    zone: "Pacific/Apia",
    what: "a whole day is skipped: 30 December 2011 was not",
    rule: "0 9 30 12 *",
    from: "2011-12-01T00:00:00Z",
    times: ["2011-12-31T00:00:00+14:00", "2012-12-30T09:00:00+14:00"],
  },
];

for (const { zone, what, rule, from, times: expected } of CLOCK_CHANGES) {
  Deno.test(`CronRule in ${zone}, "${rule}": ${what}`, () => {
    assertEquals(times(rule, zone, from, expected.length), expected);
  });
}

Deno.test("CronRule never goes back: its times ascend, from wherever one asks", () => {
  for (const zone of ["America/New_York", "Europe/London", "Australia/Lord_Howe", "Africa/Cairo"]) {
    for (const text of ["*/7 1-3 * * *", "*/7 * * * *", "*/7 0 * * *"]) {
      const rule = new CronRule(text, zone);
      const from = Date.UTC(2026, 0, 1);
      let last = rule.next(from)!;
      for (let asked = from; asked < Date.UTC(2027, 0, 1); asked += 1_234_567) {
        const next = rule.next(asked)!;
        assertEquals(next > asked && next >= last, true, `${text} in ${zone} from ${new Date(asked).toISOString()}`);
        last = next;
      }
    }
  }
});

/** Which days a rule means; January 2026 begins on a Thursday. */
const DAYS: [rule: string, dates: string[]][] = [
  ["0 0 13 * FRI", ["2026-01-02", "2026-01-09", "2026-01-13", "2026-01-16"]],
  ["0 0 */2 * MON", ["2026-01-05", "2026-01-19", "2026-02-09"]],
  ["0 0 13 * */5", ["2026-02-13", "2026-03-13", "2026-09-13"]],
  ["0 0 ? * MON", ["2026-01-05", "2026-01-12"]],
  ["0 0 13 * ?", ["2026-01-13", "2026-02-13"]],
  ["0 0 * * 7", ["2026-01-04", "2026-01-11"]],
  ["0 0 * * 0", ["2026-01-04", "2026-01-11"]],
  ["0 0 * * 5-7", ["2026-01-02", "2026-01-03", "2026-01-04", "2026-01-09"]],
  ["0 0 * * sat-sun", ["2026-01-03", "2026-01-04", "2026-01-10"]],
  ["0 0 * * 0-7/7", ["2026-01-04", "2026-01-11"]],
  ["0 0 L * *", ["2026-01-31", "2026-02-28", "2026-03-31"]],
  ["0 0 L-3 * *", ["2026-01-28", "2026-02-25", "2026-03-28"]],
  ["0 0 l,15 * *", ["2026-01-15", "2026-01-31", "2026-02-15", "2026-02-28"]],
  ["0 0 * * 5L", ["2026-01-30", "2026-02-27", "2026-03-27"]],
  ["0 0 * * friL", ["2026-01-30", "2026-02-27"]],
  ["0 0 * * 7L", ["2026-01-25", "2026-02-22"]],
  ["0 0 * * MON#1", ["2026-01-05", "2026-02-02"]],
  ["0 0 * * 5#5", ["2026-01-30", "2026-05-29", "2026-07-31"]],
  ["0 0 * * 2#1,4#3", ["2026-01-06", "2026-01-15", "2026-02-03", "2026-02-19"]],
  ["0 0 15W * *", ["2026-01-15", "2026-02-16", "2026-03-16"]],
  ["0 0 1W 8 *", ["2026-08-03", "2027-08-02"]],
  ["0 0 31W 1,5 *", ["2026-01-30", "2026-05-29"]],
  ["0 0 31W * *", ["2026-01-30", "2026-03-31", "2026-05-29"]],
  ["0 0 LW * *", ["2026-01-30", "2026-02-27", "2026-03-31"]],
  ["0 0 29 2 *", ["2028-02-29", "2032-02-29"]],
  ["0 0 29 FEB MON", ["2026-02-02", "2026-02-09"]],
  ["0 0 30 2 MON", ["2026-02-02", "2026-02-09"]],
  ["0 0 1 jan-mar/2 *", ["2026-03-01", "2027-01-01"]],
  ["@monthly", ["2026-02-01", "2026-03-01"]],
  ["@weekly", ["2026-01-04", "2026-01-11"]],
  ["@Yearly", ["2027-01-01", "2028-01-01"]],
];

for (const [rule, dates] of DAYS) {
  Deno.test(`CronRule "${rule}" means the days it should`, () => {
    assertEquals(times(rule, "UTC", "2026-01-01T00:00:00Z", dates.length).map((time) => time.slice(0, 10)), dates);
  });
}

Deno.test("CronRule finds a day that comes once in decades", () => {
  assertEquals(times("0 0 29 2 */4", "UTC", "2026-01-01T00:00:00Z", 2), [
    "2032-02-29T00:00:00+00:00",
    "2052-02-29T00:00:00+00:00",
  ]);
});

Deno.test("CronRule passes over 2100, which has no 29 February", () => {
  const rule = new CronRule("0 0 29 2 *");
  assertEquals(rule.next(Date.UTC(2096, 5, 1)), Date.UTC(2104, 1, 29));
});

Deno.test("CronRule refuses a zone that is not known, and takes any spelling of one that is", () => {
  assertThrows(() => new CronRule("@daily", "Europe/Londn"), RangeError, `No time zone "Europe/Londn"`);
  assertThrows(() => new CronRule("@daily", ""), RangeError, `No time zone ""`);
  assertEquals(new CronRule("@daily", "europe/london").zone.name, "Europe/London");
});
