/**
 * A schedule as data, as entries and the store have it.
 *
 * @module
 */
import { areSameBounds, BoundedSchedule, describeBounds, isBounded, type ScheduleBounds } from "./bounds.ts";
import { describeInterval, describeRule } from "./describe.ts";
import { CronRule } from "./rule.ts";
import type { Schedule } from "./schedule.ts";

/** A cron expression in a zone, or an interval, with bounds. Spellings with the same meaning are equal. */
export type ScheduleSpec = ScheduleBounds & ScheduleTimes;

/** A cron expression in a zone, or an interval. */
export type ScheduleTimes =
  /** `rule` has six fields in upper case (`RuleFields.normal`). `timezone` is spelled as in the IANA database. */
  | { readonly rule: string; readonly timezone: string }
  /** Every `everyMs` milliseconds, counted from `anchor`. */
  | { readonly everyMs: number; readonly anchor: number };

/** Rules that are kept. Each takes about 2 KB. */
const MAX_RULES = 1_000;
const rules = new Map<string, CronRule>();

/** Returns the schedule. Entries with the same rule and zone share one, with what it has computed. */
export function openSchedule(spec: ScheduleSpec): Schedule {
  const schedule = "rule" in spec ? openRule(spec.rule, spec.timezone) : new Interval(spec.everyMs, spec.anchor);
  return isBounded(spec) ? new BoundedSchedule(schedule, spec) : schedule;
}

function openRule(rule: string, timezone: string): CronRule {
  const key = `${timezone} ${rule}`;
  let known = rules.get(key);
  if (known === undefined) {
    known = new CronRule(rule, timezone);
    // The first is the one that was made first: a rule that is used again is made again, which is cheap enough.
    if (rules.size >= MAX_RULES) rules.delete(rules.keys().next().value!);
    rules.set(key, known);
  }
  return known;
}

/** Returns whether two schedules are the same. */
export function isSameSchedule(one: ScheduleSpec, other: ScheduleSpec): boolean {
  if (!areSameBounds(one, other)) return false;
  if ("rule" in one) return "rule" in other && one.rule === other.rule && one.timezone === other.timezone;
  return "everyMs" in other && one.everyMs === other.everyMs && one.anchor === other.anchor;
}

/** Returns a schedule in plain words: `at 03:30 on weekdays, Europe/London`. */
export function describeSchedule(spec: ScheduleSpec): string {
  const times = "rule" in spec ? describeRule(openRule(spec.rule, spec.timezone)) : describeInterval(spec.everyMs);
  return times + describeBounds(spec);
}

/**
 * A schedule with a fixed interval: `every: 30s`. It counts from a fixed moment and not from the start of a worker, so that all
 * hosts agree on the times. It counts elapsed time, so daylight saving doesn't affect it.
 */
export class Interval implements Schedule {
  readonly everyMs: number;
  /** One of the times. */
  readonly anchor: number;

  /**
   * @param everyMs the interval in milliseconds, at least 1
   * @param anchor one of the times. Default: the epoch, so that `1h` is each full hour of UTC
   */
  constructor(everyMs: number, anchor = 0) {
    this.everyMs = everyMs;
    this.anchor = anchor;
  }

  next(after: number): number {
    return this.anchor + (Math.floor((after - this.anchor) / this.everyMs) + 1) * this.everyMs;
  }
}
