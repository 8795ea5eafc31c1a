/**
 * Durable steps and signals.
 *
 * @module
 */
import { list, object, optional } from "./shape.ts";
import { any, boolean, choice, integer, NEXT, text, time } from "./values.ts";

/** A durable step of a job. */
export const stepShape = object("", {
  name: text("the step's name"),
  state: choice(["succeeded", "failed", "running", "waiting", "unreadable"], ""),
  kind: choice(["step", "sleep", "wait", "child", "each"], ""),
  since: optional(time("when its last attempt, the sleep or the wait began; absent if it is unreadable")),
  ended: optional(time("when it succeeded, failed, or stored its cursor")),
  until: optional(time("waiting: when it gives up")),
  attempts: optional(integer("how many it took, or how many failed")),
  key: optional(text("wait: the key of the signal")),
  example: optional(text("wait: JSON text of data that the job expects (`ctx.waitFor`)")),
  child: optional(text("child: its jid")),
  count: optional(integer("each: items done")),
  cursor: optional(any("each: where it continues")),
  error: optional(object("failed: the error", { class: text("its class"), message: text("its message") })),
  final: optional(boolean("failed: it is not attempted again")),
  timedOut: optional(boolean("succeeded: the time passed without a signal, or without the child's end")),
  value: optional(any("succeeded: the result, or the signal's data")),
});

/** The steps of a job. */
export const stepListShape = object("", { steps: list("the steps, in the order in which they began", stepShape) });

/** A step that waits for a signal. */
export const signalWaitShape = object("", {
  key: text("the key of the signal"),
  jid: text("the job"),
  step: text("the step of the job"),
  since: optional(time("when the wait began")),
  until: optional(time("when it times out")),
  example: optional(text("JSON text of data that the job expects, if its handler gives any")),
  class: optional(text("the job's class; absent, as queue and payload, unless the job sleeps")),
  queue: optional(text("the queue that the job returns to")),
  payload: optional(any("the payload of the job")),
});

/** The steps that wait for signals. */
export const signalPageShape = object("", {
  signals: list("the steps that wait, the first to time out first", signalWaitShape),
  next: NEXT,
});
