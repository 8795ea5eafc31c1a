/**
 * The options of a job, in one table: the accepted values, the meaning, and the places where each may be set. Types,
 * checks, the flags of `jobs push`, docs/reference/job-options.md and "did you mean" come from it (`option_names.ts`). A new option: one row.
 *
 * @module
 */
import type { RetryIn } from "./backoff.ts";
import {
  argsSchema,
  backoff,
  className,
  duplicates,
  flag,
  groupName,
  jobId,
  lines,
  localKind,
  lock,
  lockEnd,
  logLevel,
  type OptionKind,
  priorityName,
  pushId,
  pushKey,
  queueName,
  rate,
  retention,
  retries,
  SECONDS,
  span,
  tags,
  timeKind,
  wait,
  webhookNames,
} from "./option_kinds.ts";
import { readSpan } from "./time.ts";

/**
 * The places where an option may be set:
 *
 * - `push`: on one job, in code, over HTTP, and as a flag of `jobs push`
 * - `class`: on a job class, as the default for its jobs
 * - `cron`: on a cron entry, for the jobs that it enqueues
 * - `exec`: on a class that an external program or an HTTP endpoint performs
 */
export type OptionPlace = "push" | "class" | "cron" | "exec";

interface OptionRow<T, Place extends OptionPlace> {
  readonly kind: OptionKind<T>;
  /** The places where it may be set. */
  readonly on: readonly Place[];
  /** The default, as the documentation has it. */
  readonly default: string;
  /** The meaning, in one line. */
  readonly about: string;
}

/** Returns the row unchanged, with the types of its values and places. */
function option<T, const Place extends OptionPlace>(row: OptionRow<T, Place>): OptionRow<T, Place> {
  return row;
}

const EVERYWHERE = ["push", "class", "cron", "exec"] as const;

/** Cron entries compare no pushes: `overlap` decides about their runs. */
const KEYED = ["push", "class", "exec"] as const;

