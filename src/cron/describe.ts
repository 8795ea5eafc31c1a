/**
 * Describes schedules in plain words: `at 03:30 on weekdays, Europe/London`.
 *
 * @module
 */
import type { DayOfMonth, DayOfWeek, RuleFields } from "./calendar.ts";
import type { CronRule } from "./rule.ts";

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const NTH = ["first", "second", "third", "fourth", "fifth"];
/** Up to this many times of day are listed one by one. More are described as minutes and hours. */
const MAX_LISTED_TIMES = 4;

/** Describes a cron expression, with its zone. */
export function describeRule(rule: CronRule): string {
  const { fields, zone } = rule;
  const time = describeTime(fields);
  const days = describeDays(fields) || (/^at [0-9]/.test(time) ? "every day" : "");
  return `${[time, days, describeMonths(fields)].filter((phrase) => phrase !== "").join(" ")}, ${zone.name}`;
}

/** Describes an interval: `every 90 seconds`, `every hour`. */
export function describeInterval(everyMs: number): string {
  const units: [name: string, ms: number][] = [["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000]];
  const [name, ms] = units.find(([, ms]) => everyMs % ms === 0) ?? ["second", 1_000];
  return every(everyMs / ms, name);
}

function describeTime({ seconds, minutes, hours }: RuleFields): string {
  if (seconds.length * minutes.length * hours.length <= MAX_LISTED_TIMES) {
    return `at ${list(hours.flatMap((h) => minutes.flatMap((m) => seconds.map((s) => clock(h, m, s)))))}`;
  }
  const onTheMinute = seconds.length === 1 && seconds[0] === 0;
  if (onTheMinute && minutes.length === 1 && minutes[0] === 0) return describeHours(hours);
  const phrases: string[] = [];
  if (!onTheMinute) phrases.push(describeSteps(seconds, 60, "second"));
  const everyMinute = minutes.length === 60;
  if (onTheMinute || !everyMinute) phrases.push(describeSteps(minutes, 60, "minute"));
  else if (stepOf(seconds, 60) === undefined) phrases.push("of every minute");
  if (hours.length < 24) phrases.push(describeSpan(hours));
  else if (stepOf(minutes, 60) === undefined) phrases.push("of every hour");
  return phrases.join(" ");
}

/** Returns `every 5 minutes` for equal steps around the whole circle, otherwise `at minutes 7 and 20`. */
function describeSteps(values: readonly number[], circle: number, unit: string): string {
  const step = stepOf(values, circle);
  if (step !== undefined) return every(step, unit);
  return `at ${unit}${values.length > 1 ? "s" : ""} ${list(runs(values, String))}`;
}

/** Describes full hours: `every 2 hours`, `every hour from 09:00 to 17:00`, `at 01:00, 05:00 and 07:00`. */
function describeHours(hours: readonly number[]): string {
  const step = distanceOf(hours);
  if (step === undefined) return `at ${list(hours.map((hour) => clock(hour, 0, 0)))}`;
  const isWholeDay = stepOf(hours, 24) !== undefined;
  return every(step, "hour") + (isWholeDay ? "" : ` from ${clock(hours[0]!, 0, 0)} to ${clock(hours.at(-1)!, 0, 0)}`);
}

/** Describes the hours in which minutes or seconds match. */
function describeSpan(hours: readonly number[]): string {
  if (hours.length === 1 || distanceOf(hours) === 1) {
    return `from ${clock(hours[0]!, 0, 0)} to ${clock(hours.at(-1)!, 59, 0)}`;
  }
  const step = stepOf(hours, 24);
  return step === undefined ? `of the hours ${list(runs(hours, String))}` : `of every ${ordinal(step)} hour`;
}

function describeDays({ daysOfMonth, daysOfWeek, eitherDay }: RuleFields): string {
  const byDate = everyDay(daysOfMonth, "day", 31) ? "" : describeDates(daysOfMonth);
  const byWeekday = everyDay(daysOfWeek, "weekday", 7) ? "" : describeWeekdays(daysOfWeek);
  if (byDate === "" || byWeekday === "") {
    // One of the two fields matches every day, and either field suffices.
    return eitherDay ? "" : byDate + byWeekday;
  }
  return eitherDay ? `${byDate} and ${byWeekday}` : `${byDate}, only ${byWeekday}`;
}

function everyDay(days: readonly (DayOfMonth | DayOfWeek)[], kind: "day" | "weekday", count: number): boolean {
  return days.filter((day) => day.kind === kind).length === count;
}

function describeDates(days: readonly DayOfMonth[]): string {
  const numbers = days.flatMap((day) => day.kind === "day" ? [day.day] : []);
  const step = numbers.length > MAX_LISTED_TIMES ? distanceOf(numbers) ?? 1 : 1;
  const phrases = step > 1
    ? [`every ${ordinal(step)} day from the ${ordinal(numbers[0]!)} to the ${ordinal(numbers.at(-1)!)}`]
    : numbers.length > 0
    ? [`the ${list(runs(numbers, ordinal))}`]
    : [];
  for (const day of days) {
    if (day.kind === "last") {
      phrases.push(
        day.back === 0 ? "the last day" : `the ${day.back === 1 ? "day" : `${ordinal(day.back)} day`} before the last`,
      );
    } else if (day.kind === "nearestWeekday") {
      phrases.push(day.day === "last" ? "the last weekday" : `the weekday nearest the ${ordinal(day.day)}`);
    }
  }
  return `on ${list(phrases)} of the month`;
}

function describeWeekdays(days: readonly DayOfWeek[]): string {
  const numbers = days.flatMap((day) => day.kind === "weekday" ? [day.weekday] : []);
  const phrases = numbers.length > 0 ? [describeWeek(numbers)] : [];
  for (const day of days) {
    if (day.kind === "weekday") continue;
    phrases.push(`the ${day.kind === "last" ? "last" : NTH[day.n - 1]} ${WEEKDAYS[day.weekday]} of the month`);
  }
  return `on ${list(phrases)}`;
}

function describeWeek(weekdays: readonly number[]): string {
  const key = weekdays.join("");
  if (key === "12345") return "weekdays";
  if (key === "06") return "weekends";
  // Weeks begin on Monday.
  const fromMonday = weekdays.map((weekday) => (weekday + 6) % 7).sort((a, b) => a - b);
  return list(runs(fromMonday, (weekday) => WEEKDAYS[(weekday + 1) % 7]!));
}

function describeMonths({ months }: RuleFields): string {
  return months.length === 12 ? "" : `in ${list(runs(months, (month) => MONTHS[month - 1]!))}`;
}

/** Returns the step if the values are equal steps from 0 around the whole circle; otherwise undefined. */
function stepOf(values: readonly number[], circle: number): number | undefined {
  const step = circle / values.length;
  return values.length > 1 && values.every((value, index) => value === index * step) ? step : undefined;
}

/** Returns the distance between neighbours if there are three or more values and all distances are equal. */
function distanceOf(values: readonly number[]): number | undefined {
  const distance = values[1]! - values[0]!;
  const isEven = values.every((value, index) => index === 0 || value - values[index - 1]! === distance);
  return values.length > 2 && isEven ? distance : undefined;
}

/** Writes three or more consecutive values as `a through b`. */
function runs(values: readonly number[], name: (value: number) => string): string[] {
  const phrases: string[] = [];
  for (let index = 0; index < values.length;) {
    let end = index;
    while (values[end + 1] === values[end]! + 1) end++;
    if (end - index >= 2) {
      phrases.push(`${name(values[index]!)} through ${name(values[end]!)}`);
      index = end + 1;
    } else phrases.push(name(values[index++]!));
  }
  return phrases;
}

function every(count: number, unit: string): string {
  return count === 1 ? `every ${unit}` : `every ${count} ${unit}s`;
}

function list(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join() : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

function clock(hour: number, minute: number, second: number): string {
  const parts = second === 0 ? [hour, minute] : [hour, minute, second];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

function ordinal(value: number): string {
  const ending = Math.floor(value / 10) % 10 === 1 ? undefined : ["st", "nd", "rd"][value % 10 - 1];
  return `${value}${ending ?? "th"}`;
}

/** Entries with a prefix, a tag or both. */
export interface CronFilterWords {
  readonly prefix?: string | undefined;
  readonly tag?: string | undefined;
}

/** Returns the words for a filter: `prefix acme:, tag reports`. */
export function filterText({ prefix, tag }: CronFilterWords): string {
  return [prefix && `prefix ${prefix}`, tag && `tag ${tag}`].filter(Boolean).join(", ");
}
