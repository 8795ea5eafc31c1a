/**
 * The wall times that a rule's fields match. Zones are not known here: a wall time is epoch milliseconds, read in UTC.
 *
 * @module
 */

/** A day of a month, as a rule names it. */
export type DayOfMonth =
  | { readonly kind: "day"; readonly day: number }
  /** `back` days before the last of the month. */
  | { readonly kind: "last"; readonly back: number }
  /** The weekday nearest to `day`, in the same month. */
  | { readonly kind: "nearestWeekday"; readonly day: number | "last" };

/** A day of the week, as a rule names it; Sunday is 0. */
export type DayOfWeek =
  | { readonly kind: "weekday"; readonly weekday: number }
  /** The `n`-th of the month, counted from 1. */
  | { readonly kind: "nth"; readonly weekday: number; readonly n: number }
  /** The last of the month. */
  | { readonly kind: "last"; readonly weekday: number };

/** A rule, read. Lists of numbers are ascending and without repetition. */
export interface RuleFields {
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** January is 1. */
  readonly months: readonly number[];
  readonly daysOfMonth: readonly DayOfMonth[];
  readonly daysOfWeek: readonly DayOfWeek[];
  /** A day matches when the day of month or the day of week does. Else both must. */
  readonly eitherDay: boolean;
  /** The rule in six fields, one space between, upper case: equal for rules that differ in spelling only. */
  readonly normal: string;
}

/** After so many years the Gregorian calendar repeats, weekdays included: what has not matched by then never does. */
const CYCLE_YEARS = 400;

/** The first matching wall time later than `after`, in whole seconds; undefined when the fields never match. */
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

/** Midnight of the first matching day from the given one on. */
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

/** Milliseconds since midnight of the first matching time of day from the given one on. */
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

/** The matching days of a month, ascending. */
function matchingDays(fields: RuleFields, year: number, month: number): number[] {
  if (!fields.months.includes(month)) return [];
  const length = new Date(Date.UTC(year, month, 0)).getUTCDate();
  /** Weekday of the day before the first. */
  const base = new Date(Date.UTC(year, month - 1, 0)).getUTCDay();
  const byDay = new Set(fields.daysOfMonth.map((day) => dayInMonth(day, length, base)));
  const byWeekday = new Set(fields.daysOfWeek.flatMap((day) => weekdaysInMonth(day, length, base)));
  const matches = fields.eitherDay
    ? (day: number) => byDay.has(day) || byWeekday.has(day)
    : (day: number) => byDay.has(day) && byWeekday.has(day);
  return Array.from({ length }, (_, index) => index + 1).filter(matches);
}

/** Which day of a month is meant; one outside the month when it has no such day. */
function dayInMonth(wanted: DayOfMonth, length: number, base: number): number {
  if (wanted.kind === "day") return wanted.day;
  if (wanted.kind === "last") return length - wanted.back;
  const day = wanted.day === "last" ? length : wanted.day;
  if (day > length) return day;
  const weekday = (base + day) % 7;
  if (weekday === 6) return day === 1 ? 3 : day - 1;
  if (weekday === 0) return day === length ? day - 2 : day + 1;
  return day;
}

function weekdaysInMonth(wanted: DayOfWeek, length: number, base: number): number[] {
  const first = (wanted.weekday - base + 6) % 7 + 1;
  const all = [first, first + 7, first + 14, first + 21, first + 28].filter((day) => day <= length);
  if (wanted.kind === "weekday") return all;
  return wanted.kind === "last" ? all.slice(-1) : all.slice(wanted.n - 1, wanted.n);
}
