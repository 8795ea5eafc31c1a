/**
 * The nodes of flows in memory.
 *
 * @module
 */
import { type Effect, effectOf, type NodeState } from "../job/flow.ts";
import { stringifyLossless } from "../job/json.ts";
import type { Counter } from "../store/ops/batch_record.ts";
import type { ClosedAs } from "../store/port/batches.ts";
import type { FlowNode, NewNode } from "../store/port/flows.ts";
import type { MemoryEntry } from "./memory_jobs.ts";

/** A node: its job once it runs, or the state until then. */
export interface MemoryNode {
  readonly spec: NewNode;
  readonly since: number;
  entry?: MemoryEntry;
  state: NodeState;
  /** Given by a test. */
  readonly result?: unknown;
}

/** Returns how a batch counts a job. */
export function countedAs({ state }: Pick<MemoryEntry, "state">): Counter {
  return state === "discarded" ? "failed" : state;
}

/** Returns a node that waits. */
export function newNode(spec: NewNode, since: number): MemoryNode {
  return { spec, since, state: "waiting" };
}

/** Returns a node that a test says has succeeded with a result; one that comes after others is running. */
export function givenNode(name: string, after: readonly string[], result: unknown, since: number): MemoryNode {
  const job = { jid: name, class: "Test", queue: "default", payload: "{}" };
  const spec: NewNode = { name, position: 0, ...job, onDead: "stop", after, followers: [] };
  return { spec, since, state: after.length > 0 ? "pending" : "succeeded", result };
}

/** Returns the state of a node. */
export function stateOfNode({ entry, state }: MemoryNode): NodeState {
  return entry === undefined ? state : countedAs(entry);
}

/** Releases or cancels the nodes whose time has come. */
export function spread(
  nodes: ReadonlyMap<string, MemoryNode>,
  closedAs: ClosedAs | undefined,
  release: (node: MemoryNode) => void,
): void {
  if (closedAs === undefined) return;
  for (let hasChanged = true; hasChanged;) {
    hasChanged = false;
    for (const node of nodes.values()) {
      if (node.entry !== undefined || node.state !== "waiting") continue;
      const effects = effectsBefore(node, nodes);
      const isCancelled = closedAs !== "closed" || effects.includes("cancel");
      if (!isCancelled && !effects.every((effect) => effect === "run")) continue;
      if (isCancelled) node.state = "cancelled";
      else release(node);
      hasChanged = true;
    }
  }
}

/** Returns the effects of the nodes directly before a node on it. */
function effectsBefore({ spec }: MemoryNode, nodes: ReadonlyMap<string, MemoryNode>): (Effect | undefined)[] {
  return spec.after.map((name) => {
    const before = nodes.get(name)!;
    return effectOf(stateOfNode(before), before.spec.onDead);
  });
}

/** Returns the result of a node as JSON; undefined if it has none. */
export function resultText(node: MemoryNode | undefined): string | undefined {
  const result = node?.entry?.result ?? node?.result;
  return result === undefined ? undefined : stringifyLossless(result);
}

/** Returns a node as the store's port does. */
export function nodeView(node: MemoryNode, nodes: ReadonlyMap<string, MemoryNode>): FlowNode {
  const { name, position, jid, class: className, queue, onDead, after, payload } = node.spec;
  const state = stateOfNode(node);
  const waitsFor = state === "waiting" ? effectsBefore(node, nodes).filter((effect) => effect !== "run").length : 0;
  return {
    ...{ name, position, jid, class: className, queue, onDead, after, state, waitsFor, changedAt: node.since },
    ...(state === "waiting" && { payload }),
  };
}
