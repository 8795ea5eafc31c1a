/**
 * Flows with many nodes before one, and after one. Prints one line of JSON ({@linkcode FlowCosts}).
 *
 *     deno run -A tests/bench/flows.ts STORE-URL [NODES]
 */
import { Client } from "../../src/client/client.ts";
import { parsePayload } from "../../src/job/job.ts";
import { outcomeOf } from "../../src/store/ops/outcome.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { openStore } from "../../src/store/open.ts";
import type { Lease } from "../../src/store/port/jobs.ts";
import { register } from "../store_contract/jobs.ts";

/** The duration of one settle of one node, in milliseconds. */
export interface FlowCosts {
  /** The median of nodes of which others are left before the last node. */
  readonly before: number;
  /** The last node before the last one, which pushes that. */
  readonly last: number;
  /** The node before all others, which pushes the first 100. */
  readonly first: number;
}

const TAKEN = 500;
/** Each of this many nodes is settled alone. */
const SINGLES = 50;

/** Settles nodes alone. Returns how long each took. */
async function settleEach(store: Store, worker: string, leases: readonly Lease[]): Promise<number[]> {
  const each: number[] = [];
  for (const lease of leases) {
    const start = performance.now();
    await store.jobs.settle(worker, [ack(lease)]);
    each.push(performance.now() - start);
  }
  return each;
}

function ack({ token, payload }: Lease) {
  return outcomeOf(token, parsePayload(payload)!, { kind: "ack", as: "succeeded" }, { nodeResult: () => "1" });
}

async function fanIn(store: Store, worker: string, count: number): Promise<Pick<FlowCosts, "before" | "last">> {
  const client = new Client({ store, onUnregistered: () => {} });
  const names = Array.from({ length: count - 1 }, (_, i) => `n${i}`);
  await client.flow("in", {
    ...Object.fromEntries(names.map((name) => [name, { job: ["Noop", []] as const }])),
    end: { job: ["Noop", []], after: names },
  });
  for (let left = names.length; left > SINGLES;) {
    const limit = Math.min(TAKEN, left - SINGLES);
    const leases = await store.jobs.take({ queues: ["default"], limit, worker });
    await store.jobs.settle(worker, leases.map(ack));
    left -= leases.length;
  }
  const leases = await store.jobs.take({ queues: ["default"], limit: TAKEN, worker });
  const each = await settleEach(store, worker, leases);
  const [end, ...more] = await store.jobs.take({ queues: ["default"], limit: TAKEN, worker });
  if (leases.length !== SINGLES || end === undefined || more.length > 0) {
    throw new Error("The last node isn't pushed once");
  }
  await settleEach(store, worker, [end]);
  return { before: each.slice(0, -1).sort((a, b) => a - b)[Math.floor(SINGLES / 2)]!, last: each.at(-1)! };
}

async function fanOut(store: Store, worker: string, count: number): Promise<Pick<FlowCosts, "first">> {
  const client = new Client({ store, onUnregistered: () => {} });
  const rest = Array.from({ length: count - 1 }, (_, i) => [`n${i}`, { job: ["Noop", []] as const, after: "start" }]);
  await client.flow("out", { start: { job: ["Noop", []] }, ...Object.fromEntries(rest) });
  const leases = await store.jobs.take({ queues: ["default"], limit: TAKEN, worker });
  return { first: (await settleEach(store, worker, leases))[0]! };
}

if (import.meta.main) {
  const [url, nodes = "10000"] = Deno.args;
  await using store = await openStore(url!);
  const worker = await register(store);
  const into = await fanIn(store, worker, Number(nodes));
  console.log(JSON.stringify({ ...into, ...await fanOut(store, worker, Number(nodes)) }));
}
