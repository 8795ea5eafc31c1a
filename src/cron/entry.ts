/**
 * An entry of the crontab: what its author writes, and what it is once checked.
 *
 * @module
 */
import type { OptionsOn } from "../job/options.ts";
import type { Occurrence, Overlap } from "./occurrence.ts";
import type { CatchUp, Planned } from "./plan.ts";
import type { ScheduleSpec } from "./schedule_spec.ts";

/**
 * A cron entry as it is written: in the configuration file, in code, or at the command line. It takes the options of its
 * jobs (`queue`, `retry`, …: docs/reference/job-options.md), which override those of the class.
 */
export interface CronEntryInput extends OptionsOn<"cron"> {
  /** Names the entry, and its occurrences for ever: a changed name is a new entry. */
  readonly name: string;
  /** When: five fields, six with seconds first, or `@daily` and the like. Either this or `every`. */
  readonly rule?: string;
  /** At equal distances: seconds, or `30s`, `5m`, `2h`, `1d`; at least a second. Counted from `anchor`. */
  readonly every?: number | string;
  /** For `every`: one of the times, ISO 8601 with its zone; default 1970-01-01T00:00Z. */
  readonly anchor?: string;
  /** The zone in which the rule is read; default `UTC`. */
  readonly timezone?: string;
  /** The class whose handler performs it; in code also what `defineJob` returned. */
  readonly class: string | { readonly class: string };
  /** What the handler is given; default nothing. */
  readonly args?: readonly unknown[];
  /** Further fields of the payload. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** A note for people. */
  readonly memo?: string;
  /** `false`: as if it were not there. In code a function, asked once. Default `true`. */
  readonly enable?: boolean | (() => boolean);
  /** Only where the environment (`-e`, `JOBS_ENV`) is one of these; default everywhere. */
  readonly environments?: string | readonly string[];
  /** While the job of the occurrence before is still there; default `allow`. */
  readonly overlap?: Overlap;
  /** `true` is `overlap: "skip"`. */
  readonly singleton?: boolean;
  /** What nobody was there for; default `last`. */
  readonly catchUp?: CatchUp["policy"];
  /** How late it may be caught up: seconds or duration; default an hour. */
  readonly catchUpWindow?: number | string;
  /** Each process performs it, itself and at once: for housekeeping. Default `false`: once, on any one. */
  readonly everyProcess?: boolean;
  /** `false` is `everyProcess: true`. */
  readonly onOneServer?: boolean;
}

/** An entry, checked. Plain JSON: this is what the store keeps. */
export interface CronEntry extends Planned {
  /** Names the entry. */
  readonly name: string;
  /** When. */
  readonly schedule: ScheduleSpec;
  /** The class whose handler performs it. */
  readonly class: string;
  /** What the handler is given. */
  readonly args: readonly unknown[];
  /** How its jobs are pushed, `queue` included; over what the class says. */
  readonly options: Readonly<Record<string, unknown>>;
  /** A note for people. */
  readonly memo?: string;
  /** While the job of the occurrence before is still there. */
  readonly overlap: Overlap;
  /** What nobody was there for. */
  readonly catchUp: CatchUp;
  /** Each process performs it, itself and at once. */
  readonly everyProcess: boolean;
}

/** What to push for an occurrence: a job request, as the enqueuer takes it. */
export interface OccurrenceRequest {
  readonly class: string;
  readonly args: readonly unknown[];
  readonly jid: string;
  readonly occurrence: Occurrence;
  readonly [option: string]: unknown;
}

/** The job request of an occurrence. */
export function occurrenceRequest(entry: CronEntry, jid: string, occurrence: Occurrence): OccurrenceRequest {
  return { ...entry.options, class: entry.class, args: entry.args, jid, occurrence };
}

/**
 * Defines an entry in code, with its type checked:
 *
 * ```ts
 * const nightly = defineCron({ name: "nightly", rule: "30 3 * * *", timezone: "Europe/London", class: "Report" });
 * ```
 */
export function defineCron(entry: CronEntryInput): CronEntryInput {
  return entry;
}
