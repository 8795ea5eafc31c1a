/**
 * Large flows: each node runs once, and a cancelled flow leaves nothing but its record.
 *
 * @module
 */
import { receiveCommands } from "../../src/store/ops/await.ts";
import { assert, assertEquals } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { type FlowNodes, MAX_NODES } from "../../src/client/flow_graph.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { cancelBatch } from "../../src/store/ops/batches.ts";
import { TEND_LIMIT } from "../../src/store/port/batches.ts";
import { type Cases, SLACK_MS, type TestStore } from "./harness.ts";
import { ending, nameOf } from "./flow_nodes.ts";
import { HOUR_MS, register, takeUpTo } from "./jobs.ts";

/** In the arguments of each node. */
const MARK = "a-text-in-no-other-job";

const job = (name: string) => ["HardJob", [name, MARK]] as const;

/** One node, then `width` nodes with one follower each, then a node after all of these. */
function largeFlow(width: number): FlowNodes {
  const numbers = Array.from({ length: width }, (_, i) => i);
  return {
    first: { job: job("first") },
    ...Object.fromEntries(numbers.map((i) => [`a${i}`, { job: job(`a${i}`), after: "first" }])),
    ...Object.fromEntries(numbers.map((i) => [`b${i}`, { job: job(`b${i}`), after: `a${i}` }])),
    last: { job: job("last"), after: numbers.map((i) => `b${i}`) },
  };
}

/** Takes nodes and lets them succeed, up to `count`. Returns their names. */
async function perform(store: Store, worker: string, count: number): Promise<string[]> {
  const names: string[] = [];
  while (names.length < count) {
    while ((await store.batches.tend(TEND_LIMIT, "nodes")).more);
    const leases = await takeUpTo(store, worker, Math.min(1_000, count - names.length));
    if (leases.length === 0) break;
    await store.jobs.settle(worker, leases.map((lease) => ending(lease, "ack", { result: "1" })));
    names.push(...leases.map(nameOf));
  }
  return names;
}

/** Returns the tables or keys that contain a text, without the history: it has the records of cancelled jobs for a day. */
async function holding(t: TestStore, text: string): Promise<string[]> {
  return (await t.holding(text)).filter((name) => name !== "record" && !/^jobs:(ended|result:.*)$/.test(name));
}

export const largeFlows: Cases = {
  "each node runs once, and the last one after all others": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const { largeFlow: size = MAX_NODES } = t;
    const nodes = largeFlow((size - 2) / 2);
    const { id } = await new Client({ store: t.store, onUnregistered: () => {} }).flow("large", nodes);
    const names = await perform(t.store, worker, Infinity);
    assertEquals(names.toSorted(), Object.keys(nodes).toSorted());
    assertEquals([names[0], names.at(-1)], ["first", "last"]);
    const { state, total, succeeded } = (await t.store.batches.read({ ids: [id] })).batches[0]!;
    assertEquals([state, total, succeeded], ["succeeded", size, size]);
    assertEquals(await holding(t, MARK), []);
  },

  "a flow that is cancelled half way leaves only its record, and that until its retention": async (
    open,
  ) => {
    await using t = await open();
    const worker = await register(t.store);
    const client = new Client({ store: t.store, onUnregistered: () => {} });
    const { largeFlow: size = MAX_NODES } = t;
    const width = (size - 2) / 2;
    const { id } = await client.flow("large", largeFlow(width), { keepFor: "1h" });
    const ended = size / 4;
    assertEquals((await perform(t.store, worker, ended)).length, ended);
    const running = await takeUpTo(t.store, worker, 10);
    assert((await holding(t, MARK)).length > 1);
    const cancelled = await cancelBatch(t.store, id, t.now());
    // All that waited and all that was queued, and a command for each that runs.
    const members = size - ended;
    assertEquals(cancelled, { done: true, closedAs: "cancelled", waiting: members - width, members });
    assertEquals((await receiveCommands(t.store, worker, new AbortController().signal)).length, running.length);
    await t.store.jobs.settle(worker, running.map((lease) => ending(lease, "ack", { acknowledged: "cancelled" })));
    const counts = (await t.store.batches.read({ ids: [id] })).batches[0]!;
    assertEquals(
      [counts.state, counts.pending, counts.waiting, counts.succeeded, counts.cancelled],
      ["cancelled", 0, 0, ended, size - ended],
    );
    assertEquals([await takeUpTo(t.store, worker), (await t.store.batches.tend(1, "nodes")).more], [[], false]);
    assertEquals(await holding(t, MARK), []);
    t.advance(HOUR_MS + SLACK_MS);
    while ((await t.store.batches.tend(10)).more);
    assertEquals(await holding(t, id), []);
  },
};
