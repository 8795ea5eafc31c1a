/**
 * Finished jobs.
 *
 * @module
 */
import { list, named, object, optional } from "./shape.ts";
import { stepShape } from "./steps.ts";
import { any, choice, integer, NEXT, number, text, time } from "./values.ts";

/** A finished job, from its record. */
export const finishedShape = named(
  "Finished",
  object("A finished job. The HTTP API masks secrets.", {
    jid: text("the job's ID"),
    class: text("its class"),
    queue: text("its queue"),
    state: choice(["succeeded", "failed", "dead", "cancelled", "expired"], ""),
    result: optional(any("the handler's return value")),
    resultDropped: optional(text("why the result wasn't kept")),
    error: optional(object("its failure", {
      class: text("the error's class"),
      message: text("its message"),
      causes: optional(list("its causes, a line each", text(""))),
      stack: optional(list("its stack trace", text(""))),
    })),
    attempt: optional(integer("the last attempt, 1 for the first")),
    startedAt: optional(time("when that attempt started")),
    endedAt: time("when the job ended"),
    elapsedMs: optional(number("duration of that attempt")),
    worker: optional(text("the worker that ran it")),
    progress: optional(text("its last progress")),
    lastLine: optional(text("its last log line")),
    log: optional(list("its last log lines", text(""))),
    output: optional(list("the last lines that a failed program printed, on stdout and stderr", text(""))),
    steps: optional(list("its durable steps, as `jobs steps` prints them: the latest 100, up to 32 KiB", stepShape)),
    payload: optional(any("its payload, unless that is large")),
  }),
);

/** Finished jobs. */
export const finishedPageShape = object("", {
  jobs: list("the jobs, latest first", finishedShape),
  next: NEXT,
});
