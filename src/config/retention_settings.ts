/**
 * How long dead and finished jobs are kept: part of the table in `settings.ts`.
 *
 * @module
 */
import { duration, wholeNumber } from "./kinds.ts";
import { setting } from "./setting.ts";

export const RETENTION_SETTINGS = {
  deadMaxJobs: setting<number>({
    key: "retention.deadJobs",
    kind: wholeNumber(0, 1_000_000_000),
    default: 10_000,
    about: "keep at most this many dead jobs, the latest",
  }),
  deadMaxAgeMs: setting<number>({
    key: "retention.deadAge",
    kind: duration(0),
    default: 180 * 24 * 3600 * 1000,
    about: "keep a dead job this long",
  }),
  resultTtlMs: setting<number>({
    key: "retention.results",
    kind: duration(0),
    default: 500_000,
    about: "keep a job's result this long, unless the job or its class sets a time",
  }),
  failureTtlMs: setting<number>({
    key: "retention.failures",
    kind: duration(0),
    default: 24 * 3600 * 1000,
    about: "keep the record of a failed job this long, unless the job or its class sets a time",
  }),
  succeededTtlMs: setting<number>({
    key: "retention.succeeded",
    kind: duration(0),
    default: 0,
    about: "keep a record of every finished job this long, for jobs list finished; at most 100,000 records",
  }),
} as const;
