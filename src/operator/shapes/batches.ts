/**
 * Batches and flows.
 *
 * @module
 */
import { list, object, optional } from "./shape.ts";
import { boolean, choice, integer, NEXT, text, time } from "./values.ts";

const COUNTERS = {
  name: optional(text("its name")),
  tags: list("its tags", text("")),
  state: choice(["open", "running", "stuck", "succeeded", "failed", "cancelled", "abandoned"], ""),
  createdAt: time("when it was opened"),
  closedAt: optional(time("when it was closed")),
  completedAt: optional(time("when each member had ended or was dead, for the first time")),
  dueAt: optional(time("open: when it is abandoned; finished: when it is removed")),
  total: integer("members; the sum of the following"),
  pending: integer("members that haven't ended"),
  dead: integer("dead members"),
  succeeded: integer("members that have succeeded"),
  failed: integer("discarded members"),
  cancelled: integer("cancelled members"),
  expired: integer("expired members"),
  deleted: integer("deleted members"),
  callbacks: list(
    "the jobs to push",
    object("", {
      event: choice(["success", "complete", "death", "abandoned"], ""),
      jid: text("the job's ID"),
      class: text("its class"),
      pushedAt: optional(time("when it was pushed")),
    }),
  ),
};

/** A batch. */
export const batchShape = object("", {
  id: text("the batch's ID"),
  parent: optional(text("the batch that counts it as a member")),
  ...COUNTERS,
});

const WHY = list("what keeps it from its end, and the command that helps; empty once it has ended", text(""));

/** A batch that is shown alone. */
export const shownBatchShape = object("", { ...batchShape.fields, why: WHY });

/** A flow: a batch whose members, its nodes, run after each other. */
export const flowShape = object("", {
  id: text("the flow's ID"),
  ...COUNTERS,
  flow: boolean("true"),
  batch: optional(text("the batch that counts it as a member")),
  waiting: integer("of the pending nodes: those that wait for others"),
});

/** The latest batches. */
export const batchListShape = object("", { batches: list("the batches, the latest first", batchShape) });

/** A page of batches. */
export const batchPageShape = object("", { ...batchListShape.fields, next: NEXT });

/** The latest flows. */
export const flowListShape = object("", { flows: list("the flows, the latest first", flowShape) });

/** A page of flows. */
export const flowPageShape = object("", { ...flowListShape.fields, next: NEXT });

/** A node of a flow. */
export const nodeShape = object("", {
  name: text("the node's name"),
  jid: text("its job's ID"),
  class: text("its job's class"),
  queue: text("its job's queue"),
  state: choice(
    ["waiting", "queued", "running", "succeeded", "dead", "failed", "cancelled", "expired", "deleted"],
    "scheduled and retrying jobs are `queued`",
  ),
  after: list("the nodes before it", text("")),
  onDead: choice(["stop", "continue", "cancel"], ""),
  waitsFor: integer("nodes that it still waits for"),
  changedAt: time("when its state changed"),
});

/** Nodes of a flow. */
export const nodePageShape = object("", {
  nodes: list("the nodes, in the order of the definition", nodeShape),
  next: NEXT,
});

/** A flow with its nodes. */
export const shownFlowShape = object("", {
  ...flowShape.fields,
  why: list("what keeps it from its end, and why queued nodes don't run", text("")),
  nodes: list("its nodes", nodeShape),
});
