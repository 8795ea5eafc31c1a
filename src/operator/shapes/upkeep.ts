/**
 * The store, the dashboard's users and this machine, as commands print them.
 *
 * @module
 */
import { list, object, optional } from "./shape.ts";
import { any, boolean, choice, integer, number, text } from "./values.ts";

/** A backup. */
export const backupShape = object("", {
  file: text("the backup"),
  jobs: integer("jobs in it that haven't finished"),
  bytes: integer("its size"),
});

/** A restored backup. */
export const restoredShape = object("", {
  store: text("the store"),
  jobs: integer("jobs in it that haven't finished"),
  kept: optional(text("where the store before is kept; absent if there was none")),
});

/** A migration. */
export const migratedShape = object("", {
  jobs: integer("migrated jobs"),
  cron: integer("migrated cron entries"),
  left: object("totals of the source, which stay there", {
    processed: integer("finished attempts"),
    failed: integer("failed attempts"),
  }),
});

/** A new project. */
export const initShape = object("", {
  folder: text("the folder"),
  files: list("the files that were written", text("")),
});

/** A new user. */
export const userShape = object("", { user: text("a line for `web.users`") });

/** A new token. */
export const tokenShape = object("", { token: text("the token, shown only once"), ...userShape.fields });

const perSecond = number("jobs/s");
const p50Ms = number("median");
const p99Ms = number("99th percentile");

/** A benchmark. */
export const benchShape = object("", {
  store: text("the version of the store"),
  cores: integer("of this machine"),
  jobs: integer("pushed in bulk and run"),
  concurrency: integer("how many run at once"),
  pushOne: object("single pushes", { perSecond, p50Ms, p99Ms }),
  pushBulk: object("pushes of 1,000", { perSecond }),
  perform: object("running them in one worker", { perSecond }),
  start: object("from push to start, in an idle worker", { p50Ms, p99Ms }),
});

/** The findings of `jobs doctor`. */
export const doctorShape = object("", {
  findings: list(
    "the findings",
    object("", {
      check: choice(
        ["settings", "handlers", "cron", "files", "store", "clock", "workers", "queues", "jobs", "batches"],
        "",
      ),
      state: choice(["ok", "warning", "failed"], ""),
      message: text("one line"),
      cure: optional(text("what to do about it")),
    }),
  ),
  settings: list(
    "every effective setting",
    object("", {
      key: text("its key in the configuration"),
      value: optional(any("its value; durations in milliseconds; secrets as `***`, of users the name and role")),
      origin: text("`default`, a file, a variable, or `flag`"),
    }),
  ),
});

/** Whether a machine is ready. */
export const readyShape = object("", {
  ready: boolean("whether this machine is ready"),
  why: optional(text("why not")),
});

/** The version. */
export const versionShape = object("", {
  jobs: text("the version"),
  commit: optional(text("the commit it was compiled from")),
  deno: text("the runtime"),
  v8: text("the runtime's engine"),
  target: text("the platform"),
});
