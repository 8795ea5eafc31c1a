/**
 * The `--json` output of `jobs flow`.
 *
 * @module
 */
import { BATCH } from "./json_shapes_batches.ts";
import type { Fields, Shape } from "./json_shape.ts";

const { "id": _id, "parent?": _parent, ...COUNTERS } = BATCH;

const FLOW: Fields = {
  "id": ["text", "the flow's ID"],
  ...COUNTERS,
  "flow": ["boolean", "true"],
  "batch?": ["text", "the batch that counts it as a member"],
  "waiting": ["number", "of the pending nodes: those that wait for others"],
};

/** In the order of `jobs help`. */
export const FLOW_SHAPES: readonly Shape[] = [
  {
    command: "jobs flow push FILE",
    prints: "an object",
    fields: {
      "id": ["text", "the flow's ID"],
      "nodes": ["list", "its nodes"],
      "nodes[].name": ["text", "the node's name"],
      "nodes[].jid": ["text", "its job's ID"],
    },
  },
  { command: "jobs flow list", prints: "a list of objects", fields: FLOW },
  {
    command: "jobs flow show ID",
    prints: "an object",
    fields: {
      ...FLOW,
      "why": ["list of texts", "why queued nodes don't run"],
      "nodes": ["list", "its nodes"],
      "nodes[].name": ["text", "the node's name"],
      "nodes[].jid": ["text", "its job's ID"],
      "nodes[].class": ["text", "its job's class"],
      "nodes[].queue": ["text", "its job's queue"],
      "nodes[].state": [
        "text",
        "`waiting`, `queued` (also scheduled or retrying), `running`, `succeeded`, `dead`, `failed`, `cancelled`, `expired` or `deleted`",
      ],
      "nodes[].after": ["list of texts", "the nodes before it"],
      "nodes[].onDead": ["text", "`stop`, `continue` or `cancel`"],
      "nodes[].waitsFor": ["number", "nodes that it still waits for"],
      "nodes[].changedAt": ["time", "when its state changed"],
    },
  },
  {
    command: "jobs flow cancel ID",
    prints: "an object",
    fields: {
      "cancelled": ["text", "the flow"],
      "nodes": ["number", "how many nodes this call cancelled"],
      "alreadyCancelled?": ["boolean", "true: an earlier call has cancelled it"],
    },
  },
  {
    command: "jobs flow retry ID",
    prints: "an object",
    fields: { "retried": ["number", "how many dead nodes were enqueued again"] },
  },
];
