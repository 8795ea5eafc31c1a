import { assert, assertEquals, assertThrows } from "@std/assert";
import { nextWall } from "./calendar.ts";
import { MAX_COUNTED, plan } from "./plan.ts";
import { CronRule } from "./rule.ts";
import { between } from "./schedule.ts";
import { openSchedule } from "./schedule_spec.ts";
import { Zone } from "./zone.ts";

const LAST = Date.UTC(2100, 0, 1);

/** Returns the next times of an expression, as local times with their UTC offset. */
function times(rule: string, zone: string, from: string, count: number): string[] {
  return between(new CronRule(rule, zone), Date.parse(from), LAST, count).map((time) =>
    Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(zone)
      .toString({ timeZoneName: "never", smallestUnit: "second" })
  );
}

/** Runs around clock changes. Times are written in full, so that the table can be checked against a calendar. */
const CLOCK_CHANGES: { zone: string; behaviour: string; rule: string; from: string; times: string[] }[] = [
  {
    zone: "America/New_York",
    behaviour: "a skipped time runs once, right after the gap",
    rule: "30 2 * * *",
    from: "2026-03-07T12:00:00Z",
    times: ["2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"],
  },
  {
    zone: "America/New_York",
    behaviour: "several skipped times share one run",
    rule: "*/20 2 * * *",
    from: "2026-03-08T05:00:00Z",
    times: ["2026-03-08T03:00:00-04:00", "2026-03-09T02:00:00-04:00", "2026-03-09T02:20:00-04:00"],
  },
  {
    zone: "America/New_York",
    behaviour: "a skipped time that coincides with a regular one does not run twice",
    rule: "0 2,3 * * *",
    from: "2026-03-08T05:00:00Z",
    times: ["2026-03-08T03:00:00-04:00", "2026-03-09T02:00:00-04:00"],
  },
  {
    zone: "America/New_York",
    behaviour: "a repeated time runs once, the first time",
    rule: "30 1 * * *",
    from: "2026-10-31T12:00:00Z",
    times: ["2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"],
  },
  {
    zone: "America/New_York",
    behaviour: "a repeated time does not run again in the second pass",
    rule: "*/20 1 * * *",
    from: "2026-11-01T06:10:00Z",
    times: ["2026-11-02T01:00:00-05:00"],
  },
  {
    zone: "America/New_York",
    behaviour: "an expression for every hour runs in both passes",
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
    behaviour: "an expression for every hour does not run in the gap",
    rule: "15,45 * * * *",
    from: "2026-03-08T06:20:00Z",
    times: ["2026-03-08T01:45:00-05:00", "2026-03-08T03:15:00-04:00"],
  },
  {
    zone: "America/New_York",
    behaviour: "an expression for every hour runs at the change itself",
    rule: "@hourly",
    from: "2026-03-08T06:00:00Z",
    times: ["2026-03-08T03:00:00-04:00", "2026-03-08T04:00:00-04:00"],
  },
  {
    zone: "America/New_York",
    behaviour: "a skipped second hour runs right after the gap",
    rule: "30 */2 * * *",
    from: "2026-03-08T05:00:00Z",
    times: ["2026-03-08T00:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T04:30:00-04:00"],
  },
  {
    zone: "Europe/London",
    behaviour: "a skipped time runs once, right after the gap",
    rule: "30 1 * * *",
    from: "2026-03-28T12:00:00Z",
    times: ["2026-03-29T02:00:00+01:00", "2026-03-30T01:30:00+01:00"],
  },
  {
    zone: "Europe/London",
    behaviour: "a repeated time runs once, the first time",
    rule: "30 1 * * *",
    from: "2026-10-24T12:00:00Z",
    times: ["2026-10-25T01:30:00+01:00", "2026-10-26T01:30:00+00:00"],
  },
  {
    zone: "Europe/London",
    behaviour: "a second of the repeated hour runs in both passes of an expression for every hour",
    rule: "7 59 * * * *",
    from: "2026-10-25T00:00:00Z",
    times: ["2026-10-25T01:59:07+01:00", "2026-10-25T01:59:07+00:00", "2026-10-25T02:59:07+00:00"],
  },
  {
    zone: "Australia/Lord_Howe",
    behaviour: "a gap of half an hour ends after half an hour",
    rule: "15 2 * * *",
    from: "2026-10-03T12:00:00Z",
    times: ["2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"],
  },
  {
    zone: "Australia/Lord_Howe",
    behaviour: "a time outside the half hour is not skipped",
    rule: "45 2 * * *",
    from: "2026-10-03T12:00:00Z",
    times: ["2026-10-04T02:45:00+11:00"],
  },
  {
    zone: "Australia/Lord_Howe",
    behaviour: "a time in a repeated half hour runs the first time",
    rule: "45 1 * * *",
    from: "2026-04-04T12:00:00Z",
    times: ["2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"],
  },
  {
    zone: "Australia/Lord_Howe",
    behaviour: "an expression for every hour runs in both passes of the half hour",
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
    behaviour: "a zone without clock changes runs at each time",
    rule: "30 2 * * *",
    from: "2026-03-07T18:00:00Z",
    times: ["2026-03-09T02:30:00+09:00", "2026-03-10T02:30:00+09:00"],
  },
  {
    zone: "UTC",
    behaviour: "a zone without clock changes runs at each time",
    rule: "30 1,2 * * *",
    from: "2026-03-08T00:00:00Z",
    times: ["2026-03-08T01:30:00+00:00", "2026-03-08T02:30:00+00:00", "2026-03-09T01:30:00+00:00"],
  },
  {
    zone: "Africa/Cairo",
    behaviour: "a day whose midnight is skipped begins at one",
    rule: "@daily",
    from: "2026-04-23T12:00:00Z",
    times: ["2026-04-24T01:00:00+03:00", "2026-04-25T00:00:00+03:00"],
  },
  {
    zone: "Pacific/Apia",
    behaviour: "a day that is skipped, 30 December 2011, runs at its end",
    rule: "0 9 30 12 *",
    from: "2011-12-01T00:00:00Z",
    times: ["2011-12-31T00:00:00+14:00", "2012-12-30T09:00:00+14:00"],
  },
];

