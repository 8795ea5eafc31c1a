/**
 * Counts of jobs, days, measures of classes, and the state of a dashboard.
 *
 * @module
 */
import { batchShape, flowShape } from "./batches.ts";
import { queueShape } from "./queues.ts";
import { folded } from "./rows.ts";
import { list, nullable, object, oneOf, optional } from "./shape.ts";
import { any, boolean, choice, integer, NEXT, number, text, time } from "./values.ts";
import { workerShape } from "./workers.ts";

const COUNTS = {
  processed: integer("jobs processed since the beginning, failures included"),
  failed: integer("of those, failures"),
  queued: integer("queued jobs"),
  running: integer("running jobs"),
  scheduled: integer("scheduled jobs"),
  retrying: integer("failed jobs that are retried"),
  dead: integer("dead jobs"),
};

const workers = integer("online workers");
const queues = list("by name", queueShape);

/** A day of the history. */
const dayShape = object("", {
  day: text("`YYYY-MM-DD`, in UTC", { expected: "a day such as 2026-11-25", matches: /^\d{4}-\d\d-\d\d$/ }),
  processed: integer("jobs processed on that day, failures included"),
  failed: integer("of those, failures"),
});

/** The counts of `jobs stats`. */
export const statsShape = object("", {
  ...COUNTS,
  sleepingSteps: integer("durable steps that sleep, also those of dead jobs"),
  waitingSteps: integer("durable steps that wait for a signal or a child, also those of dead jobs"),
  workers,
  queues,
  history: optional(list("with `--history`: the last days (UTC), the earliest first", dayShape)),
});

/** The counts in the HTTP API. */
export const apiStatsShape = object("", {
  ...COUNTS,
  signals: integer("durable steps that wait for a signal, as `/signals` lists them"),
  workers,
  queues,
  next: NEXT,
});

/** The days in the HTTP API. */
export const daysShape = object("", { days: list("the days, the earliest first", dayShape) });

/** `jobs top --once`. */
export const topShape = object("", {
  stats: folded("as `jobs stats` prints it", statsShape),
  workers: folded("the list that `jobs workers` prints", list("", workerShape)),
  batches: folded(
    "the latest unfinished ones, as `jobs batch list` and `jobs flow list` print them",
    list("", oneOf("", batchShape, flowShape)),
  ),
});

/** The actions of users. */
export const auditPageShape = object("", {
  events: list(
    "the actions, the latest first",
    object("", {
      at: time("when"),
      user: text("the user"),
      by: text("how the user was recognized: `cookie`, `token`, …, `command line`"),
      from: text("an address, or a machine"),
      action: text("the action"),
      target: optional(text("a jid, a place, a queue, a worker, a cron entry")),
      count: optional(integer("how many jobs or workers")),
      outcome: optional(text("absent if the action was done")),
      details: optional(text("details of the action")),
    }),
  ),
  next: NEXT,
});

const histogram = list("attempts by duration, in the buckets of `boundsMs`", integer(""));
const spread = object("of the latest results that have it", {
  p50: number("median"),
  p95: number("95th percentile"),
  p99: number("99th percentile"),
  longest: number("the maximum"),
});

/** Measures of the classes of jobs. */
export const classesShape = object("", {
  measured: object("all attempts over a window", {
    window: text("the window"),
    classes: list(
      "by class, the one with the most attempts first",
      object("", {
        class: text("the class"),
        processed: integer("attempts, failures included"),
        failed: integer("of those, failures"),
        workedMs: number("total run time of successful attempts"),
        histogram,
        series: list("attempts in each step of the window, the earliest first", integer("")),
        failedSeries: list("failures in each step", integer("")),
        meanMs: optional(number("mean run time; absent if all attempts failed")),
        p50Ms: optional(number("median, estimated")),
        p95Ms: optional(number("95th percentile, estimated")),
        p99Ms: optional(number("99th percentile, estimated")),
      }),
    ),
    more: integer("how many classes were left out"),
    boundsMs: list("upper bounds of the buckets", number("")),
  }),
  classes: list(
    "by class, the one with the most of the latest results first",
    object("", {
      class: text("the class"),
      count: integer("results"),
      failed: integer("of those, failed and dead jobs"),
      run: optional({ ...spread, about: "duration of attempts, in milliseconds; absent if no result has one" }),
      wait: optional({ ...spread, about: "time in the queue, in milliseconds; absent if no result has one" }),
      histogram: list("attempts by duration, in equal steps of its logarithm", integer("")),
    }),
  ),
  records: integer("how many results were read"),
});

/** The API tokens. */
export const tokensShape = object("", {
  tokens: list(
    "the tokens, by name",
    object("", {
      name: text("the name"),
      role: choice(["reader", "operator", "push", "signal", "work"], ""),
      classes: optional(list("the classes that it may push; absent for any", text(""))),
      queues: optional(list("the queues that it may push to, or act in; absent for any", text(""))),
      keys: optional(list("the keys of the signals that it may send, with * for any characters", text(""))),
      deletes: optional(boolean("false if an operator may not delete")),
      lastUsed: nullable(time("when this process last served it; null if it hasn't")),
    }),
  ),
});

/** The settings of the dashboard's process. */
export const settingsShape = object("", {
  settings: list(
    "the settings",
    object("", {
      key: text("its key in the configuration"),
      value: optional(any("its value; secrets are masked")),
      origin: text("`default`, a file, a variable, or `flag`"),
      about: text("its meaning"),
    }),
  ),
});

/** Long operations of the dashboard's process. */
export const operationsShape = object("", {
  operations: list(
    "those that are running or ended within the last 30 s",
    object("", {
      label: text("the action and its target"),
      changed: integer("jobs changed so far"),
      total: integer("jobs at the start; 0 if unknown"),
      state: choice(["running", "succeeded", "failed"], ""),
      error: optional(text("the reason of a failure")),
    }),
  ),
});
