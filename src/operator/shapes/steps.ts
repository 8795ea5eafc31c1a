/**
 * Durable steps and signals.
 *
 * @module
 */
import { list, object, optional } from "./shape.ts";
import { any, boolean, choice, integer, text, time } from "./values.ts";

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
