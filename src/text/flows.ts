/**
 * Flows, as the command line and the dashboard show them.
 *
 * @module
 */
import type { ShownState } from "../store/ops/flows.ts";
import type { Batch } from "../store/port/batches.ts";
import type { FlowNode } from "../store/port/flows.ts";
import type { WaitingNode } from "../operator/query/waiting_nodes.ts";
import type { flowShape, nodeShape } from "../operator/shapes/batches.ts";
import type { jobShape } from "../operator/shapes/jobs.ts";
import type { JsonOf } from "../operator/shapes/shape.ts";
import { batchJson } from "./batches.ts";
import { type Columns, timeColumn } from "./columns.ts";
import { payloadTime, readablePayload, shownClass } from "./job_json.ts";
import { argsText } from "./job_text.ts";
import { isoTime } from "./times.ts";

/** A sentence names at most this many nodes. */
const MAX_NAMED = 5;

/** The columns of the nodes of a flow, with the state of each. */
export const NODE_COLUMNS = {
  node: { text: ({ node }) => node.name },
  state: { text: ({ state }) => state, isState: true },
  class: { text: ({ node }) => node.class },
  after: { text: ({ node: { after } }) => namedNodes(after) + (after.length > MAX_NAMED ? ` (${after.length})` : "") },
  "waits for": { text: ({ node }) => waitText(node) },
  jid: { text: ({ node }) => node.jid, is: "whole" },
  since: timeColumn(({ node }) => node.changedAt, "optional"),
} as const satisfies Columns<{ readonly node: FlowNode; readonly state: ShownState }>;

/** The columns of a list of waiting nodes. */
export const WAITING_COLUMNS = {
  jid: { text: ({ node }) => node.jid, is: "whole" },
  since: timeColumn(({ node }) => node.changedAt, "optional"),
  queue: { text: ({ node }) => node.queue, is: "optional" },
  job: { text: ({ node }) => nodeCall(node) },
  "waits for": { text: ({ node }) => waitText(node) },
  flow: { text: ({ flow }) => flow, is: "optional" },
  node: { text: ({ node }) => node.name, is: "optional" },
} as const satisfies Columns<WaitingNode>;

/** Returns the job of a waiting node: `Load("a")`; its class alone if the payload is unreadable. */
export function nodeCall({ class: name, payload = "" }: FlowNode): string {
  const job = readablePayload({ payload });
  return job === undefined ? name : `${shownClass(job)}(${argsText(job.args)})`;
}

/** Returns the first names of nodes. */
function namedNodes(names: readonly string[]): string {
  return names.slice(0, MAX_NAMED).join(", ") + (names.length > MAX_NAMED ? " …" : "");
}

/** Returns the number of nodes that a node waits for, in words; undefined if it waits for none. */
export function waitText({ state, waitsFor, after }: FlowNode): string | undefined {
  if (state !== "waiting") return undefined;
  if (after.length === 1) return "the node before it";
  return `${waitsFor === after.length ? "all" : `${waitsFor} of`} ${after.length} nodes before it`;
}

/** Returns a flow as `--json` and the HTTP API have it. */
export function flowJson(flow: Batch): JsonOf<typeof flowShape> {
  const { parent, ...rest } = batchJson(flow);
  return { ...rest, flow: true, waiting: flow.waiting ?? 0, batch: parent };
}

/** Returns a node as `--json` and the HTTP API have it. */
export function nodeJson(node: FlowNode, state: ShownState): JsonOf<typeof nodeShape> {
  const { name, jid, class: className, queue, after, onDead, waitsFor, changedAt } = node;
  return {
    name,
    jid,
    class: className,
    queue,
    state,
    after,
    onDead,
    waitsFor,
    changedAt: isoTime(changedAt)!,
  };
}

/** Returns a waiting node as `--json` and the HTTP API have a job. */
export function waitingJson({ flow, node }: WaitingNode): JsonOf<typeof jobShape> {
  const { name, jid, class: className, queue, after, waitsFor, changedAt, payload = "" } = node;
  const job = readablePayload({ payload });
  return {
    jid,
    class: className,
    state: "waiting",
    queue,
    createdAt: payloadTime(job?.created_at),
    flow,
    node: name,
    after,
    waitsFor,
    changedAt: isoTime(changedAt),
    payload: job ?? payload,
  };
}

/** Returns that dead nodes stop those after them, in a sentence each. */
export function whyStopped(dead: readonly FlowNode[]): string[] {
  return dead.slice(0, MAX_NAMED).map(({ name, jid }) => `Node "${name}" is dead: jobs retry ${jid} runs it again.`);
}

/** Returns why a waiting node doesn't run, in a sentence. */
export function whyWaiting(node: FlowNode): string {
  return `It waits for ${waitText(node)}: ${namedNodes(node.after)}.`;
}
