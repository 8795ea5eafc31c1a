/**
 * A schedule as data: what an entry says of it and what is kept in the store.
 *
 * @module
 */
import { describeInterval, describeRule } from "./describe.ts";
import { Interval } from "./interval.ts";
import { CronRule } from "./rule.ts";
import type { Schedule } from "./schedule.ts";

/** A rule in a zone, or an interval. Two that are spelled differently and mean the same are equal. */
export type ScheduleSpec =
  /** `rule` is in six fields, upper case (`RuleFields.normal`); `timezone` as the database spells it. */
  | { readonly rule: string; readonly timezone: string }
  /** Every so many milliseconds, counted from a time. */
  | { readonly everyMs: number; readonly anchor: number };

/** The schedule that it says. */
export function openSchedule(spec: ScheduleSpec): Schedule {
  return "rule" in spec ? new CronRule(spec.rule, spec.timezone) : new Interval(spec.everyMs, spec.anchor);
}

/** Whether two say the same. */
export function isSameSchedule(one: ScheduleSpec, other: ScheduleSpec): boolean {
  if ("rule" in one) return "rule" in other && one.rule === other.rule && one.timezone === other.timezone;
  return "everyMs" in other && one.everyMs === other.everyMs && one.anchor === other.anchor;
}

/** It in plain words. */
export function describeSchedule(spec: ScheduleSpec): string {
  return "rule" in spec ? describeRule(new CronRule(spec.rule, spec.timezone)) : describeInterval(spec.everyMs);
}
