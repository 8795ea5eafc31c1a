/**
 * Cron entries and their runs.
 *
 * @module
 */
import { list, map, object, oneOf, optional } from "./shape.ts";
import { any, boolean, choice, integer, NEXT, number, text, time } from "./values.ts";

/** A run of an entry. */
export const runShape = object("", {
  scheduledAt: optional(time("the scheduled time of the run; absent, as `decidedAt`, if the record is unreadable")),
  decidedAt: optional(time("when its outcome was decided")),
  outcome: choice(["enqueued", "waiting", "skipped", "replaced", "missed", "manual", "unreadable"], ""),
  jid: optional(text("the enqueued job, or the job that blocked the run")),
  reason: optional(text("why none was enqueued")),
  count: optional(integer("how many runs this record covers")),
  first: optional(time("the first of them")),
  jobEnded: optional(
    text("how the job ended, or `not ended`; absent if its result is no longer kept. Only in histories"),
  ),
  jobElapsedMs: optional(number("duration of the job's last attempt. Only in histories")),
  jobError: optional(text("the job's error. Only in histories")),
});

const BOUNDS = {
  start: optional(number("no run before, as milliseconds since 1970")),
  end: optional(number("no run after, as milliseconds since 1970")),
  spreadMs: optional(number("its runs are shifted by at most this")),
  offsetMs: optional(number("the shift of its runs")),
};

/** The fields of its definition. */
const definitionFields = {
  name: text("the entry"),
  class: text("the class of its jobs"),
  args: list("their arguments", any("")),
  options: map("the options of its jobs", any("")),
  schedule: oneOf(
    "its cron expression with its time zone, or its interval",
    object("", { rule: text("its cron expression"), timezone: text("its time zone"), ...BOUNDS }),
    object("", {
      everyMs: number("its interval"),
      anchor: number("one of its times, as milliseconds since 1970"),
      ...BOUNDS,
    }),
  ),
  overlap: choice(["allow", "skip", "queue-one", "replace"], "while the job of the run before hasn't ended"),
  catchUp: object("which missed runs are caught up", {
    policy: choice(["none", "last", "all"], ""),
    windowMs: number("a run is caught up if it is at most this late"),
  }),
  everyProcess: boolean("whether every worker performs each run itself"),
  memo: optional(text("a note")),
};
const { name, class: className, args, options, schedule, overlap, catchUp, everyProcess, memo } = definitionFields;

const pause = optional(object("the pause of the entry; absent if it isn't paused", {
  since: optional(time("when it began; absent, as `by`, if the audit log doesn't go back to it")),
  by: optional(text("who paused the entry")),
}));

const idle = boolean("whether no online worker enqueues runs: none takes place until one does");

/** An entry. */
export const entryShape = object("", {
  name,
  class: optional({
    ...className,
    about: `${className.about}; absent, as the following fields, if a newer version wrote the entry`,
  }),
  args: optional(args),
  options: optional(options),
  schedule: optional(schedule),
  overlap: optional(overlap),
  catchUp: optional(catchUp),
  everyProcess: optional(everyProcess),
  memo,
  source: optional(choice(["config", "runtime"], "the configuration or program of workers, or added at run time")),
  when: optional(text("its schedule in words")),
  next: optional(time("its next run")),
  local: optional(text("the same in its time zone")),
  paused: boolean("whether it is paused"),
  pause,
  waiting: optional(time("a run that waits for the job of the run before")),
  live: optional(text("the jid of its last job, until that has finished")),
  loaded: boolean("whether a worker has loaded it"),
  counts: map("how often each outcome occurred", integer("")),
  last: optional({ ...runShape, about: "its last run" }),
});

/** A page of entries. */
export const entryPageShape = object("", { entries: list("the entries, by name", entryShape), idle, next: NEXT });

/** An entry with its runs. */
export const shownEntryShape = object("", {
  entry: { ...entryShape, about: "the entry" },
  history: list("its runs, the latest first", runShape),
  idle,
});

/** The runs of an entry that follow. */
export const nextRunsShape = object("", {
  runs: list(
    "the runs, the earliest first",
    object("", {
      at: time("the scheduled time of the run"),
      local: text("the same in the entry's time zone"),
    }),
  ),
  idle,
  pause,
});

/** The runs of an entry. */
export const historyShape = object("", { history: list("its runs, the latest first", runShape), pause });

/** Entries of a configuration. */
export const cronCheckShape = object("", {
  active: list("the active entries", object("", definitionFields)),
  inactive: list(
    "the disabled entries",
    object("", { name: text("the entry"), by: text("the field that disables it") }),
  ),
  problems: list(
    "the problems",
    object("", {
      entry: text("the entry; without a name, its position in the list"),
      message: text("one line"),
      field: optional(text("the field that is wrong")),
    }),
  ),
});
