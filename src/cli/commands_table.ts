/**
 * The commands, in the groups of `jobs help`. Each is a file with its help text, loaded only when it is used: `jobs push`
 * doesn't read the worker.
 *
 * @module
 */

/** A command. */
export interface Command {
  /** The text of `--help`, at most 80 columns wide. */
  readonly help: string;
  /** The help texts of subcommands by name, if it has any. */
  readonly subcommands?: Readonly<Record<string, string>>;
  /** Runs it; returns the exit code. */
  run(argv: readonly string[]): Promise<number>;
}

/** A command's purpose in a few words, and its module. */
export type CommandEntry = readonly [about: string, load: () => Promise<Command>];

/** Commands by group and name. */
export const COMMAND_GROUPS: Readonly<Record<string, Readonly<Record<string, CommandEntry>>>> = {
  "Get started": {
    init: ["write a small project: handlers, settings, a test", () => import("./commands/init.ts")],
    run: ["run a worker, which processes jobs", () => import("./commands/run.ts")],
    push: ["enqueue a job, now or later, or many from a file", () => import("./commands/push.ts")],
    web: ["serve the dashboard, the HTTP API and metrics", () => import("./commands/web.ts")],
  },
  "Jobs": {
    list: ["list jobs by state: queued, scheduled, retrying …", () => import("./commands/list.ts")],
    find: ["find jobs by text, class, queue, error, tag or age", () => import("./commands/find.ts")],
    show: ["show one job, and why it isn't running", () => import("./commands/show.ts")],
    stream: ["print what a job streams, while it runs", () => import("./commands/stream.ts")],
    errors: ["group failed jobs by class and error", () => import("./commands/errors.ts")],
    retry: ["run scheduled, retrying or dead jobs now", () => import("./commands/retry.ts")],
    kill: ["move jobs to the dead set", () => import("./commands/kill.ts")],
    cancel: ["remove waiting jobs, abort running ones", () => import("./commands/cancel.ts")],
    delete: ["delete jobs", () => import("./commands/delete.ts")],
    move: ["move jobs to another queue", () => import("./commands/move.ts")],
    batch: ["open, close, list, show, cancel or retry batches", () => import("./commands/batch.ts")],
    flow: ["push, list, show, cancel or retry flows of jobs", () => import("./commands/flow.ts")],
    step: ["in a program: run a step of its job once", () => import("./commands/step.ts")],
    steps: ["list, repeat, clear or wake the durable steps of a job", () => import("./commands/steps.ts")],
    signal: ["send a signal to the job that waits for it", () => import("./commands/signal.ts")],
  },
  "Queues": {
    queues: ["list queues", () => import("./commands/queues.ts")],
    pause: ["stop processing a queue, or all queues", () => import("./commands/pause.ts")],
    resume: ["end a pause of queues, or the quiet of workers", () => import("./commands/resume.ts")],
    limit: ["limit concurrency or start rate of a queue", () => import("./commands/limit.ts")],
    clear: ["delete the queued jobs of a queue", () => import("./commands/clear.ts")],
  },
  "Workers": {
    workers: ["list workers", () => import("./commands/workers.ts")],
    quiet: ["stop fetching, finish running jobs", () => import("./commands/quiet.ts")],
    stop: ["stop workers", () => import("./commands/stop.ts")],
    dump: ["print what every task of a worker is doing", () => import("./commands/dump.ts")],
  },
  "Schedules": {
    cron: ["list, run, pause, add and check cron entries", () => import("./commands/cron.ts")],
  },
  "Observe": {
    stats: ["print counts of jobs, queues and workers", () => import("./commands/stats.ts")],
    events: ["print jobs, batches and flows that end, as they do", () => import("./commands/events.ts")],
    top: ["watch everything live, and act on it", () => import("./commands/top.ts")],
    doctor: ["check settings, handlers and the store", () => import("./commands/doctor.ts")],
    bench: ["measure this machine and its store", () => import("./commands/bench.ts")],
  },
  "Store": {
    backup: ["copy the store to a file, while it is in use", () => import("./commands/backup.ts")],
    restore: ["restore a backup", () => import("./commands/restore.ts")],
    outbox: ["show the outbox of an application, print its SQL", () => import("./commands/outbox.ts")],
    migrate: ["move everything to another store", () => import("./commands/migrate.ts")],
    schema: ["migrate the schema of a PostgreSQL store, or print how", () => import("./commands/schema.ts")],
  },
  "Shell": {
    "shell-init": [
      "print the shell function that makes jobs this program",
      async () => (await import("./commands/shell_init.ts")).shellInitOf(Object.keys(COMMANDS)),
    ],
    completions: [
      "print completions for bash, zsh or fish",
      async () => (await import("./commands/completions.ts")).completionsOf(COMMANDS),
    ],
    man: ["print the manual page", async () => (await import("./commands/man.ts")).manOf(COMMAND_GROUPS)],
    version: ["print the version", () => import("./commands/version.ts")],
  },
};

/** Commands by name, in the order of the groups. */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = Object.assign({}, ...Object.values(COMMAND_GROUPS));

/** Commands that this program and its completions start. */
export const HIDDEN: Readonly<Record<string, () => Promise<Command>>> = {
  __horse: () => import("./commands/horse.ts"),
  __queues: () => import("./commands/queue_names.ts"),
};

/** Words that users of other systems type → the command to suggest. */
export const SUGGESTED: Readonly<Record<string, string>> = {
  add: "push",
  bury: "kill",
  crontab: "cron",
  dashboard: "web",
  dead: "list dead",
  delay: "push",
  enqueue: "push",
  failed: "errors",
  info: "stats",
  inspect: "show",
  job: "show",
  jobs: "list",
  ls: "list",
  monitor: "top",
  new: "init",
  perform: "run",
  processes: "workers",
  ps: "workers",
  queue: "queues",
  remove: "delete",
  rm: "delete",
  schedule: "cron",
  search: "find",
  server: "run",
  start: "run",
  status: "stats",
  ui: "web",
  unpause: "resume",
  work: "run",
  worker: "workers",
};
