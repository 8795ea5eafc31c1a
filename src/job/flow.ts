/**
 * Flows: a batch whose members, its nodes, run after each other. A node's payload names its batch, which is the flow, and
 * the node.
 *
 * @module
 */
import type { Counted, MemberEnd } from "./batch.ts";

/** The payload's field with the name of the flow's node. Its flow is the batch that the payload names. */
export const NODE_FIELD = "flow_node";

/**
 * The fate of the nodes after one that has not succeeded.
 *
 * - `stop`: they wait for as long as the node is dead: a retry by hand lets the flow continue. If it leaves the store without
 *   success (discarded, cancelled, expired or deleted), they are cancelled, because they can never run.
 * - `continue`: they run, as if it had succeeded.
 * - `cancel`: they are cancelled as soon as it is dead.
 */
export type OnDead = "stop" | "continue" | "cancel";

/** The values of {@linkcode OnDead}. */
export const ON_DEAD: readonly OnDead[] = ["stop", "continue", "cancel"];

/** `waiting`: for the nodes before it, and not in a queue. `pending`: it was pushed and has not ended. The others: how it ended. */
export type NodeState = "waiting" | Counted | MemberEnd;

/** The effect of a node's end on the nodes after it: `run` counts it as done for them. */
export type Effect = "run" | "cancel";

/** Returns the effect of a node in this state on the nodes after it; undefined if it has none yet. */
export function effectOf(state: NodeState, onDead: OnDead): Effect | undefined {
  if (state === "waiting" || state === "pending") return undefined;
  if (state === "succeeded" || onDead === "continue") return "run";
  return state === "dead" && onDead === "stop" ? undefined : "cancel";
}

/** Returns the name of a payload's node; undefined if it has none. */
export function nodeOf(payload: { readonly [field: string]: unknown }): string | undefined {
  const name = payload[NODE_FIELD];
  return typeof name === "string" && name !== "" ? name : undefined;
}

/** Returns the jid of the n-th node, from 1: the flow is found from the jid of a node. */
export function nodeJid(flow: string, n: number): string {
  return `${flow}-${n}`;
}

/** Returns the flow and the position, from 0, of the node with this jid; undefined if its form is another. */
export function flowOfJid(jid: string): { readonly id: string; readonly position: number } | undefined {
  const [, id, n] = /^(.+)-([1-9]\d*)$/.exec(jid) ?? [];
  return id === undefined ? undefined : { id, position: Number(n) - 1 };
}
