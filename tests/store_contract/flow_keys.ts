/** Flows that are pushed with an `id`: stored once, whatever cuts off the program that pushes them. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import type { FlowNodes } from "../../src/client/flow_graph.ts";
import type { FlowOptions } from "../../src/client/flows.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { type Call, interceptStore } from "../support/intercept.ts";
import type { Cases, TestStore } from "./harness.ts";
import { DAY_MS, queued } from "./flow_nodes.ts";
import { entries, HOUR_MS } from "./jobs.ts";

const clientOf = (store: Store) => new Client({ store, onUnregistered: () => {} });

/** More nodes than one call to the store has. */
const NODES: FlowNodes = Object.fromEntries(
  Array.from({ length: 300 }, (_, i) => [`n${i}`, { job: ["Noop", [i]], ...(i > 1 && { after: `n${i % 2}` }) }]),
);
const KEYED = { id: "nightly 2026-11-25" };

async function push(store: Store, nodes: FlowNodes = NODES, options: FlowOptions = KEYED) {
  return await clientOf(store).flow("nightly", nodes, options);
}

/** Returns a store whose n-th write of a flow fails, before or after it is stored; and whether there was one. */
function cutAt(
  store: Store,
  n: number,
  when: "before" | "after",
): { readonly store: Store; readonly cut: () => boolean } {
  let left = n;
  const cutStore = interceptStore(store, async ({ verb, pass }: Call) => {
    const isCut = /^(batches|flows)\./.test(verb) && left-- === 0;
    if (isCut && when === "before") throw new Error("cut");
    const reply = await pass();
    if (isCut) throw new Error("cut");
    return reply;
  });
  return { store: cutStore, cut: () => left < 0 };
}

async function onlyFlow(t: TestStore): Promise<string> {
  const { batches } = await t.store.batches.read({ flows: true });
  assertEquals(batches.length, 1);
  const [{ id, state, total, waiting }] = batches as [typeof batches[number]];
  assertEquals({ state, total, waiting }, { state: "running", total: 300, waiting: 298 });
  assertEquals(await queued(t.store), ["n0", "n1"]);
  return id;
}

export const flowKeys: Cases = {
  "a flow with an id is stored once and completed, wherever the push before was cut off": async (open) => {
    for (const when of ["before", "after"] as const) {
      for (let n = 0;; n++) {
        await using t = await open();
        const { store, cut } = cutAt(t.store, n, when);
        const first = push(store);
        if (await first.then(() => false, () => true)) assert(cut());
        const again = await push(await t.another());
        const id = await onlyFlow(t);
        assertEquals([again.id, again.jids.n299], [id, `${id}-300`]);
        if (!cut()) break;
      }
    }
  },

  "two programs that push the same flow at once store it once": async (open) => {
    await using t = await open();
    const pushed = await Promise.all([t.store, await t.another(), await t.another()].map((store) => push(store)));
    const id = await onlyFlow(t);
    assertEquals(pushed.map((one) => one.id), [id, id, id]);
  },

  "the id outlives its flow, and is free after its time": async (open) => {
    await using t = await open();
    const options = { ...KEYED, within: "2d", keepFor: "1h" };
    const first = await push(t.store, NODES, options);
    await t.store.batches.close(first.id, "cancelled");
    while ((await t.store.batches.tend(1_000, "nodes")).more);
    const waiting = await entries(t.store, { in: "queue", queue: "default" });
    await t.store.jobs.edit(waiting.map(({ ref }) => ref), "delete");
    t.advance(DAY_MS);
    await t.store.batches.tend(10);
    assertEquals(await push(t.store, NODES, options), { ...first, existed: true });
    t.advance(DAY_MS + HOUR_MS);
    await t.store.batches.tend(10);
    const second = await push(t.store, NODES, options);
    assertEquals([second.id === first.id, second.existed], [false, undefined]);
  },

  "an id that another flow has is refused": async (open) => {
    await using t = await open();
    const { id } = await push(t.store);
    const others: FlowNodes[] = [
      { ...NODES, n0: { job: ["Noop", [-1]] } },
      { ...NODES, n0: { job: ["Other", [0]] } },
      { ...NODES, n0: { job: ["Noop", [0], { queue: "other" }] } },
      { ...NODES, n0: { job: ["Noop", [0]], onDead: "cancel" } },
      { ...NODES, n299: { job: ["Noop", [299]], after: "n0" } },
      { ...NODES, more: { job: ["Noop", [0]] } },
    ];
    for (const other of others) {
      await assertRejects(() => push(t.store, other), Error, `flow "${id}" was pushed with it`);
    }
    await assertRejects(() => clientOf(t.store).flow("other", NODES, KEYED), Error, `flow "${id}" was pushed with it`);
    assertEquals(await onlyFlow(t), id);
    // Options, a job with the same id and a flow with another one are free.
    await push(t.store, { ...NODES, n0: { job: ["Noop", [0], { retry: 3 }] } });
    await clientOf(t.store).push("Noop", [], { ...KEYED, queue: "other" });
    assertEquals(await onlyFlow(t), id);
    assertEquals((await push(t.store, NODES, { id: "other" })).existed, undefined);
  },

  "a flow that was abandoned half stored is stored as a new one: nothing of it has run": async (open) => {
    await using t = await open();
    await push(cutAt(t.store, 2, "before").store).catch(() => {});
    t.advance(HOUR_MS);
    await t.store.batches.tend(10);
    const [abandoned] = (await t.store.batches.read({ flows: true })).batches;
    assertEquals(abandoned?.state, "abandoned");
    const { id, existed } = await push(t.store);
    assertEquals([id === abandoned!.id, existed], [false, undefined]);
    assertEquals((await t.store.batches.read({ ids: [id] })).batches[0]?.state, "running");
    assertEquals((await push(t.store)).id, id);
  },
};
