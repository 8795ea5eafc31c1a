/**
 * Finds the wall times that the fields of a cron expression match. A wall time is epoch milliseconds, read as UTC; this
 * file ignores time zones.
 *
 * @module
 */

/** A day of a month, as a cron expression names it. */
export type DayOfMonth =
  | { readonly kind: "day"; readonly day: number }
  /** `back` days before the last of the month. */
  | { readonly kind: "last"; readonly back: number }
  /** The weekday nearest to `day`, in the same month. */
  | { readonly kind: "nearestWeekday"; readonly day: number | "last" };

/** A day of the week, as a cron expression names it. Sunday is 0. */
export type DayOfWeek =
  | { readonly kind: "weekday"; readonly weekday: number }
  /** The `n`-th of the month, counted from 1. */
  | { readonly kind: "nth"; readonly weekday: number; readonly n: number }
  /** The last of the month. */
  | { readonly kind: "last"; readonly weekday: number };

/** A parsed cron expression. Lists of numbers are ascending and have no duplicates. */
export interface RuleFields {
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** January is 1. */
  readonly months: readonly number[];
  readonly daysOfMonth: readonly DayOfMonth[];
  readonly daysOfWeek: readonly DayOfWeek[];
  /** Whether a day matches if either field matches. Otherwise both must match. */
  readonly eitherDay: boolean;
  /** Six fields in upper case, separated by one space: equal for expressions that differ only in spelling. */
  readonly normal: string;
}

/** The Gregorian calendar, with its weekdays, repeats after this many years: fields without a match by then never match. */
const CYCLE_YEARS = 400;

/** The matching days of months, by the length and the first weekday of the month: at most 28 lists for each expression. */
const knownDays = new WeakMap<RuleFields, (readonly number[])[]>();

/** Returns the first matching wall time later than `after`, in whole seconds; undefined if the fields never match. */
export function nextWall(fields: RuleFields, after: number): number | undefined {
  const from = new Date(Math.floor(after / 1_000) * 1_000 + 1_000);
  const year = from.getUTCFullYear();
  const month = from.getUTCMonth() + 1;
  const today = from.getUTCDate();
  const days = matchingDays(fields, year, month);
  if (days.includes(today)) {
    const time = timeFrom(fields, from.getUTCHours(), from.getUTCMinutes(), from.getUTCSeconds());
    if (time !== undefined) return Date.UTC(year, month - 1, today) + time;
  }
  const day = firstDay(fields, year, month, today + 1);
  return day === undefined ? undefined : day + timeFrom(fields, 0, 0, 0)!;
}

/** Returns midnight of the first matching day, from the given day. */
function firstDay(fields: RuleFields, year: number, month: number, from: number): number | undefined {
  for (let ahead = 0; ahead <= CYCLE_YEARS * 12; ahead++) {
    const months = month - 1 + ahead;
    const inYear = year + Math.floor(months / 12);
    const inMonth = months % 12 + 1;
    const day = matchingDays(fields, inYear, inMonth).find((day) => ahead > 0 || day >= from);
    if (day !== undefined) return Date.UTC(inYear, inMonth - 1, day);
  }
  return undefined;
}

/** Returns the first matching time of day, from the given time, in milliseconds since midnight. */
function timeFrom(fields: RuleFields, hour: number, minute: number, second: number): number | undefined {
  for (const h of fields.hours) {
    if (h < hour) continue;
    for (const m of fields.minutes) {
      if (h === hour && m < minute) continue;
      const s = fields.seconds.find((s) => h > hour || m > minute || s >= second);
      if (s !== undefined) return ((h * 60 + m) * 60 + s) * 1_000;
    }
  }
  return undefined;
}

/** Returns the matching days of a month, ascending. */
function matchingDays(fields: RuleFields, year: number, month: number): readonly number[] {
  if (!fields.months.includes(month)) return [];
  const length = new Date(Date.UTC(year, month, 0)).getUTCDate();
  /** The weekday of the last day of the previous month. */
  const base = new Date(Date.UTC(year, month - 1, 0)).getUTCDay();
  let lists = knownDays.get(fields);
  if (lists === undefined) knownDays.set(fields, lists = []);
  return lists[length * 7 + base] ??= daysOf(fields, length, base);
}

function daysOf(fields: RuleFields, length: number, base: number): number[] {
  const byDay = new Set(fields.daysOfMonth.map((day) => dayInMonth(day, length, base)));
  const byWeekday = new Set(fields.daysOfWeek.flatMap((day) => weekdaysInMonth(day, length, base)));
  const matches = fields.eitherDay
    ? (day: number) => byDay.has(day) || byWeekday.has(day)
    : (day: number) => byDay.has(day) && byWeekday.has(day);
  return Array.from({ length }, (_, index) => index + 1).filter(matches);
}

/** Returns the day of a month that matches; a number outside the month if the month has no such day. */
function dayInMonth(field: DayOfMonth, length: number, base: number): number {
  if (field.kind === "day") return field.day;
  if (field.kind === "last") return length - field.back;
  const day = field.day === "last" ? length : field.day;
  if (day > length) return day;
  const weekday = (base + day) % 7;
  if (weekday === 6) return day === 1 ? 3 : day - 1;
  if (weekday === 0) return day === length ? day - 2 : day + 1;
  return day;
}

function weekdaysInMonth(field: DayOfWeek, length: number, base: number): number[] {
  const first = (field.weekday - base + 6) % 7 + 1;
  const all = [first, first + 7, first + 14, first + 21, first + 28].filter((day) => day <= length);
  if (field.kind === "weekday") return all;
  return field.kind === "last" ? all.slice(-1) : all.slice(field.n - 1, field.n);
}
