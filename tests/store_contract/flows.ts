/**
 * Flows: jobs that run after each other.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { getField } from "../../src/job/raw.ts";
import { endedText } from "../../src/job/result.ts";
import { TEND_LIMIT } from "../../src/store/port/batches.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import { entries, HOUR_MS } from "./jobs.ts";
import {
  create,
  DAY_MS,
  DIAMOND,
  ending,
  flow,
  type Graph,
  ID,
  nameOf,
  nodesOf,
  queued,
  start,
  states,
  take,
} from "./flow_nodes.ts";

export const flows: Cases = {
  "nothing runs before the flow is started, then the nodes that wait for none": async (open) => {
    await using t = await open();
    await create(t.store);
    await t.store.flows.add(ID, nodesOf(DIAMOND));
    assertEquals([await queued(t.store), await flow(t.store)], [[], {
      state: "open",
      total: 4,
      pending: 4,
      waiting: 4,
    }]);
    await t.store.batches.close(ID, "closed");
    assertEquals([await queued(t.store), await flow(t.store)], [["a"], {
      ...{ state: "running", total: 4, pending: 4, waiting: 3 },
    }]);
    const [entry] = await entries(t.store, { in: "queue", queue: "default" });
    assertEquals(typeof getField(entry!.payload, "enqueued_at"), "number");
  },

  "a node runs when all before it have succeeded, and the flow's callbacks follow the last": async (open) => {
    await using t = await open();
    const worker = await start(t.store, DIAMOND);
    const { a } = await take(t.store, worker);
    await t.store.jobs.settle(worker, [ending(a!)]);
    const { b, c } = await take(t.store, worker);
    await t.store.jobs.settle(worker, [ending(b!)]);
    assertEquals(await queued(t.store), []);
    await t.store.jobs.settle(worker, [ending(c!)]);
    assertEquals(await queued(t.store), ["d"]);
    const { d } = await take(t.store, worker);
    await t.store.jobs.settle(worker, [ending(d!)]);
    assertEquals(await flow(t.store), { state: "succeeded", total: 4, succeeded: 4 });
    const callbacks = await entries(t.store, { in: "queue", queue: "callbacks" });
    assertEquals(callbacks.map(({ payload }) => getField(payload, "jid")), [`${ID}-complete`, `${ID}-success`]);
  },

  "stored twice, started twice: each node is there once": async (open) => {
    await using t = await open();
    await start(t.store, DIAMOND);
    assertEquals(await t.store.flows.add(ID, nodesOf(DIAMOND)), "closed");
    await t.store.batches.close(ID, "closed");
    assertEquals([await queued(t.store), (await flow(t.store)).total], [["a"], 4]);
    await using other = await open();
    await create(other.store);
    for (let i = 0; i < 2; i++) await other.store.flows.add(ID, nodesOf(DIAMOND));
    assertEquals((await flow(other.store)).total, 4);
    assertEquals(await other.store.flows.add("none", nodesOf(DIAMOND)), "missing");
  },

  "stop: what comes after a dead node waits, visibly, until it is retried by hand": async (open) => {
    await using t = await open();
    const worker = await start(t.store, DIAMOND);
    const { a } = await take(t.store, worker);
    await t.store.jobs.settle(worker, [ending(a!)]);
    const { b, c } = await take(t.store, worker);
    await t.store.jobs.settle(worker, [ending(b!, "bury"), ending(c!)]);
    assertEquals([await queued(t.store), await flow(t.store)], [[], {
      ...{ state: "stuck", total: 4, pending: 1, waiting: 1, dead: 1, succeeded: 2 },
    }]);
    assertEquals((await t.store.flows.nodes(ID, { names: ["d", "none"] })).nodes.map(({ waitsFor }) => waitsFor), [1]);
    const [dead] = await entries(t.store, { in: "dead" });
    await t.store.jobs.edit([dead!.ref], "requeue");
    assertEquals([(await states(t.store)).b, (await flow(t.store)).state], ["pending", "running"]);
    const again = await take(t.store, worker);
    await t.store.jobs.settle(worker, [ending(again.b!)]);
    assertEquals(await queued(t.store), ["d"]);
  },

  "stop: what comes after a node that has left the store is cancelled, and all that follows": async (open) => {
    await using t = await open();
    const worker = await start(t.store, { a: {}, b: { after: ["a"] }, c: { after: ["b"] }, other: {} });
    const { a } = await take(t.store, worker);
    await t.store.jobs.settle(worker, [ending(a!, "discard")]);
    assertEquals(await states(t.store), { a: "failed", b: "cancelled", c: "cancelled", other: "pending" });
    assertEquals(await flow(t.store), { state: "running", total: 4, pending: 1, failed: 1, cancelled: 2 });
  },

  "stop: deleting the dead node cancels what waits for it": async (open) => {
    await using t = await open();
    const worker = await start(t.store, { a: {}, b: { after: ["a"] } });
    const { a } = await take(t.store, worker);
    await t.store.jobs.settle(worker, [ending(a!, "bury")]);
    const [dead] = await entries(t.store, { in: "dead" });
    await t.store.jobs.edit([dead!.ref], "delete");
    assertEquals([await states(t.store), (await flow(t.store)).state], [{ a: "deleted", b: "cancelled" }, "failed"]);
  },

  "continue: what comes after a dead node runs, once, also when it is retried later": async (open) => {
    await using t = await open();
    const worker = await start(t.store, { a: { onDead: "continue" }, b: { after: ["a"] } });
    const { a } = await take(t.store, worker);
    await t.store.jobs.settle(worker, [ending(a!, "bury")]);
    assertEquals(await queued(t.store), ["b"]);
    const [dead] = await entries(t.store, { in: "dead" });
    await t.store.jobs.edit([dead!.ref], "requeue");
    const leases = await take(t.store, worker);
    await t.store.jobs.settle(worker, [ending(leases.a!), ending(leases.b!)]);
    assertEquals([await queued(t.store), await flow(t.store)], [[], { state: "succeeded", total: 2, succeeded: 2 }]);
  },

  "cancel: what comes after a dead node is cancelled at once, except after a node that continues": async (open) => {
    await using t = await open();
    const worker = await start(t.store, {
      a: { onDead: "cancel" },
      b: { after: ["a"], onDead: "continue" },
      c: { after: ["b"] },
      d: { after: ["a"] },
    });
    const { a } = await take(t.store, worker);
    await t.store.jobs.settle(worker, [ending(a!, "bury")]);
    assertEquals(await states(t.store), { a: "dead", b: "cancelled", c: "pending", d: "cancelled" });
  },

  "every way to leave the store counts as what it is": async (open) => {
    await using t = await open();
    const worker = await start(t.store, {
      ...{ a: {}, b: { after: ["a"] }, c: {}, d: { after: ["c"] }, e: {}, f: { after: ["e"] } },
    });
    const [first, second] = await entries(t.store, { in: "queue", queue: "default" });
    const one = getField(first!.payload, "jid") as string;
    const body = endedText({ jid: one, class: "HardJob", queue: "default", state: "cancelled", endedAt: 1 });
    assertEquals(await t.store.jobs.edit([first!.ref], { cancel: { jid: one, ttlMs: HOUR_MS, body } }), 1);
    await t.store.jobs.edit([second!.ref], "kill");
    const { e } = await take(t.store, worker);
    await t.store.jobs.settle(worker, [ending(e!, "ack", { acknowledged: "expired" })]);
    assertEquals(await states(t.store), {
      ...{ a: "cancelled", b: "cancelled", c: "dead", d: "waiting", e: "expired", f: "cancelled" },
    });
  },

  "release, retry and snooze don't end a node": async (open) => {
    await using t = await open();
    const worker = await start(t.store, { a: {}, b: { after: ["a"] } });
    const { a } = await take(t.store, worker);
    await t.store.jobs.settle(worker, [{ kind: "release", token: a!.token }]);
    const again = (await take(t.store, worker)).a!;
    await t.store.jobs.settle(worker, [{
      kind: "retry",
      token: again.token,
      delayMs: HOUR_MS,
      payload: again.payload,
    }]);
    assertEquals(await states(t.store), { a: "pending", b: "waiting" });
  },

  "a cancelled flow leaves no node that waits, and starts none": async (open) => {
    await using t = await open();
    const worker = await start(t.store, DIAMOND);
    const { a } = await take(t.store, worker);
    assertEquals(await t.store.batches.close(ID, "cancelled"), { done: true, closedAs: "cancelled", waiting: 3 });
    assertEquals(await states(t.store), { a: "pending", b: "cancelled", c: "cancelled", d: "cancelled" });
    assertEquals(await t.store.batches.close(ID, "cancelled"), { done: false, closedAs: "cancelled" });
    await t.store.jobs.settle(worker, [ending(a!)]);
    assertEquals([await queued(t.store), await flow(t.store)], [[], {
      ...{ state: "cancelled", total: 4, succeeded: 1, cancelled: 3 },
    }]);
  },

  "a flow that isn't started in time is abandoned: nothing of it runs": async (open) => {
    await using t = await open();
    await create(t.store);
    await t.store.flows.add(ID, nodesOf(DIAMOND));
    t.advance(HOUR_MS + SLACK_MS);
    assertEquals(await t.store.batches.tend(10), { abandoned: 1, removed: 0, more: false });
    assertEquals([await queued(t.store), await flow(t.store)], [[], { state: "abandoned", total: 4, cancelled: 4 }]);
  },

  "a delay counts from when the node could run": async (open) => {
    await using t = await open();
    const worker = await start(t.store, { a: {}, b: { after: ["a"], delayMs: HOUR_MS } });
    t.advance(2 * HOUR_MS);
    const { a } = await take(t.store, worker);
    await t.store.jobs.settle(worker, [ending(a!)]);
    const [entry] = await entries(t.store, { in: "scheduled" });
    assertEquals([nameOf(entry!), await queued(t.store)], ["b", []]);
    assert(entry!.at! >= t.now() + HOUR_MS - SLACK_MS);
    t.advance(HOUR_MS + SLACK_MS);
    await t.store.jobs.promote(10);
    assertEquals(await queued(t.store), ["b"]);
  },

  "results are kept with the flow": async (open) => {
    await using t = await open();
    const worker = await start(t.store, { a: {}, b: { after: ["a"] } });
    const { a } = await take(t.store, worker);
    await t.store.jobs.settle(worker, [ending(a!, "ack", { result: `{"rows": [1, 2]}` })]);
    const { nodes } = await t.store.flows.nodes(ID, { names: ["b", "a", "none"], results: true });
    assertEquals(nodes.map(({ name, result }) => [name, result]), [["b", undefined], ["a", `{"rows": [1, 2]}`]]);
    const page = (await t.store.flows.nodes(ID, { results: true })).nodes;
    assertEquals(page.map(({ result }) => result).filter((result) => result !== undefined), [`{"rows": [1, 2]}`]);
    assertEquals((await t.store.flows.nodes(ID, { names: ["a"] })).nodes.map(({ result }) => result), [undefined]);
    assertEquals(await t.store.flows.nodes(ID, { names: [] }), { nodes: [] });
  },

  "one before many: its end pushes some at once, and the others in steps": async (open) => {
    await using t = await open();
    const many = Array.from({ length: 2 * TEND_LIMIT + 50 }, (_, i) => `n${i}`);
    const graph: Graph = {
      a: {},
      ...Object.fromEntries(many.map((name) => [name, { after: ["a"] }])),
      z: { after: many },
    };
    const worker = await start(t.store, graph);
    const { a } = await take(t.store, worker);
    await t.store.jobs.settle(worker, [ending(a!)]);
    assertEquals(await queued(t.store), many.slice(0, TEND_LIMIT + 1));
    assertEquals((await t.store.batches.tend(TEND_LIMIT, "nodes")).more, true);
    while ((await t.store.batches.tend(TEND_LIMIT)).more);
    assertEquals(await t.store.batches.tend(TEND_LIMIT), { abandoned: 0, removed: 0, more: false });
    assertEquals(await queued(t.store), many);
    const leases = Object.values(await take(t.store, worker));
    await t.store.jobs.settle(worker, leases.map((lease) => ending(lease)));
    assertEquals(await queued(t.store), ["z"]);
  },

  "one step continues nodes and abandons a batch, and one of nodes only leaves the batch": async (open) => {
    await using t = await open();
    await t.store.batches.create({ id: "late", callbacks: {}, closeWithinMs: HOUR_MS, keepMs: HOUR_MS });
    t.advance(HOUR_MS + SLACK_MS);
    const names = Array.from({ length: TEND_LIMIT + 50 }, (_, i) => `n${i}`);
    await start(t.store, Object.fromEntries(names.map((name) => [name, {}])));
    assertEquals((await queued(t.store)).length, TEND_LIMIT);
    assertEquals(await t.store.batches.tend(10, "nodes"), { abandoned: 0, removed: 0, more: true });
    assertEquals((await queued(t.store)).length, TEND_LIMIT + 10);
    assertEquals(await t.store.batches.tend(10), { abandoned: 1, removed: 0, more: true });
    assertEquals((await queued(t.store)).length, TEND_LIMIT + 20);
    assertEquals(await t.store.batches.tend(50), { abandoned: 0, removed: 0, more: false });
    assertEquals(await queued(t.store), names);
  },

  "pages: nodes in the order of the definition; flows apart from batches": async (open) => {
    await using t = await open();
    await start(t.store, DIAMOND);
    const first = await t.store.flows.nodes(ID, { limit: 3 });
    assertEquals(first.nodes.map(({ name, after, waitsFor }) => [name, after, waitsFor]), [
      ["a", [], 0],
      ["b", ["a"], 1],
      ["c", ["a"], 1],
    ]);
    const rest = await t.store.flows.nodes(ID, { limit: 3, cursor: first.next! });
    assertEquals([rest.nodes.map(({ name, position }) => [name, position]), rest.next], [[["d", 3]], undefined]);
    assertEquals(getField(rest.nodes[0]!.payload!, "flow_node"), "d");
    assertEquals((await t.store.batches.read()).batches, []);
    assertEquals((await t.store.batches.read({ flows: true })).batches.map(({ id }) => id), [ID]);
  },

  "nothing of a flow is left after its retention": async (open) => {
    await using t = await open();
    const worker = await start(t.store, { a: {}, b: { after: ["a"] } });
    for (const name of ["a", "b"]) {
      await t.store.jobs.settle(worker, [ending((await take(t.store, worker))[name]!, "ack", { result: "1" })]);
    }
    t.advance(DAY_MS + SLACK_MS);
    assertEquals(await t.store.batches.tend(10), { abandoned: 0, removed: 1, more: false });
    assertEquals((await t.store.flows.nodes(ID)).nodes, []);
    assertEquals((await t.store.flows.nodes(ID, { names: ["a"] })).nodes, []);
    assertEquals((await t.store.batches.read({ flows: true })).batches, []);
  },

  "another store takes a flow over, as it is": async (open) => {
    await using t = await open();
    const worker = await start(t.store, { a: {}, b: { after: ["a"] }, c: { after: ["b"] } });
    const { a } = await take(t.store, worker);
    await t.store.jobs.settle(worker, [ending(a!, "ack", { result: "7" })]);
    const { b } = await take(t.store, worker);
    const before = await t.store.flows.nodes(ID);
    const { rows: batch } = await t.store.transfer.read("batch", { ids: [ID] });
    const { rows: nodes, next } = await t.store.transfer.read("node", { ids: [ID] });
    assertEquals([nodes.length, next], [3, undefined]);
    await t.store.transfer.drop("batch", [{ id: ID }]);
    assertEquals((await t.store.flows.nodes(ID)).nodes, []);
    await t.store.transfer.put("batch", batch);
    for (let i = 0; i < 2; i++) await t.store.transfer.put("node", nodes);
    assertEquals(await t.store.flows.nodes(ID), before);
    const [moved] = (await t.store.flows.nodes(ID, { names: ["a"], results: true })).nodes;
    assertEquals(moved?.result, "7");
    await t.store.jobs.settle(worker, [ending(b!)]);
    assertEquals(await queued(t.store), ["c"]);
  },
};
