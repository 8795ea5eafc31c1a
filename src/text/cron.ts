/**
 * Cron entries and their runs, as the command line, the dashboard and the HTTP API show them.
 *
 * @module
 */
import type { CrontabEntry } from "../client/crontab_entry.ts";
import type { CronRecord } from "../cron/occurrence.ts";
import type { EndedRun } from "../operator/query/cron_ends.ts";
import type { LastSet } from "../store/admin/audit.ts";
import type { WorkerInfo } from "../store/port/workers.ts";
import type { entryShape, runShape } from "../operator/shapes/cron.ts";
import type { JsonOf } from "../operator/shapes/shape.ts";
import { formatDuration } from "../job/duration.ts";
import { type Columns, timeColumn } from "./columns.ts";
import { argsText } from "./job_text.ts";
import { pausedSince } from "./queues.ts";
import { isoTime, localMinute, localTime, relative } from "./times.ts";
import { describeSchedule, type ScheduleSpec } from "../cron/schedule_spec.ts";

/** An entry in a list. */
export interface CronRow extends CrontabEntry {
  /** No worker is online: its next run won't take place. */
  readonly isIdle?: boolean;
  /** The event that paused it, as far as the audit log goes back. */
  readonly pause?: LastSet | undefined;
}

/** Replaces the times of runs that won't take place. */
export const NO_WORKER = "no worker is running";

/** Returns whether no online worker enqueues runs: none is, or only those of Sidekiq, which have no interval of heartbeats. */
export function noneSchedules(workers: readonly Pick<WorkerInfo, "alive" | "heartbeatMs">[]): boolean {
  return !workers.some(({ alive, heartbeatMs }) => alive && heartbeatMs !== undefined);
}

/** The columns of a list of entries. */
export const CRON_COLUMNS = {
  name: { text: ({ name }) => name, is: "whole" },
  schedule: { text: ({ definition }) => definition && describeSchedule(definition.schedule) },
  "next run": { text: (entry, now) => nextText(entry, now), is: "whole" },
  "last run": { text: ({ last }, now) => last && `${last.outcome} ${relative(last.decidedAt, now)}`, is: "optional" },
  job: { text: ({ definition }) => definition && `${definition.class}(${argsText(definition.args)})` },
  memo: { text: ({ definition }) => definition?.memo, is: "optional" },
} as const satisfies Columns<CronRow>;

/** The columns of a list of runs. */
export const RUN_COLUMNS = {
  scheduled: timeColumn(({ scheduledAt }) => scheduledAt, "whole"),
  outcome: { text: (record) => outcomeOf(record), isState: true },
  late: {
    text: ({ outcome, scheduledAt, decidedAt }) =>
      outcome === "enqueued" ? formatDuration(Math.max(0, decidedAt - scheduledAt)) : undefined,
    isAmount: true,
  },
  jid: { text: ({ jid }) => jid, is: "whole" },
} as const satisfies Columns<CronRecord>;

/** The columns of a list of runs with the ends of their jobs. */
export const ENDED_RUN_COLUMNS = {
  ...RUN_COLUMNS,
  "job ended": { text: ({ jobEnded }) => jobEnded, isState: true },
  took: { text: ({ jobElapsedMs: ms }) => ms === undefined ? undefined : formatDuration(ms), isAmount: true },
  error: { text: ({ jobError }) => jobError },
} as const satisfies Columns<EndedRun>;

function nextText({ next, definition, state, isLoaded, isIdle, pause }: CronRow, now: number): string {
  if (definition === undefined) return "unknown format";
  if (isIdle && next !== undefined) return NO_WORKER;
  if (next === undefined) return state?.paused ? `paused${pausedSince(pause, now)}` : isLoaded ? "none" : "not loaded";
  const zone = zoneOf(definition.schedule);
  const isLocal = zone === undefined || localMinute(next, zone) === localMinute(next);
  return isLocal ? localTime(next, now) : `${relative(next, now)} (${localMinute(next, zone)} ${zone})`;
}

/** Returns the outcome of a run, with its reason. */
export function outcomeOf({ outcome, count, first, reason }: CronRecord): string {
  if (outcome === "missed" && (count ?? 1) > 1) {
    return `${count} missed${first === undefined ? "" : ` since ${utc(first)}`}`;
  }
  return reason === undefined ? outcome : `${outcome}: ${reason}`;
}

/** Returns an entry as JSON. */
export function cronEntryJson(entry: CronRow): JsonOf<typeof entryShape> {
  const { name, definition, state, next, live, isLoaded, last } = entry;
  return {
    name,
    ...definition,
    when: definition && describeSchedule(definition.schedule),
    next: isoTime(next),
    local: next === undefined ? undefined : inZone(next, definition!.schedule),
    paused: state?.paused ?? false,
    pause: state?.paused ? pauseJson(entry.pause) : undefined,
    waiting: isoTime(state?.waiting),
    live,
    loaded: isLoaded,
    counts: state?.counts ?? {},
    last: last && cronRecordJson(last),
  };
}

/** Returns the pause of an entry as JSON. @param set the event that paused it, if it is known */
export function pauseJson(set: LastSet | undefined): NonNullable<JsonOf<typeof entryShape>["pause"]> {
  return { since: isoTime(set?.at), by: set?.user };
}

/** Returns a run as JSON. */
export function cronRecordJson({ scheduledAt, decidedAt, first, ...rest }: EndedRun): JsonOf<typeof runShape> {
  return {
    ...rest,
    scheduledAt: isoTime(scheduledAt),
    decidedAt: isoTime(decidedAt),
    first: isoTime(first),
  };
}

/** Returns the time zone of a schedule; undefined for an interval. */
export function zoneOf(schedule: ScheduleSpec): string | undefined {
  return "rule" in schedule ? schedule.timezone : undefined;
}

/** Returns a time in the zone of its cron expression; in UTC for an interval. */
export function inZone(at: number, schedule: ScheduleSpec): string {
  if (!("rule" in schedule)) return utc(at);
  const zoned = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(schedule.timezone);
  return zoned.toString({ smallestUnit: "second", timeZoneName: "never" });
}

/** Returns epoch milliseconds as ISO 8601 in UTC; empty if it isn't a valid time. */
export function utc(at: number): string {
  return isoTime(at) ?? "";
}
