/**
 * A node of a flow that waits for others, for `jobs show`: it is in no queue and in no set.
 *
 * @module
 */
import { flowOfJid } from "../../job/flow.ts";
import type { Store } from "../../store/admin/store.ts";
import type { FlowNode } from "../../store/port/flows.ts";
import { waitText } from "../../text/flows.ts";

/** A waiting node and its flow. */
export interface WaitingNode {
  readonly flow: string;
  readonly node: FlowNode;
}

/** Returns the waiting node with this jid; undefined if there is none. */
export async function waitingNode(store: Store, jid: string): Promise<WaitingNode | undefined> {
  const place = flowOfJid(jid);
  if (place === undefined) return undefined;
  const { id, position } = place;
  const request = { limit: 1, ...(position > 0 && { cursor: `${position - 1}` }) };
  const [node] = (await store.flows.nodes(id, request)).nodes;
  return node?.jid === jid && node.state === "waiting" ? { flow: id, node } : undefined;
}

/** Returns the rows that describe a waiting node. */
export function waitingRows({ flow, node }: WaitingNode): (readonly [string, string])[] {
  return [
    ["jid", node.jid],
    ["class", node.class],
    ["state", `waiting for ${waitText(node)}`],
    ["flow", `${flow}, node ${node.name}`],
    ["after", node.after.join(", ")],
    ["queue", node.queue],
  ];
}
