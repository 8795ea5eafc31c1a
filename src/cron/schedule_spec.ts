/**
 * A schedule as data, as entries and the store have it.
 *
 * @module
 */
import { describeInterval, describeRule } from "./describe.ts";
import { Interval } from "./interval.ts";
import { CronRule } from "./rule.ts";
import type { Schedule } from "./schedule.ts";

/** A cron expression in a zone, or an interval. Spellings with the same meaning are equal. */
export type ScheduleSpec =
  /** `rule` has six fields in upper case (`RuleFields.normal`). `timezone` is spelled as in the IANA database. */
  | { readonly rule: string; readonly timezone: string }
  /** Every `everyMs` milliseconds, counted from `anchor`. */
  | { readonly everyMs: number; readonly anchor: number };

/** Returns the schedule. */
export function openSchedule(spec: ScheduleSpec): Schedule {
  return "rule" in spec ? new CronRule(spec.rule, spec.timezone) : new Interval(spec.everyMs, spec.anchor);
}

/** Returns whether two schedules are the same. */
export function isSameSchedule(one: ScheduleSpec, other: ScheduleSpec): boolean {
  if ("rule" in one) return "rule" in other && one.rule === other.rule && one.timezone === other.timezone;
  return "everyMs" in other && one.everyMs === other.everyMs && one.anchor === other.anchor;
}

/** Returns a schedule in plain words: `at 03:30 on weekdays, Europe/London`. */
export function describeSchedule(spec: ScheduleSpec): string {
  return "rule" in spec ? describeRule(new CronRule(spec.rule, spec.timezone)) : describeInterval(spec.everyMs);
}
