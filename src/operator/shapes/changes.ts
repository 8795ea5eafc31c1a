/**
 * Results of the commands that push and change jobs, queues, batches, cron entries and workers.
 *
 * @module
 */
import { list, object, optional } from "./shape.ts";
import { boolean, choice, integer, number, text } from "./values.ts";

const ERROR = {
  code: choice(["not_found", "finished", "wrong_state", "moved", "forbidden"], ""),
  message: text("one line"),
};

/** Returns the result of a command that edits jobs, as it counts them: `retried`. */
export function editedShape(past: string) {
  return object("", {
    [past]: optional(integer("how many jobs changed; absent with `--dry-run`")),
    matched: optional(integer("with `--dry-run`: how many jobs would change")),
    dryRun: optional(boolean("true with `--dry-run`")),
    error: optional(object("the first error, if a job didn't change", ERROR)),
    errors: optional(list("all errors, each with its `jid`", object("", { jid: text("the job"), ...ERROR }))),
  });
}

/** Returns the result of a command that changes one thing. */
export function doneShape(past: string, about: string) {
  return object("", { [past]: text(about) });
}

/** The number of changed things. @param what how it ends: `entries were paused` */
export function countShape(what: string) {
  return object("", { count: integer(`how many ${what}`) });
}

/** Returns the result of a command that changes queues: `paused`. */
export function queuesShape(past: string) {
  return object("", {
    [past]: list("the queues; `*` stands for all", text("")),
    group: optional(text("the group, with `--group`")),
  });
}

/** The result of `jobs clear`. */
export const clearedShape = object("", {
  queue: text("the queue"),
  group: optional(text("the group, with `--group`")),
  deleted: integer("how many jobs were deleted"),
  removed: boolean("whether the queue was removed from the list of queues"),
});

const DUPLICATE = {
  duplicateOf: optional(text("the same ID, if the job is a duplicate")),
  throttledBy: optional(text("the same ID, if the push is throttled: that of the job whose place is free next")),
};
const replaced = optional(boolean("true: the job replaced one that waited for the same key, and has its ID"));

/** The result of a push. */
export const pushedShape = object("", {
  jid: text("the job's ID; of a duplicate, the ID of the job that holds the lock"),
  ...DUPLICATE,
  retryInMs: optional(number("milliseconds until a throttled push is accepted")),
  replaced,
});

/** The result of the push of a line. */
export const pushedLineShape = object("", {
  line: integer("the line of the file"),
  jid: text("its job"),
  ...DUPLICATE,
  replaced,
});

/** A batch that was closed. */
export const closedShape = object("", {
  closed: text("the batch"),
  done: boolean("whether this call closed it"),
});

/** Returns the result of cancelling a batch or a flow. */
export function cancelledShape(kind: "batch" | "flow", members: "members" | "nodes") {
  return object("", {
    cancelled: text(`the ${kind}`),
    [members]: integer(`how many ${members} this call cancelled`),
    alreadyCancelled: optional(boolean("true: an earlier call has cancelled it")),
  });
}

/** Returns the result of retrying a batch or a flow. */
export function retriedShape(members: "members" | "nodes") {
  return object("", { retried: integer(`how many dead ${members} were enqueued again`) });
}

/** The result of counting the members of a batch. */
export const checkedShape = object("", {
  result: choice(["right", "corrected", "busy"], "`busy`: it kept changing, and nothing was corrected"),
  pending: integer("pending members found"),
  dead: integer("dead members found"),
  before: object("how the batch counted them", {
    pending: integer("pending members"),
    dead: integer("dead members"),
  }),
});

/** A flow that was pushed. */
export const pushedFlowShape = object("", {
  id: text("the flow's ID"),
  nodes: list("its nodes", object("", { name: text("the node's name"), jid: text("its job's ID") })),
});

/** Steps that were cleared. */
export const clearedStepsShape = object("", { clear: integer("how many steps were cleared") });

/** Steps that were cleared to run again. */
export const rerunShape = object("", {
  rerun: integer("how many steps were cleared"),
  queued: boolean("whether the job was moved to its queue; false if it is queued or running"),
});

/** Waits that were ended. */
export const wokenShape = object("", { wake: integer("how many sleeps and waits ended") });

/** A signal that was sent. */
export const signalledShape = object("", {
  key: text("the key"),
  reached: optional(text("the jid of the job that it reached; absent if it is kept")),
});
