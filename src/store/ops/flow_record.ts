/**
 * The node of a flow, as both stores keep it and hand it to each other.
 *
 * @module
 */
import type { NodeState, OnDead } from "../../job/flow.ts";
import { MEMBER_STATES } from "../../job/batch.ts";
import type { FlowNode, NewNode } from "../port/flows.ts";
import { type Check, is, json, number, oneOf, optional, text } from "./row_checks.ts";

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

/** The flow adds a field when it pushes the job. */
const PAYLOAD = is("a JSON object with fields", (value) => {
  const text = typeof value === "string" ? value.trim() : "";
  return text.startsWith("{") && text.endsWith("}") && text.slice(1, -1).trim() !== "";
});

/** The columns of a node. */
export const NODE_COLUMNS: Readonly<Record<keyof NodeRecord, Check>> = {
  ...{ name: text, position: number, spec: json, followers: json, needs: number, changed: number },
  ...{ state: oneOf("waiting", ...MEMBER_STATES), effect: optional(oneOf("run", "cancel")) },
  ...{ payload: optional(PAYLOAD), result: optional(text) },
};

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

/** Returns the node of a record. Any program may have changed it: the class of an unreadable one is `(unreadable)`. */
export function nodeOf({ name, position, spec, state, needs, changed, payload, result }: NodeRecord): FlowNode {
  const { jid, class: className, queue, onDead, after } = readSpec(spec);
  const waitsFor = state === "waiting" ? needs : 0;
  return {
    ...{ name, position, jid, class: className, queue, onDead, after, state, waitsFor, changedAt: changed },
    ...(payload !== null && { payload }),
    ...(result !== null && { result }),
  };
}

function readSpec(text: string): NodeSpec {
  try {
    const spec = JSON.parse(text) as NodeSpec;
    const texts = [spec.jid, spec.class, spec.queue, spec.onDead, ...spec.after];
    if (texts.every((one) => typeof one === "string")) return spec;
  } catch {
    // It isn't JSON, or not of this shape.
  }
  return { jid: "", class: "(unreadable)", queue: "", onDead: "stop", after: [] };
}
