/**
 * Flows as operators see them: nodes with the state of their jobs, and how a flow is cancelled.
 *
 * @module
 */
import type { AdminStore } from "../admin/admin.ts";
import { getField } from "../../job/raw.ts";
import { type FlowNode, type FlowStore, SPREAD_LIMIT } from "../port/flows.ts";
import { type BatchOpsStore, cancelBatch, cancelMembers } from "./batches.ts";

/** The state of a node, with that of its job if it has been pushed. `queued`: also scheduled, or retrying. */
export type ShownState = Exclude<FlowNode["state"], "pending"> | "queued" | "running";

/** At most this many leases are read to find running nodes. */
const MAX_LEASES = 1_000;

/** Returns the states of nodes by name. */
export async function nodeStates(
  store: { readonly admin: Pick<AdminStore, "page"> },
  nodes: readonly FlowNode[],
): Promise<ReadonlyMap<string, ShownState>> {
  const running = nodes.some(({ state }) => state === "pending") ? await runningJids(store) : new Set<string>();
  return new Map(nodes.map(({ name, state, jid }) => [
    name,
    state !== "pending" ? state : running.has(jid) ? "running" : "queued",
  ]));
}

/**
 * Cancels a flow: the nodes that wait, and the jobs of those that don't.
 *
 * @param now epoch milliseconds
 * @returns how it is closed, and how many jobs are cancelled; undefined if there is no such flow
 */
export async function cancelFlow(
  store: BatchOpsStore & { readonly flows: Pick<FlowStore, "spread"> },
  id: string,
  now: number,
): ReturnType<typeof cancelBatch> {
  const result = await cancelBatch(store, id, now);
  while (await store.flows.spread(SPREAD_LIMIT));
  return result;
}

/** Cancels the nodes of a flow that is closed as cancelled, in steps of bounded size. Yields how many jobs each step cancelled. */
export async function* cancelNodes(
  store: BatchOpsStore & { readonly flows: Pick<FlowStore, "spread"> },
  id: string,
  now: () => number,
): AsyncGenerator<number> {
  yield* cancelMembers(store, id, now);
  while (await store.flows.spread(SPREAD_LIMIT)) yield 0;
}

async function runningJids(store: { readonly admin: Pick<AdminStore, "page"> }): Promise<ReadonlySet<string>> {
  const { entries } = await store.admin.page({ in: "running" }, { limit: MAX_LEASES });
  return new Set(entries.map(({ payload }) => String(getField(payload, "jid"))));
}
