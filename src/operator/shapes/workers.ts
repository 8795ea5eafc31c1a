/**
 * Workers and the jobs that they run.
 *
 * @module
 */
import { workerOutboxShape } from "./outbox.ts";
import { queueShape } from "./queues.ts";
import { list, map, object, optional } from "./shape.ts";
import { any, choice, integer, NEXT, number, text, time } from "./values.ts";

/** A running job of a worker. */
const runningShape = object("", {
  processor: text("the processor"),
  jid: optional(text("the job")),
  class: optional(text("its class")),
  queue: text("its queue"),
  startedAt: time("when it started"),
  progress: optional(text("its progress")),
  lastLine: optional(text("its last log line")),
  abortReason: optional(text("its signal has aborted: `Cancelled`, `Timeout`, `Shutdown` or `LeaseLost`")),
  abortedAt: optional(time("when its signal has aborted")),
  log: optional(list("its last log lines", text(""))),
});

/** A worker. */
export const workerShape = object("", {
  id: text("`hostname:pid:nonce`"),
  hostname: text("the machine"),
  pid: integer("its process ID there"),
  tag: text("its label; may be empty"),
  labels: list("more labels", text("")),
  state: choice(["running", "quiet", "stopping", "blocked", "offline"], "`blocked`: a handler blocks its event loop"),
  quietSince: optional(time("since when it is quiet, or stops")),
  queues: list("the queues that it processes", text("")),
  weights: map("queue → weight; all 0 if strict", number("")),
  concurrency: integer("maximum of jobs that it runs at once"),
  version: text("of jobs"),
  startedAt: time("when it started"),
  heartbeatAt: time("its last heartbeat"),
  blocked: optional(object("while its event loop is blocked", {
    since: time("when that began"),
    processor: optional(text("the processor whose job blocks it, if that is known")),
    class: optional(text("the class of that job")),
    jid: optional(text("the jid of that job")),
  })),
  circuits: optional(list(
    "hosts of HTTP endpoints that fail: their jobs wait",
    object("", {
      host: text("name and port"),
      state: choice(["open", "halfOpen"], "`halfOpen`: the next job probes the host"),
      failures: integer("failures in a row"),
      since: time("when it opened first"),
      error: text("the last failure"),
      classes: optional(list("classes whose jobs were sent to it", text(""))),
    }),
  )),
  outbox: optional(workerOutboxShape),
  running: integer("jobs that it runs"),
  memoryBytes: integer("resident memory"),
  jobs: list("the jobs that it runs", runningShape),
  totals: optional(map(
    "class → its totals since the worker started",
    object("", {
      succeeded: integer("jobs that succeeded"),
      failed: integer("failed attempts"),
      cancelled: integer("cancelled jobs"),
      expired: integer("expired jobs"),
      timeSpentMs: number("total run time"),
    }),
  )),
});

/** Workers of `jobs workers`. */
export const workerListShape = object("", {
  workers: list("online and offline workers", workerShape),
  pausedQueues: list(
    "the paused queues",
    object("", { name: queueShape.fields.name, pausedForMs: queueShape.fields.pausedForMs }),
  ),
});

/** A worker in the HTTP API: its jobs have their payload, masked. */
export const apiWorkerShape = object("", {
  ...workerShape.fields,
  jobs: list(
    "the jobs that it runs",
    object("", { ...runningShape.fields, payload: any("the payload as an object; its text if it is unreadable") }),
  ),
});

/** Workers in the HTTP API. */
export const apiWorkerPageShape = object("", { workers: list("the workers, by ID", apiWorkerShape), next: NEXT });

const SILENT = optional(object("`no_reply` if a worker can't follow or didn't reply", {
  code: text("`no_reply`"),
  message: text("one line"),
}));

/** The workers that received a command. */
export const commandedShape = object("", {
  workers: list("the IDs of the workers that received the command", text("")),
  error: SILENT,
});

/** The dumps of workers. */
export const dumpsShape = object("", {
  workers: list(
    "the workers",
    object("", {
      id: text("the worker"),
      dump: optional(list("its tasks, a line each; absent if it didn't reply", text(""))),
    }),
  ),
  error: SILENT,
});
