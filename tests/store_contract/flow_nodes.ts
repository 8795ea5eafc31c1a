/**
 * One flow, its nodes and their states, for cases and measurements.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { countedAs, countedIn, type MemberEnd } from "../../src/job/batch.ts";
import { nodeJid, type OnDead } from "../../src/job/flow.ts";
import { getField } from "../../src/job/raw.ts";
import type { Store } from "../../src/store/admin/store.ts";
import type { Batch } from "../../src/store/port/batches.ts";
import type { NewNode } from "../../src/store/port/flows.ts";
import type { Lease } from "../../src/store/port/jobs.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import { entries, HOUR_MS, jid, register, takeUpTo } from "./jobs.ts";

export const DAY_MS = 24 * HOUR_MS;
export const ID = jid(0xf1);

/** The nodes of a flow by name. */
export type Graph = Readonly<
  Record<string, { readonly after?: readonly string[]; readonly onDead?: OnDead; readonly delayMs?: number }>
>;

/** The nodes of a graph. */
export function nodesOf(graph: Graph, id = ID): NewNode[] {
  return Object.entries(graph).map(([name, { after = [], onDead = "stop", delayMs }], position) => {
    const jid = nodeJid(id, position + 1);
    const payload = `{"class":"HardJob","args":["${name}"],"retry":true,"queue":"default","jid":"${jid}",` +
      `"created_at":1700000000.125,"batch":"${id}","batch_counted":"pending","flow_node":"${name}"}`;
    const followers = Object.keys(graph).filter((other) => graph[other]!.after?.includes(name));
    const node = { name, position, jid, class: "HardJob", queue: "default", payload, onDead, after, followers };
    return delayMs === undefined ? node : { ...node, delayMs };
  });
}

/** Opens the flow, without its nodes. */
export async function create(store: Store): Promise<void> {
  const payload = (event: string) => `{"class":"C","args":["${event}"],"jid":"${ID}-${event}","queue":"callbacks"}`;
  const callback = (event: string) => ({
    jid: `${ID}-${event}`,
    class: "C",
    queue: "callbacks",
    payload: payload(event),
  });
  const callbacks = { success: callback("success"), complete: callback("complete"), death: callback("death") };
  await store.batches.create({ id: ID, callbacks, closeWithinMs: HOUR_MS, keepMs: DAY_MS, flow: true });
}

/** Starts a flow with this graph. */
export async function start(store: Store, graph: Graph): Promise<string> {
  const worker = await register(store);
  await create(store);
  assertEquals(await store.flows.add(ID, nodesOf(graph)), undefined);
  await store.batches.close(ID, "closed");
  return worker;
}

export const nameOf = ({ payload }: { readonly payload: string }) => String(getField(payload, "flow_node"));

/** Takes what can be taken: the leases, by node. */
export async function take(store: Store, worker: string): Promise<Record<string, Lease>> {
  const leases = await takeUpTo(store, worker, 1_000);
  return Object.fromEntries(leases.map((lease) => [nameOf(lease), lease]));
}

/** How a node ends. */
export function ending(
  { token, payload }: Lease,
  how: "ack" | "discard" | "bury" = "ack",
  more: { readonly result?: string; readonly acknowledged?: MemberEnd } = {},
): Outcome {
  const { id, counted: from, node } = countedIn(payload)!;
  if (how === "bury") {
    return { kind: how, token, payload: countedAs(payload, "dead"), batch: { id, from, to: "dead", node: node! } };
  }
  const to = how === "ack" ? more.acknowledged ?? "succeeded" : "failed";
  return {
    kind: how,
    token,
    batch: { id, from, to, node: node!, ...(more.result !== undefined && { result: more.result }) },
  };
}

/** The states of the nodes. */
export async function states(store: Store): Promise<Record<string, string>> {
  const { nodes } = await store.flows.nodes(ID, { limit: 1_000 });
  return Object.fromEntries(nodes.map(({ name, state }) => [name, state]));
}

export async function flow(store: Store): Promise<Partial<Batch>> {
  const { state, total, pending, waiting, dead, succeeded, failed, cancelled } =
    (await store.batches.read({ ids: [ID] })).batches[0]!;
  const counts = { total, pending, waiting, dead, succeeded, failed, cancelled };
  return { state, ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)) };
}

/** The queue's jobs, by node. */
export async function queued(store: Store): Promise<string[]> {
  return (await entries(store, { in: "queue", queue: "default" })).map(nameOf);
}

export const DIAMOND = { a: {}, b: { after: ["a"] }, c: { after: ["a"] }, d: { after: ["b", "c"] } };
