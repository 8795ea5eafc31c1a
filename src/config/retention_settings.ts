/**
 * The settings of how long what is over is kept: part of the table in `settings.ts`.
 *
 * @module
 */
import { duration, wholeNumber } from "./kinds.ts";
import { setting } from "./setting.ts";

/** The rows. */
export const RETENTION_SETTINGS = {
  deadMaxJobs: setting<number>({
    key: "retention.deadJobs",
    env: "JOBS_DEAD_JOBS",
    kind: wholeNumber(0, 1_000_000_000),
    default: 10_000,
    about: "how many dead jobs are kept",
  }),
  deadMaxAgeMs: setting<number>({
    key: "retention.deadAge",
    env: "JOBS_DEAD_AGE",
    kind: duration(0),
    default: 180 * 24 * 3600 * 1000,
    about: "how long a dead job is kept",
  }),
  resultTtlMs: setting<number>({
    key: "retention.results",
    env: "JOBS_RESULT_TTL",
    kind: duration(0),
    default: 500_000,
    about: "how long the result of a job is kept, where it or its class says no result_ttl",
  }),
  failureTtlMs: setting<number>({
    key: "retention.failures",
    env: "JOBS_FAILURE_TTL",
    kind: duration(0),
    default: 24 * 3600 * 1000,
    about: "how long it is known how a job failed for good, where it or its class says no failure_ttl",
  }),
  doneTtlMs: setting<number>({
    key: "retention.done",
    env: "JOBS_DONE_TTL",
    kind: duration(0),
    default: 0,
    about: "how long every finished job is kept for jobs list done; at most 100,000 are",
  }),
} as const;
