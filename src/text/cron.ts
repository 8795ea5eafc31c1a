/**
 * The crontab, as the command line and the dashboard tell of it.
 *
 * @module
 */
import type { CrontabEntry } from "../client/crontab.ts";
import type { CronRecord } from "../cron/occurrence.ts";
import { describeSchedule, type ScheduleSpec } from "../cron/schedule_spec.ts";

/** What became of an occurrence, and why. */
export function outcomeOf({ outcome, count, first, reason }: CronRecord): string {
  if (outcome === "missed" && (count ?? 1) > 1) return `${count} missed since ${utc(first!)}`;
  return reason === undefined ? outcome : `${outcome}: ${reason}`;
}

/** An entry as JSON, the same wherever it is printed. */
export function cronEntryJson(entry: CrontabEntry): Record<string, unknown> {
  const { name, definition, state, next, live, isCarried, last } = entry;
  return {
    name,
    ...definition,
    when: definition && describeSchedule(definition.schedule),
    next: next === undefined ? undefined : utc(next),
    local: next === undefined ? undefined : inZone(next, definition!.schedule),
    paused: state?.paused ?? false,
    waiting: state?.waiting === undefined ? undefined : utc(state.waiting),
    live,
    carried: isCarried,
    counts: state?.counts ?? {},
    last: last && cronRecordJson(last),
  };
}

/** What became of an occurrence, as JSON. */
export function cronRecordJson({ scheduledAt, decidedAt, first, ...rest }: CronRecord): Record<string, unknown> {
  return {
    ...rest,
    scheduledAt: utc(scheduledAt),
    decidedAt: utc(decidedAt),
    first: first === undefined ? undefined : utc(first),
  };
}

/** In the rule's zone, so that it can be checked against the rule; `every` has none. */
export function inZone(at: number, schedule: ScheduleSpec): string {
  if (!("rule" in schedule)) return utc(at);
  const zoned = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(schedule.timezone);
  return zoned.toString({ smallestUnit: "second", timeZoneName: "never" });
}

/** As ISO 8601. */
export function utc(at: number): string {
  return new Date(at).toISOString();
}