for (const { zone, behaviour, rule, from, times: expected } of CLOCK_CHANGES) {
  Deno.test(`CronRule in ${zone}, "${rule}": ${behaviour}`, () => {
    assertEquals(times(rule, zone, from, expected.length), expected);
  });
}

Deno.test("CronRule returns ascending times, from any moment", () => {
  for (const zone of ["America/New_York", "Europe/London", "Australia/Lord_Howe", "Africa/Cairo"]) {
    for (const text of ["*/7 1-3 * * *", "*/7 * * * *", "*/7 0 * * *"]) {
      const rule = new CronRule(text, zone);
      const begin = Date.UTC(2026, 0, 1);
      let last = rule.next(begin)!;
      for (let from = begin; from < Date.UTC(2027, 0, 1); from += 1_234_567) {
        const next = rule.next(from)!;
        assertEquals(next > from && next >= last, true, `${text} in ${zone} from ${new Date(from).toISOString()}`);
        last = next;
      }
    }
  }
});

/** The days that expressions match. January 2026 begins on a Thursday. */
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
  Deno.test(`CronRule "${rule}" matches the expected days`, () => {
    assertEquals(times(rule, "UTC", "2026-01-01T00:00:00Z", dates.length).map((time) => time.slice(0, 10)), dates);
  });
}

Deno.test("CronRule finds a day that occurs once in decades", () => {
  assertEquals(times("0 0 29 2 */4", "UTC", "2026-01-01T00:00:00Z", 2), [
    "2032-02-29T00:00:00+00:00",
    "2052-02-29T00:00:00+00:00",
  ]);
});

Deno.test("CronRule skips 2100, which has no 29 February", () => {
  const rule = new CronRule("0 0 29 2 *");
  assertEquals(rule.next(Date.UTC(2096, 5, 1)), Date.UTC(2104, 1, 29));
});