/** The table. Rows are in the order of the documentation. */
export const JOB_OPTIONS = {
  queue: option({
    kind: queueName,
    on: EVERYWHERE,
    default: "`default`",
    about: "the queue",
  }),
  group: option({
    kind: groupName,
    on: EVERYWHERE,
    default: "none",
    about: "the job's group in its queue, for limits and fair shares: a name, or a path such as `args[0]`",
  }),
  priority: option({
    kind: priorityName,
    on: EVERYWHERE,
    default: "`normal`",
    about: "the job's share of its queue: `high` 10, `normal` 1, `low` 0.1; for a job without a group",
  }),
  in: option({
    kind: timeKind<number | string>(SECONDS, "DURATION"),
    on: ["push"],
    default: "now",
    about: "runs the job after this time",
  }),
  at: option({
    kind: timeKind<Date | number | string>("a Date, ISO 8601 text, or epoch seconds", "TIME"),
    on: ["push"],
    default: "now",
    about: "runs the job at this time: a `Date`, ISO 8601 text or epoch seconds; a past time is now",
  }),
  retry: option({
    kind: retries,
    on: EVERYWHERE,
    default: "`true`",
    about: "how many times a failed job is retried; `true` is the worker's `maxRetries` (25), `false` drops the job",
  }),
  retry_for: option({
    kind: span,
    on: EVERYWHERE,
    default: "",
    about: "retries for this long after the first failure, instead of a number of times",
  }),
  retry_queue: option({
    kind: queueName,
    on: EVERYWHERE,
    default: "the job's queue",
    about: "the queue for retries",
  }),
  backoff: option({
    kind: backoff,
    on: EVERYWHERE,
    default: "Sidekiq's",
    about: "the delay before a retry: `type` (`exponential`, `linear` or `fixed`), `base`, `max`, `jitter` (0 to 1)",
  }),
  dead: option({
    kind: flag,
    on: EVERYWHERE,
    default: "`true`",
    about: "`false` drops a job whose retries are exhausted, instead of moving it to the dead set",
  }),
  timeout: option({
    kind: span,
    on: EVERYWHERE,
    default: "none",
    about: "aborts an attempt that runs for longer; it counts as a failure",
  }),
  expires_in: option({
    kind: span,
    on: EVERYWHERE,
    default: "never",
    about: "drops the job unless it starts within this time after it was enqueued",
  }),
  unique_for: option({
    kind: lock,
    on: KEYED,
    default: "duplicates are allowed",
    about: "skips a push while a job of the same class, queue and arguments exists, for at most this long",
  }),
  unique_key: option({
    kind: pushKey,
    on: KEYED,
    default: "the arguments",
    about: "what `unique_for` compares instead of all arguments: a text, or a path such as `args[0]`",
  }),
  unique_until: option({
    kind: lockEnd,
    on: KEYED,
    default: "`end`",
    about: "`start`: the lock ends when a worker fetches the job, so that one more may wait while it runs",
  }),
  on_duplicate: option({
    kind: duplicates,
    on: KEYED,
    default: "`keep`",
    about: "`replace`: a duplicate replaces the waiting job, under its ID, instead of being skipped",
  }),
  debounce: option({
    kind: wait,
    on: KEYED,
    default: "none",
    about: "runs the job this time after the last push with the same key, with the arguments of that push",
  }),
  debounce_key: option({
    kind: pushKey,
    on: KEYED,
    default: "the arguments",
    about: "what `debounce` compares within class and queue: a text, or a path such as `args[0]`",
  }),
  debounce_max: option({
    kind: wait,
    on: KEYED,
    default: "no bound",
    about: "runs a debounced job at the latest this time after the first push",
  }),
  throttle: option({
    kind: rate,
    on: KEYED,
    default: "none",
    about: "refuses a push if this many with the same key were accepted within this time, for example `1/1m`",
  }),
  throttle_key: option({
    kind: pushKey,
    on: KEYED,
    default: "the arguments",
    about: "what `throttle` compares within class and queue: a text, or a path such as `args[0]`",
  }),
  result_ttl: option({
    kind: retention,
    on: EVERYWHERE,
    default: "`500s`",
    about: "how long the result is kept; 0 keeps nothing, -1 keeps it while there is room",
  }),
  failure_ttl: option({
    kind: retention,
    on: EVERYWHERE,
    default: "`1d`",
    about: "how long the record of a failed job is kept; 0 and -1 as for `result_ttl`",
  }),
  backtrace: option({
    kind: lines,
    on: EVERYWHERE,
    default: "`10`",
    about: "how many lines of the stack of a failure are kept with the job: a number, `true` for all, `false` for none",
  }),
  log_level: option({
    kind: logLevel,
    on: EVERYWHERE,
    default: "the worker's",
    about: "drops log lines below this level, the job's own and the worker's about it",
  }),
  tags: option({
    kind: tags,
    on: EVERYWHERE,
    default: "none",
    about: "words shown with the job",
  }),
  notify: option({
    kind: webhookNames,
    on: ["push"],
    default: "none",
    about: "the webhooks that receive the end of the job, in addition to those whose `on` matches",
  }),
  display_class: option({
    kind: className,
    on: ["push", "class", "cron"],
    default: "the class",
    about: "the class's name for people, as Sidekiq's pages show it",
  }),
  wrapped: option({
    kind: className,
    on: ["push", "class"],
    default: "",
    about: "the class that performs the job, where `class` is a wrapper (ActiveJob)",
  }),
  batch: option({
    kind: { ...jobId, placeholder: "ID" },
    on: ["push"],
    default: "none",
    about: "the ID of the batch that counts the job",
  }),
  jid: option({
    kind: jobId,
    on: ["push"],
    default: "24 hex digits",
    about: "the job's ID",
  }),
  id: option({
    kind: pushId,
    on: ["push"],
    default: "none",
    about:
      "idempotent push: a later one with the same `id` returns the first jid, also after that job has ended; with another " +
      "class, queue or arguments, it is refused",
  }),
  within: option({
    kind: { ...span, write: (field, value) => void readSpan(field, value) },
    on: ["push"],
    default: "`1d`",
    about: "how long an `id` is remembered, counted from the time at which the job may run",
  }),
  created_at: option({
    kind: timeKind<number>("epoch seconds or milliseconds", ""),
    on: ["push"],
    default: "now",
    about: "when the job was first pushed, in epoch seconds or milliseconds: for copies of jobs",
  }),
  schema: option({
    kind: argsSchema,
    on: ["class", "exec"],
    default: "none",
    about:
      "a [JSON Schema](../guides/schemas.md) of the list of arguments, or a list with one for each argument; a push that doesn't " +
      "fit is refused",
  }),
  isolate: option({
    kind: localKind<boolean>("true or false", (value) => typeof value === "boolean"),
    on: ["class"],
    default: "`false`",
    about: "runs the class in pooled child processes, which can be killed",
  }),
  retryIn: option({
    kind: localKind<RetryIn>("a function", (value) => typeof value === "function"),
    on: ["class"],
    default: "",
    about:
      "a function `(count, error, payload)`, possibly async, that returns the time until the next attempt: seconds, or " +
      'a duration such as `"5m"`; `count` is the number of earlier failures, 0 at the first; `"kill"` and `"discard"` give ' +
      "up; undefined leaves it to `backoff`",
  }),
};

type Table = typeof JOB_OPTIONS;

export type JobOptionName = keyof Table;

type ValueOf<Row> = Row extends OptionRow<infer T, infer _Place> ? T : never;
type PlacesOf<Row> = Row extends OptionRow<infer _T, infer Place> ? Place : never;

/**
 * The options that may be set in a place, with the types of their values.
 *
 * @internal
 */
export type OptionsOn<Place extends OptionPlace> = {
  readonly [Name in JobOptionName as Place extends PlacesOf<Table[Name]> ? Name : never]?: ValueOf<Table[Name]>;
};

/** One row of the table, without the types of its values and places. */
export type JobOption = OptionRow<unknown, OptionPlace>;
