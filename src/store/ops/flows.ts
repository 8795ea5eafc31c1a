/**
 * Flows as operators see them: nodes with the state of their jobs.
 *
 * @module
 */
import type { AdminStore } from "../admin/admin.ts";
import { getField } from "../../job/raw.ts";
import type { FlowNode } from "../port/flows.ts";

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

async function runningJids(store: { readonly admin: Pick<AdminStore, "page"> }): Promise<ReadonlySet<string>> {
  const { entries } = await store.admin.page({ in: "running" }, { limit: MAX_LEASES });
  return new Set(entries.map(({ payload }) => String(getField(payload, "jid"))));
}
