/**
 * The output of the commands about durable steps, with `--json`.
 *
 * @module
 */
import type { Fields, Shape } from "./json_shape.ts";

/** A step, wherever one is printed. */
export const STEP: Fields = {
  "name": ["text", "the step's name"],
  "state": ["text", "`succeeded`, `failed`, `running` or `waiting`"],
  "kind": ["text", "`step`, `sleep`, `wait`, `child` or `each`"],
  "since": ["time", "when its last attempt, the sleep or the wait began"],
  "ended?": ["time", "when it succeeded, failed, or stored its cursor"],
  "until?": ["time", "waiting: when it gives up"],
  "attempts?": ["number", "how many it took, or how many failed"],
  "key?": ["text", "wait: the key of the signal"],
  "child?": ["text", "child: its jid"],
  "count?": ["number", "each: items done"],
  "cursor?": ["any", "each: where it continues"],
  "error?": ["object", "failed: the error"],
  "error.class?": ["text", "its class"],
  "error.message?": ["text", "its message"],
  "final?": ["boolean", "failed: it is not attempted again"],
  "timedOut?": ["boolean", "succeeded: the time passed without a signal, or without the child's end"],
  "value?": ["any", "succeeded: the result, or the signal's data"],
};

/** In the order of `jobs help`. */
export const STEP_SHAPES: readonly Shape[] = [
  { command: "jobs steps JID", prints: "a list of objects", fields: STEP },
  {
    command: "jobs steps clear JID",
    prints: "an object",
    fields: { "clear": ["number", "how many steps were cleared"] },
  },
  {
    command: "jobs steps rerun JID NAME",
    prints: "an object",
    fields: {
      "rerun": ["number", "how many steps were cleared"],
      "queued": ["boolean", "whether the job was moved to its queue; false if it is queued or running"],
    },
  },
  {
    command: "jobs steps wake JID",
    prints: "an object",
    fields: { "wake": ["number", "how many sleeps and waits ended"] },
  },
  {
    command: "jobs signal KEY",
    prints: "an object",
    fields: {
      "key": ["text", "the key"],
      "reached?": ["text", "the jid of the job that it reached; absent if it is kept"],
    },
  },
];
