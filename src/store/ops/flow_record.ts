/**
 * The node of a flow, as both stores keep it and hand it to each other.
 *
 * @module
 */
import type { NodeState, OnDead } from "../../job/flow.ts";
import type { FlowNode, NewNode } from "../port/flows.ts";

/** The definition of a node, stored as JSON. Scripts read it. */
export interface NodeSpec {
  readonly jid: string;
  readonly class: string;
  readonly queue: string;
  readonly group?: string;
  readonly delayMs?: number;
  readonly at?: number;
  readonly onDead: OnDead;
  readonly after: readonly string[];
}

/** A node with its state. */
export interface NodeRecord {
  readonly name: string;
  readonly position: number;
  /** The text of a {@linkcode NodeSpec}. */
  readonly spec: string;
  /** JSON: the names of the nodes after it. */
  readonly followers: string;
  readonly needs: number;
  readonly state: NodeState;
  readonly changed: number;
  readonly effect: string | null;
  readonly payload: string | null;
  readonly result: string | null;
}

/** Nodes of one call to the store: this many, or as many as come to {@linkcode MAX_PART_CHARS}. */
const MAX_PART = 250;
const MAX_PART_CHARS = 1024 * 1024;

/** Returns the spec of a node on its way in. */
export function specOf({ jid, class: name, queue, group, delayMs, at, onDead, after }: NewNode): string {
  const spec: NodeSpec = {
    jid,
    class: name,
    queue,
    ...(group !== undefined && { group }),
    ...(delayMs !== undefined && { delayMs: Math.round(delayMs) }),
    ...(at !== undefined && { at: Math.round(at) }),
    onDead,
    after,
  };
  return JSON.stringify(spec);
}

/** Returns the node of a record. */
export function nodeOf({ name, position, spec, state, needs, changed, payload }: NodeRecord): FlowNode {
  const { jid, class: className, queue, onDead, after } = JSON.parse(spec) as NodeSpec;
  const waitsFor = state === "waiting" ? needs : 0;
  return {
    ...{ name, position, jid, class: className, queue, onDead, after, state, waitsFor, changedAt: changed },
    ...(payload !== null && { payload }),
  };
}

/** Splits nodes into parts that a store takes in one step. */
export function* nodeParts(nodes: readonly NewNode[]): Generator<readonly NewNode[]> {
  let part: NewNode[] = [];
  let chars = 0;
  for (const node of nodes) {
    const size = node.payload.length + 8 * (node.after.length + node.followers.length);
    if (part.length > 0 && (part.length >= MAX_PART || chars + size > MAX_PART_CHARS)) {
      yield part;
      [part, chars] = [[], 0];
    }
    part.push(node);
    chars += size;
  }
  if (part.length > 0) yield part;
}
