/**
 * Nodes of flows that wait for others: they are in no queue and in no set. No index lists them, so a search reads the flows
 * that have some, page by page.
 *
 * @module
 */
import { flowOfJid } from "../../job/flow.ts";
import { parsePayload } from "../../job/job.ts";
import type { BatchStore } from "../../store/port/batches.ts";
import type { FlowNode, FlowStore } from "../../store/port/flows.ts";
import { compileFilter, compileHint, type JobFacts, type JobFilter, payloadFacts } from "./filter.ts";

/** The verbs that these reads use. */
export interface WaitingStore {
  readonly batches: Pick<BatchStore, "read">;
  readonly flows: Pick<FlowStore, "nodes">;
}

/** A waiting node and its flow. */
export interface WaitingNode {
  /** The ID of the flow. */
  readonly flow: string;
  readonly node: FlowNode;
}

const FLOWS_PER_READ = 100;
const MAX_READ_BEFORE = 100;
const NODES_PER_READ = 500;

/** Returns the waiting node with this jid; undefined if there is none. */
export async function waitingNode(store: Pick<WaitingStore, "flows">, jid: string): Promise<WaitingNode | undefined> {
  const place = flowOfJid(jid);
  if (place === undefined) return undefined;
  const { id, position } = place;
  const request = { limit: 1, ...(position > 0 && { cursor: `${position - 1}` }) };
  const [node] = (await store.flows.nodes(id, request)).nodes;
  return node?.jid === jid && node.state === "waiting" ? { flow: id, node } : undefined;
}

/** Returns the dead nodes before a waiting one that stop it: a retry by hand lets it continue. Reads the first of many. */
export async function stoppingNodes(
  { flows }: { readonly flows: Pick<FlowStore, "nodes"> },
  { flow, node }: WaitingNode,
): Promise<FlowNode[]> {
  const { nodes } = await flows.nodes(flow, { names: node.after.slice(0, MAX_READ_BEFORE) });
  return nodes.filter((one) => one.state === "dead" && one.onDead === "stop");
}

/** Yields the waiting nodes that match a filter, of the latest flow first, in parts of bounded size. Parts may be empty. */
export async function* waitingNodes(store: WaitingStore, filter: JobFilter = {}): AsyncGenerator<WaitingNode[]> {
  const mayMatch = compileHint(filter);
  const matches = compileFilter(filter);
  for await (const flow of flowsWithWaiting(store)) {
    const isFound = (node: FlowNode) =>
      node.state === "waiting" && mayMatch(node.payload ?? "") && matches(factsOf(node, flow));
    for (let cursor: string | undefined;;) {
      const request = { limit: NODES_PER_READ, ...(cursor !== undefined && { cursor }) };
      const { nodes, next } = await store.flows.nodes(flow, request);
      yield nodes.filter(isFound).map((node) => ({ flow, node }));
      if ((cursor = next) === undefined) break;
    }
  }
}

async function* flowsWithWaiting({ batches }: WaitingStore): AsyncGenerator<string> {
  for (let cursor: string | undefined;;) {
    const page = await batches.read({ flows: true, limit: FLOWS_PER_READ, ...(cursor !== undefined && { cursor }) });
    for (const { id, waiting = 0 } of page.batches) if (waiting > 0) yield id;
    if ((cursor = page.next) === undefined) return;
  }
}

function factsOf({ payload = "", queue, changedAt }: FlowNode, batch: string): JobFacts {
  const job = parsePayload(payload);
  const facts = { queue, batch, since: changedAt };
  return job === undefined
    ? { ...facts, class: "", group: "", error: "", tags: [], text: () => payload }
    : { ...payloadFacts(job, () => payload), ...facts };
}