Deno.test("CronRule rejects an unknown zone, and accepts any spelling of a known one", () => {
  assertThrows(() => new CronRule("@daily", "Europe/Londn"), RangeError, `Unknown time zone "Europe/Londn"`);
  assertThrows(() => new CronRule("@daily", ""), RangeError, `Unknown time zone ""`);
  assertEquals(new CronRule("@daily", "europe/london").zone.name, "Europe/London");
});

/** Defines `next` of a rule with all hours: the first match within each period without a clock change, in turn. */
function nextByPeriods({ fields, zone }: CronRule, after: number): number | undefined {
  for (let from = after + 1;;) {
    const { offset, end } = zone.segmentAt(from);
    const wall = nextWall(fields, from + offset - 1);
    if (wall === undefined || wall - offset < end) return wall === undefined ? undefined : wall - offset;
    from = end;
  }
}

Deno.test("a sparse rule for every hour runs at the times that a search of each period finds", () => {
  const rules = ["0 * 29 2 */7", "30 * 25 10 *", "15 * * 3,10,11 */7", "*/20 * 1 11 */7", "45 * * * *", "0 * 5 4 *"];
  for (
    const zone of ["America/New_York", "Europe/London", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia"]
  ) {
    for (const text of rules) {
      const rule = new CronRule(text, zone);
      // From the hours around each clock change of five years, and from between them.
      for (let at = Date.UTC(2023, 0, 1); at < Date.UTC(2028, 0, 1);) {
        const { end } = rule.zone.segmentAt(at);
        if (end === Infinity) break;
        for (const hours of [-1_000, -34, -25, -1.5, -0.5, 0, 0.5, 1.5]) {
          const after = end + hours * 3_600_000;
          assertEquals(new CronRule(text, zone).next(after), nextByPeriods(rule, after), `${zone} ${text} ${after}`);
        }
        at = end;
      }
    }
  }
});

Deno.test("the next run of a sparse rule takes a few looks at the zone, and months of one form are computed once", () => {
  const zone = Zone.of("America/New_York");
  let looks = 0;
  let computed = 0;
  Object.defineProperty(zone, "segmentAt", {
    configurable: true,
    value: (instant: number) => (looks++, Zone.prototype.segmentAt.call(zone, instant)),
  });
  try {
    const rule = new CronRule("0 * 29 2 */7", zone.name);
    const next = rule.next(Date.UTC(2061, 0, 1))!;
    assertEquals(new Date(next).toISOString(), "2088-02-29T05:00:00.000Z");
    assert(looks <= 6, `${looks} looks`);
    const fields = { ...rule.fields };
    const { daysOfMonth } = fields;
    Object.defineProperty(fields, "daysOfMonth", { get: () => (computed++, daysOfMonth) });
    let wall = 0;
    for (let i = 0; i < 1_000; i++) wall = nextWall(fields, wall)!;
    // 29 days that begin on each weekday, and 28 days.
    assert(computed <= 14, `${computed} months`);
  } finally {
    delete (zone as { segmentAt?: unknown }).segmentAt;
  }
});

Deno.test("a plan after decades searches a bounded number of runs", () => {
  const rule = new CronRule("* * * * *", "America/New_York");
  const spec = { rule: rule.fields.normal, timezone: rule.zone.name };
  const shared = openSchedule(spec) as CronRule;
  let searches = 0;
  Object.defineProperty(shared, "next", {
    configurable: true,
    value: (after: number) => (searches++, CronRule.prototype.next.call(shared, after)),
  });
  try {
    const entry = { schedule: spec, catchUp: { policy: "last", windowMs: 1 } } as const;
    const planned = plan(entry, { schedule: spec, considered: Date.UTC(1976, 0) }, Date.UTC(2026, 5));
    assertEquals(planned.missed?.count, MAX_COUNTED);
    assert(searches < MAX_COUNTED + 200, `${searches} searches`);
  } finally {
    delete (shared as { next?: unknown }).next;
  }
});
