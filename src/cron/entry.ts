/**
 * A cron entry: as its author writes it, and as it is stored.
 *
 * @module
 */
import type { OptionsOn } from "../job/options.ts";
import type { Occurrence, Overlap } from "./occurrence.ts";
import type { CatchUp, Planned } from "./plan.ts";
import type { ScheduleSpec } from "./schedule_spec.ts";

/**
 * A cron entry as its author writes it: in the configuration file, in code, or on the command line. It takes the options of its
 * jobs (`queue`, `retry`, …: docs/reference/job-options.md), which override those of the class.
 *
 * @example
 * ```ts
 * import { type CronEntryInput } from "@jobs/jobs";
 *
 * const entry: CronEntryInput = { name: "report", rule: "0 6 * * 1-5", timezone: "Europe/London", class: "Report" };
 * ```
 */
export interface CronEntryInput extends OptionsOn<"cron"> {
  /** Names the entry and its runs. An entry whose name changes is a new entry. */
  readonly name: string;
  /** The cron expression: five fields, six with seconds first, or `@daily` and similar. Either this or `every`. */
  readonly rule?: string;
  /** The interval: seconds, or `30s`, `5m`, `2h`, `1d`; at least a second. Counted from `anchor`. */
  readonly every?: number | string;
  /** For `every`: one of the times, ISO 8601 with its zone. Default 1970-01-01T00:00Z. */
  readonly anchor?: string;
  /** The time zone of the cron expression. Default `UTC`. */
  readonly timezone?: string;
  /** Runs begin here: ISO 8601 with its zone. Default: at once. */
  readonly start?: string;
  /** No run after this time: ISO 8601 with its zone. Default: none. */
  readonly end?: string;
  /** The number of runs from `start`, instead of `end`; at most 1,000, within 100 years. */
  readonly count?: number;
  /** Shifts each run by a time up to this, which follows from the name: seconds or a duration, at most a day. Default: none. */
  readonly spread?: number | string;
  /** The job class to push: its name; in code also a class that `defineJob` returned. */
  readonly class: string | { readonly class: string };
  /** The arguments of the job. Default none. */
  readonly args?: readonly unknown[];
  /** Further fields of the payload. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** A note for people. */
  readonly memo?: string;
  /** `false` switches the entry off. In code also a function, which is called once. Default `true`. */
  readonly enable?: boolean | (() => boolean);
  /** The entry is active only in these environments (`-e`, `JOBS_ENV`). Default: in all. */
  readonly environments?: string | readonly string[];
  /** The treatment of a run while the job of the previous run hasn't ended. Default `allow`. */
  readonly overlap?: Overlap;
  /** `true` means `overlap: "skip"`. */
  readonly singleton?: boolean;
  /** Which of the runs that were missed while no worker was up to catch up. Default `last`. */
  readonly catchUp?: CatchUp["policy"];
  /** A run is caught up if it is at most this late: seconds or a duration. Default an hour. */
  readonly catchUpWindow?: number | string;
  /** Every worker performs each run itself, without a queue: for housekeeping. Default `false`: one worker performs it. */
  readonly everyProcess?: boolean;
  /** `false` means `everyProcess: true`. */
  readonly onOneServer?: boolean;
}

/** A checked entry, as the store keeps it. Plain JSON. */
export interface CronEntry extends Planned {
  /** Names the entry. */
  readonly name: string;
  /** When it runs. */
  readonly schedule: ScheduleSpec;
  /** The job class to push. */
  readonly class: string;
  /** The arguments of the job. */
  readonly args: readonly unknown[];
  /** The options of its jobs. They override the options of the class. */
  readonly options: Readonly<Record<string, unknown>>;
  /** A note for people. */
  readonly memo?: string;
  /** The treatment of a run while the job of the previous run hasn't ended. */
  readonly overlap: Overlap;
  /** Which missed runs to catch up. */
  readonly catchUp: CatchUp;
  /** Whether every worker performs each run itself. */
  readonly everyProcess: boolean;
}

/** The request that pushes the job of a run. */
export interface OccurrenceRequest {
  readonly class: string;
  readonly args: readonly unknown[];
  readonly jid: string;
  readonly occurrence: Occurrence;
  readonly [option: string]: unknown;
}

/** Returns the request that pushes the job of a run. */
export function occurrenceRequest(entry: CronEntry, jid: string, occurrence: Occurrence): OccurrenceRequest {
  return { ...entry.options, class: entry.class, args: entry.args, jid, occurrence };
}

/**
 * Returns an entry unchanged, with its type checked by the compiler:
 *
 * ```ts
 * import { defineCron } from "@jobs/jobs";
 *
 * const nightly = defineCron({ name: "nightly", rule: "30 3 * * *", timezone: "Europe/London", class: "Report" });
 * ```
 *
 * @example
 * ```ts
 * import { defineCron, defineJob } from "@jobs/jobs";
 *
 * const Clean = defineJob("Clean", () => {});
 * const nightly = defineCron({ name: "nightly", rule: "30 3 * * *", timezone: "Europe/London", class: Clean });
 * ```
 */
export function defineCron(entry: CronEntryInput): CronEntryInput {
  return entry;
}
