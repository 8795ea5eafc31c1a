/**
 * Batches: counters of jobs that belong together, and the jobs that follow when they have ended.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { countedAs, countedIn, type MemberEnd } from "../../src/job/batch.ts";
import { getField, setFields } from "../../src/job/raw.ts";
import { endedText } from "../../src/job/result.ts";
import { laneOf } from "../../src/job/priority.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { checkBatch } from "../../src/store/ops/batch_check.ts";
import { cancelBatch } from "../../src/store/ops/batches.ts";
import type { Batch, NewBatch } from "../../src/store/port/batches.ts";
import type { Lease, NewJob } from "../../src/store/port/jobs.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import { interceptStore } from "../support/intercept.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import { entries, HOUR_MS, jid, job, lapse, register, rescueFor, takeUpTo } from "./jobs.ts";

const DAY_MS = 24 * HOUR_MS;

/** Returns the n-th batch. Its callbacks go to the queue `callbacks`. */
function batch(n: number, change: Partial<NewBatch> = {}): NewBatch {
  const id = `b${jid(n).slice(1)}`;
  const callback = (event: string) => {
    const jid = `${id}-${event}`;
    const parent = change.parent === undefined ? "" : `,"batch":"${change.parent.id}","batch_counted":"pending"`;
    const payload = `{"class":"Callback","args":["${event}"],"jid":"${jid}","queue":"callbacks"${parent}}`;
    return { jid, class: "Callback", queue: "callbacks", payload };
  };
  return {
    id,
    callbacks: {
      success: callback("success"),
      complete: callback("complete"),
      death: callback("death"),
      abandoned: callback("abandoned"),
    },
    closeWithinMs: DAY_MS,
    keepMs: 7 * DAY_MS,
    ...change,
  };
}

/** Returns the n-th job as a member. */
function member(n: number, { id }: { readonly id: string }, change: Partial<NewJob> = {}): NewJob {
  const plain = job(n, change);
  const payload = setFields(plain.payload, { batch: `"${id}"`, batch_counted: `"pending"` });
  return { ...plain, payload, batch: { id }, ...change };
}

/** Returns the change at the end of a member. */
function ending(lease: Lease, how: "ack" | "discard" | "bury", acknowledged: MemberEnd = "succeeded"): Outcome {
  const { token, payload } = lease;
  const { id, counted: from } = countedIn(payload)!;
  if (how === "bury") return { kind: how, token, payload: countedAs(payload, "dead"), batch: { id, from, to: "dead" } };
  return { kind: how, token, batch: { id, from, to: how === "ack" ? acknowledged : "failed" } };
}

/** Returns the counters that aren't zero. */
async function counts(store: Store, { id }: { readonly id: string }): Promise<Partial<Batch>> {
  const found = (await store.batches.read({ ids: [id] })).batches[0];
  assert(found !== undefined, `no batch ${id}`);
  const { total, pending, dead, succeeded, failed, cancelled, expired, deleted } = found;
  assertEquals(total, pending + dead + succeeded + failed + cancelled + expired + deleted);
  const all = { total, pending, dead, succeeded, failed, cancelled, expired, deleted };
  return Object.fromEntries(Object.entries(all).filter(([, count]) => count !== 0));
}

/** Returns the events whose callbacks are queued, in order. */
async function pushed(store: Store): Promise<unknown[]> {
  const found = await entries(store, { in: "queue", queue: "callbacks" });
  return found.map(({ payload }) => (getField(payload, "args") as unknown[])[0]);
}

/** Opens the batch 1, pushes members 1 … `count` and takes them. */
async function running(store: Store, count: number, change: Partial<NewBatch> = {}) {
  const worker = await register(store);
  const one = batch(1, change);
  await store.batches.create(one);
  await store.jobs.enqueue(Array.from({ length: count }, (_, i) => member(i + 1, one)));
  return { worker, one, leases: await takeUpTo(store, worker, count) };
}

const state = async (store: Store, { id }: { readonly id: string }) =>
  (await store.batches.read({ ids: [id] })).batches[0]?.state;

/** Returns a batch of three members, and a store in which one moves past the first read of all places: from its queue to `scheduled`. */
async function moving(store: Store): Promise<{ one: NewBatch; store: Store }> {
  const one = batch(1);
  await store.batches.create(one);
  await store.jobs.enqueue([1, 2, 3].map((n) => member(n, one)));
  let moves = 1;
  const moved = interceptStore(store, async ({ verb, args, pass }) => {
    const reply = await pass();
    if (verb === "admin.page" && (args[0] as { in: string }).in === "scheduled" && moves-- > 0) {
      const worker = await register(store);
      const [lease] = await takeUpTo(store, worker, 1);
      await store.jobs.settle(worker, [{ kind: "snooze", ...lease!, delayMs: HOUR_MS }]);
    }
    return reply;
  });
  return { one, store: moved };
}

export const batches: Cases = {
  "members count from the step that stores them to the step that ends them": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 3);
    assertEquals(await counts(t.store, one), { total: 3, pending: 3 });
    await t.store.jobs.settle(worker, [ending(leases[0]!, "ack"), ending(leases[1]!, "discard")]);
    assertEquals(await counts(t.store, one), { total: 3, pending: 1, succeeded: 1, failed: 1 });
    await t.store.jobs.settle(worker, [ending(leases[2]!, "bury")]);
    assertEquals(await counts(t.store, one), { total: 3, dead: 1, succeeded: 1, failed: 1 });
  },

  "complete and success follow once the batch is closed and its members have succeeded": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 2);
    await t.store.jobs.settle(worker, leases.map((lease) => ending(lease, "ack")));
    assertEquals([await pushed(t.store), await state(t.store, one)], [[], "open"]);
    assertEquals(await t.store.batches.close(one.id, "closed"), { done: true, closedAs: "closed" });
    assertEquals([await pushed(t.store), await state(t.store, one)], [["complete", "success"], "succeeded"]);
    const [callback] = await entries(t.store, { in: "queue", queue: "callbacks" });
    assertEquals(getField(callback!.payload, "jid"), `${one.id}-complete`);
    assertEquals(typeof getField(callback!.payload, "enqueued_at"), "number");
  },

  "an empty batch succeeds when it is closed": async (open) => {
    await using t = await open();
    await t.store.batches.create(batch(1));
    await t.store.batches.close(batch(1).id, "closed");
    assertEquals([await pushed(t.store), await state(t.store, batch(1))], [["complete", "success"], "succeeded"]);
  },

  "a callback with a group runs in its group": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.admin.configure("callbacks", { group: "acme", limit: { running: 1 } });
    const one = batch(1);
    const { success } = one.callbacks;
    const grouped = { ...success!, group: "acme", payload: setFields(success!.payload, { group: `"acme"` }) };
    await t.store.batches.create({ ...one, callbacks: { success: grouped } });
    await t.store.batches.close(one.id, "closed");
    const [lease] = await t.store.jobs.take({ queues: ["callbacks"], limit: 10, worker });
    assertEquals([lease?.group, lease?.payload.includes("-success")], ["acme", true]);
  },

  "a callback keeps its priority": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1, { queue: "callbacks" }), job(2, { queue: "callbacks" })]);
    const one = batch(1);
    const { success } = one.callbacks;
    const high = { ...success!, group: laneOf("high"), payload: setFields(success!.payload, { priority: `"high"` }) };
    await t.store.batches.create({ ...one, callbacks: { success: high } });
    await t.store.batches.close(one.id, "closed");
    const [first] = await t.store.jobs.take({ queues: ["callbacks"], limit: 1, worker });
    assertEquals([first?.group, first?.payload.includes("-success")], [laneOf("high"), true]);
  },

  "closing twice changes nothing": async (open) => {
    await using t = await open();
    await t.store.batches.create(batch(1));
    await t.store.batches.close(batch(1).id, "closed");
    assertEquals(await t.store.batches.close(batch(1).id, "closed"), { done: false, closedAs: "closed" });
    assertEquals(await t.store.batches.close("none", "closed"), undefined);
    assertEquals(await pushed(t.store), ["complete", "success"]);
  },

  "creating the same batch twice changes nothing": async (open) => {
    await using t = await open();
    const { one } = await running(t.store, 1);
    assertEquals(await t.store.batches.create(one), undefined);
    assertEquals(await counts(t.store, one), { total: 1, pending: 1 });
  },

  "death follows the first member that fails permanently, and complete the last one": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 3);
    await t.store.batches.close(one.id, "closed");
    await t.store.jobs.settle(worker, [ending(leases[0]!, "bury")]);
    assertEquals(await pushed(t.store), ["death"]);
    await t.store.jobs.settle(worker, [ending(leases[1]!, "bury")]);
    await t.store.jobs.settle(worker, [ending(leases[2]!, "ack")]);
    assertEquals([await pushed(t.store), await state(t.store, one)], [["death", "complete"], "stuck"]);
  },

  "a dead member that is retried by hand is pending again, and its success makes the batch one": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 1);
    await t.store.batches.close(one.id, "closed");
    await t.store.jobs.settle(worker, [ending(leases[0]!, "bury")]);
    const [dead] = await entries(t.store, { in: "dead" });
    assertEquals(await t.store.jobs.edit([dead!.ref], "requeue"), 1);
    assertEquals(await counts(t.store, one), { total: 1, pending: 1 });
    const [again] = await takeUpTo(t.store, worker, 1);
    await t.store.jobs.settle(worker, [ending(again!, "ack")]);
    assertEquals(await counts(t.store, one), { total: 1, succeeded: 1 });
    assertEquals(await pushed(t.store), ["death", "complete", "success"]);
  },

  "a dead member that Sidekiq's page retries counts as dead until it ends, once": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 1);
    await t.store.batches.close(one.id, "closed");
    await t.store.jobs.settle(worker, [ending(leases[0]!, "bury")]);
    const [dead] = await entries(t.store, { in: "dead" });
    // Sidekiq moves the payload, and ignores its mark.
    await t.pushRaw("default", dead!.payload);
    const [again] = await takeUpTo(t.store, worker, 1);
    await t.store.jobs.settle(worker, [ending(again!, "ack")]);
    assertEquals(await counts(t.store, one), { total: 1, succeeded: 1 });
  },

  "release, retry and snooze don't end a member": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 3);
    await t.store.batches.close(one.id, "closed");
    const [a, b, c] = leases as [Lease, Lease, Lease];
    await t.store.jobs.settle(worker, [
      { kind: "release", token: a.token },
      { kind: "retry", token: b.token, delayMs: HOUR_MS, payload: b.payload },
      { kind: "snooze", token: c.token, delayMs: HOUR_MS, payload: c.payload },
    ]);
    assertEquals([await counts(t.store, one), await pushed(t.store)], [{ total: 3, pending: 3 }, []]);
    t.advance(HOUR_MS + SLACK_MS);
    await t.store.jobs.promote(10);
    assertEquals(await counts(t.store, one), { total: 3, pending: 3 });
  },

  "a rescued member counts once": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 1);
    await t.store.batches.close(one.id, "closed");
    await lapse(t);
    assertEquals((await rescueFor(t.store)).rescued, 1);
    await register(t.store, worker);
    assertEquals((await t.store.jobs.settle(worker, [ending(leases[0]!, "ack")])).lost.length, 1);
    assertEquals(await counts(t.store, one), { total: 1, pending: 1 });
    const [again] = await takeUpTo(t.store, worker, 1);
    await t.store.jobs.settle(worker, [ending(again!, "ack")]);
    assertEquals(await counts(t.store, one), { total: 1, succeeded: 1 });
  },

  "a token that ends twice in one step counts once": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 2);
    await t.store.jobs.settle(worker, [ending(leases[0]!, "ack"), ending(leases[0]!, "discard")]);
    assertEquals((await counts(t.store, one)).pending, 1);
  },

  "members that end in one step count by batch, without those that had ended before": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 3);
    const other = batch(2);
    await t.store.batches.create(other);
    await t.store.jobs.enqueue([4, 5, 6].map((n) => member(n, other)));
    const others = await takeUpTo(t.store, worker, 3);
    await t.store.jobs.settle(worker, [leases[1]!, others[0]!].map((lease) => ending(lease, "ack")));
    const all = [...leases, ...others].map((lease) => ending(lease, "ack"));
    assertEquals((await t.store.jobs.settle(worker, all)).lost, [leases[1]!.token, others[0]!.token]);
    assertEquals(await counts(t.store, one), { total: 3, succeeded: 3 });
    assertEquals(await counts(t.store, other), { total: 3, succeeded: 3 });
  },

  "cancelled, expired and deleted members are counted apart": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const one = batch(1);
    await t.store.batches.create(one);
    await t.store.jobs.enqueue([1, 2, 3, 4, 5].map((n) => member(n, one)));
    await t.store.batches.close(one.id, "closed");
    const [first, second, third] = await entries(t.store, { in: "queue", queue: "default" });
    const body = endedText({ jid: jid(1), class: "HardJob", queue: "default", state: "cancelled", endedAt: 1 });
    assertEquals(await t.store.jobs.edit([first!.ref], { cancel: { jid: jid(1), ttlMs: HOUR_MS, body } }), 1);
    await t.store.jobs.edit([second!.ref], "delete");
    await t.store.jobs.edit([third!.ref], "kill");
    assertEquals(await counts(t.store, one), { total: 5, pending: 2, dead: 1, cancelled: 1, deleted: 1 });
    const [a, b] = await takeUpTo(t.store, worker, 2);
    await t.store.jobs.settle(worker, [ending(a!, "ack", "expired"), ending(b!, "ack", "cancelled")]);
    assertEquals(await pushed(t.store), ["death", "complete"]);
    const [dead] = await entries(t.store, { in: "dead" });
    await t.store.jobs.edit([dead!.ref], "delete");
    assertEquals(await counts(t.store, one), { total: 5, expired: 1, cancelled: 2, deleted: 2 });
    assertEquals([await state(t.store, one), await pushed(t.store)], ["failed", ["death", "complete"]]);
  },

  "clearing a queue and the dead set counts the members in them": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 1);
    await t.store.jobs.enqueue([member(2, one), member(3, one)]);
    await t.store.jobs.settle(worker, [ending(leases[0]!, "bury")]);
    await t.store.jobs.edit({ in: { in: "queue", queue: "default" }, limit: 100 }, "delete");
    await t.store.jobs.edit({ in: { in: "dead" }, limit: 100 }, "delete");
    assertEquals(await counts(t.store, one), { total: 3, deleted: 3 });
  },

  "a dead member that is dropped beyond the limit counts as deleted": async (open) => {
    await using t = await open({ deadMaxJobs: 1 });
    const { worker, one, leases } = await running(t.store, 3);
    await t.store.batches.close(one.id, "closed");
    for (const lease of leases) {
      await t.store.jobs.settle(worker, [ending(lease, "bury")]);
      t.advance(1_000);
    }
    assertEquals(await counts(t.store, one), { total: 3, dead: 1, deleted: 2 });
  },

  "a refused member isn't counted, and takes neither its lock nor its key": async (open) => {
    await using t = await open();
    const one = batch(1);
    await t.store.batches.create(one);
    await t.store.batches.close(one.id, "closed");
    const unique = { key: "k", ttlMs: HOUR_MS };
    const once = { key: "id:1", ttlMs: HOUR_MS };
    const refused = await t.store.jobs.enqueue([
      member(1, one, { unique, once }),
      member(2, { id: "none" }),
      job(3, { unique, once }),
    ]);
    assertEquals(refused, [{ kind: "refused", batch: "closed" }, { kind: "refused", batch: "missing" }, {
      kind: "stored",
    }]);
    assertEquals(await counts(t.store, one), {});
  },

  "a member that is refused because of its lock or its key isn't counted": async (open) => {
    await using t = await open();
    const one = batch(1);
    await t.store.batches.create(one);
    const unique = { key: "k", ttlMs: HOUR_MS };
    const once = { key: "id:1", ttlMs: HOUR_MS };
    await t.store.jobs.enqueue([member(1, one, { unique }), member(2, one, { unique }), member(3, one, { once })]);
    assertEquals(await t.store.jobs.enqueue([member(4, one, { once })]), [{ kind: "existing", first: jid(3) }]);
    assertEquals(await counts(t.store, one), { total: 2, pending: 2 });
    await t.store.batches.close(one.id, "closed");
    // An earlier push has stored it, whatever state the batch has now.
    assertEquals(await t.store.jobs.enqueue([member(5, one, { once })]), [{ kind: "existing", first: jid(3) }]);
  },

  "a closed batch accepts members that its running members add": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 1);
    await t.store.batches.close(one.id, "closed");
    const by = { worker, token: leases[0]!.token };
    const added = await t.store.jobs.enqueue([member(2, one, { batch: { id: one.id, by } })]);
    assertEquals(added, [{ kind: "stored" }]);
    await t.store.jobs.settle(worker, [ending(leases[0]!, "ack")]);
    assertEquals(await pushed(t.store), []);
    // The member that adds has ended, and another one is pending.
    const late = await t.store.jobs.enqueue([member(3, one, { batch: { id: one.id, by } })]);
    assertEquals(late, [{ kind: "refused", batch: "closed" }]);
    const [second] = await takeUpTo(t.store, worker, 1);
    await t.store.jobs.settle(worker, [ending(second!, "ack")]);
    assertEquals(await pushed(t.store), ["complete", "success"]);
  },

  "a closed batch accepts nothing from a lost lease, nor from a job of another batch": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 2);
    const other = batch(2);
    await t.store.batches.create(other);
    for (const { id } of [one, other]) await t.store.batches.close(id, "closed");
    const [kept, lost] = leases as [Lease, Lease];
    await t.store.jobs.settle(worker, [{ kind: "release", token: lost.token }]);
    const add = (id: string, token: string, from = worker) =>
      t.store.jobs.enqueue([member(3, { id }, { batch: { id, by: { worker: from, token } } })]);
    for (
      const refused of [
        () => add(one.id, lost.token),
        () => add(one.id, kept.token, "other:1:x"),
        () => add(one.id, "none"),
        () => add(other.id, kept.token),
      ]
    ) assertEquals(await refused(), [{ kind: "refused", batch: "closed" }]);
    const by = (token: string) => ({ id: one.id, by: { worker, token } });
    assertEquals(await t.store.batches.create(batch(3, { parent: by(lost.token) })), "closed");
    assertEquals(await counts(t.store, one), { total: 2, pending: 2 });
    assertEquals(await t.store.batches.create(batch(3, { parent: by(kept.token) })), undefined);
    assertEquals(await add(one.id, kept.token), [{ kind: "stored" }]);
    assertEquals(await counts(t.store, one), { total: 4, pending: 4 });
  },

  "scheduled members count": async (open) => {
    await using t = await open();
    const one = batch(1);
    await t.store.batches.create(one);
    await t.store.jobs.enqueue([member(1, one, { delayMs: HOUR_MS })]);
    assertEquals(await counts(t.store, one), { total: 1, pending: 1 });
    const [waiting] = await entries(t.store, { in: "scheduled" });
    await t.store.jobs.edit([waiting!.ref], "requeue");
    assertEquals(await counts(t.store, one), { total: 1, pending: 1 });
  },

  "a cancelled batch accepts no members, and pushes complete without success": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 1);
    assertEquals(await t.store.batches.close(one.id, "cancelled"), { done: true, closedAs: "cancelled" });
    const by = { worker, token: leases[0]!.token };
    const refused = await t.store.jobs.enqueue([member(2, one, { batch: { id: one.id, by } })]);
    assertEquals(refused, [{ kind: "refused", batch: "cancelled" }]);
    await t.store.jobs.settle(worker, [ending(leases[0]!, "ack", "cancelled")]);
    assertEquals([await pushed(t.store), await state(t.store, one)], [["complete"], "cancelled"]);
  },

  "a batch that isn't closed in time is abandoned, and its members continue": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 1, { closeWithinMs: HOUR_MS });
    t.advance(HOUR_MS / 2);
    await t.store.jobs.enqueue([member(2, one)]);
    t.advance(HOUR_MS / 2 + SLACK_MS);
    await register(t.store);
    // A new member extends the time.
    assertEquals(await t.store.batches.tend(10), { abandoned: 0, removed: 0, more: false });
    t.advance(HOUR_MS);
    assertEquals(await t.store.batches.tend(10), { abandoned: 1, removed: 0, more: false });
    assertEquals([await pushed(t.store), await state(t.store, one)], [["abandoned"], "abandoned"]);
    const [second] = await takeUpTo(t.store, worker, 1);
    await t.store.jobs.settle(worker, [ending(leases[0]!, "ack"), ending(second!, "ack")]);
    assertEquals(await pushed(t.store), ["abandoned"]);
    const { callbacks } = (await t.store.batches.read({ ids: [one.id] })).batches[0]!;
    assertEquals(callbacks.filter(({ pushedAt }) => pushedAt !== undefined).map(({ event }) => event), ["abandoned"]);
    assertEquals(await t.store.batches.close(one.id, "closed"), { done: false, closedAs: "abandoned" });
  },

  "a finished batch is removed after its retention, and one with dead members stays": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 1, { keepMs: HOUR_MS });
    const two = batch(2, { keepMs: HOUR_MS });
    await t.store.batches.create(two);
    await t.store.batches.close(one.id, "closed");
    await t.store.batches.close(two.id, "closed");
    await t.store.jobs.settle(worker, [ending(leases[0]!, "bury")]);
    t.advance(HOUR_MS + SLACK_MS);
    assertEquals(await t.store.batches.tend(10), { abandoned: 0, removed: 1, more: false });
    assertEquals((await t.store.batches.read({ ids: [two.id] })).batches[0], undefined);
    const [dead] = await entries(t.store, { in: "dead" });
    await t.store.jobs.edit([dead!.ref], "delete");
    t.advance(HOUR_MS + SLACK_MS);
    assert((await t.holding(one.id)).length > 1);
    assertEquals(await t.store.batches.tend(10), { abandoned: 0, removed: 1, more: false });
    assertEquals(await t.store.batches.read(), { batches: [] });
    // Its callbacks are queued.
    assertEquals((await t.holding(one.id)).filter((name) => name !== "job" && name !== "queue:callbacks"), []);
  },

  "a member that ends after its batch was removed changes nothing": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 1);
    await t.store.transfer.drop("batch", [{ id: one.id }]);
    assertEquals(await t.store.jobs.settle(worker, [ending(leases[0]!, "ack")]), { lost: [], dropped: 0 });
    assertEquals((await t.store.batches.read({ ids: [one.id] })).batches[0], undefined);
  },

  "a batch waits for its child batches, and for their callbacks": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const outer = batch(1);
    const inner = batch(2, { parent: { id: outer.id } });
    await t.store.batches.create(outer);
    assertEquals(await t.store.batches.create(inner), undefined);
    await t.store.batches.close(outer.id, "closed");
    assertEquals(await counts(t.store, outer), { total: 1, pending: 1 });
    await t.store.jobs.enqueue([member(1, inner)]);
    await t.store.batches.close(inner.id, "closed");
    const [lease] = await takeUpTo(t.store, worker, 1);
    await t.store.jobs.settle(worker, [ending(lease!, "ack")]);
    assertEquals(await counts(t.store, outer), { total: 3, pending: 2, succeeded: 1 });
    const callbacks = await takeUpTo(t.store, worker, 10, ["callbacks"]);
    assertEquals(callbacks.map(({ payload }) => getField(payload, "jid")), [
      `${inner.id}-complete`,
      `${inner.id}-success`,
    ]);
    await t.store.jobs.settle(worker, callbacks.map((one) => ending(one, "ack")));
    assertEquals([await pushed(t.store), await state(t.store, outer)], [["complete", "success"], "succeeded"]);
  },

  "a dead member prevents the success of the parent batch until it is retried": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const outer = batch(1, { callbacks: {} });
    const inner = batch(2, { parent: { id: outer.id }, callbacks: {} });
    for (const one of [outer, inner]) await t.store.batches.create(one);
    await t.store.jobs.enqueue([member(1, inner)]);
    for (const one of [outer, inner]) await t.store.batches.close(one.id, "closed");
    const [lease] = await takeUpTo(t.store, worker, 1);
    await t.store.jobs.settle(worker, [ending(lease!, "bury")]);
    assertEquals([await counts(t.store, outer), await state(t.store, outer)], [{ total: 1, dead: 1 }, "stuck"]);
    const [dead] = await entries(t.store, { in: "dead" });
    await t.store.jobs.edit([dead!.ref], "requeue");
    assertEquals(await state(t.store, outer), "running");
    const [again] = await takeUpTo(t.store, worker, 1);
    await t.store.jobs.settle(worker, [ending(again!, "ack")]);
    assertEquals([await state(t.store, inner), await state(t.store, outer)], ["succeeded", "succeeded"]);
  },

  "a batch can't be opened in a closed one": async (open) => {
    await using t = await open();
    await t.store.batches.create(batch(1));
    await t.store.batches.close(batch(1).id, "closed");
    assertEquals(await t.store.batches.create(batch(2, { parent: { id: batch(1).id } })), "closed");
    assertEquals((await t.store.batches.read({ ids: [batch(2).id] })).batches[0], undefined);
  },

  "a member that another client pushed is counted once, under its lease": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const one = batch(1);
    await t.store.batches.create(one);
    await t.pushRaw("default", setFields(job(1).payload, { batch: `"${one.id}"` }));
    const [lease] = await takeUpTo(t.store, worker, 1);
    const held = { worker, token: lease!.token, jid: jid(1) };
    const payload = await t.store.batches.admit(held, one.id);
    assertEquals(countedIn(payload!), { id: one.id, counted: "pending" });
    assertEquals(await t.store.batches.admit(held, one.id), payload);
    assertEquals(await counts(t.store, one), { total: 1, pending: 1 });
    await t.store.jobs.settle(worker, [{ kind: "release", token: lease!.token }]);
    const [again] = await takeUpTo(t.store, worker, 1);
    assertEquals(countedIn(again!.payload)?.counted, "pending");
    assertEquals(await t.store.batches.admit(held, one.id), undefined);
  },

  "correct: corrects the counters, unless the batch has changed since": async (open) => {
    await using t = await open();
    const { one } = await running(t.store, 3);
    await t.store.batches.close(one.id, "closed");
    const { version } = (await t.store.batches.read({ ids: [one.id] })).batches[0]!;
    assertEquals(await t.store.batches.correct(one.id, { pending: 0, dead: 0, version: version - 1 }), false);
    // A program without batches removed all three.
    assertEquals(await t.store.batches.correct(one.id, { pending: 0, dead: 0, version }), true);
    assertEquals([await counts(t.store, one), await pushed(t.store)], [{}, ["complete", "success"]]);
  },

  "a check counts nested batches and flows, and leaves right counters": async (open) => {
    await using t = await open();
    const { one } = await running(t.store, 1);
    for (const n of [2, 3]) await t.store.batches.create(batch(n, { parent: { id: one.id } }));
    await t.store.batches.create(batch(4, { parent: { id: one.id }, flow: true }));
    await t.store.batches.close(batch(3).id, "closed");
    const { version } = (await t.store.batches.read({ ids: [one.id] })).batches[0]!;
    const checked = await checkBatch(t.store, one.id);
    assertEquals(checked?.result, "right", JSON.stringify(checked));
    assertEquals((await t.store.batches.read({ ids: [one.id] })).batches[0]!.version, version);
  },

  "a check finds members that move between two of its reads": async (open) => {
    await using t = await open();
    const { one, store } = await moving(t.store);
    assertEquals(await checkBatch(store, one.id), {
      ...{ pending: 3, dead: 0, before: { pending: 3, dead: 0 }, result: "right" },
    });
  },

  "a check corrects the counters of members that another program removed": async (open) => {
    await using t = await open();
    const { one, worker, leases } = await running(t.store, 3);
    // A program without batches tells none of them.
    await t.store.jobs.settle(worker, leases.slice(1).map(({ token }) => ({ kind: "ack", token })));
    const checked = await checkBatch(t.store, one.id);
    assertEquals([checked?.result, await counts(t.store, one)], ["corrected", { total: 1, pending: 1 }]);
  },

  "a cancel reaches members that move between two of its reads": async (open) => {
    await using t = await open();
    const { one, store } = await moving(t.store);
    const cancelled = await cancelBatch(store, one.id, Date.now());
    assertEquals(cancelled, { done: true, closedAs: "cancelled", members: 3 });
    assertEquals(await counts(t.store, one), { total: 3, cancelled: 3 });
  },

  "a take marks each member of a cancelled batch, wherever it was during the cancel, and no other job": async (
    open,
  ) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 3);
    const other = batch(2);
    await t.store.batches.create(other);
    await t.store.admin.configure("default", { group: "held", limit: { running: 1 } });
    const held = { queue: "default", group: "held" };
    const grouped = (n: number) => {
      const { payload, ...rest } = member(n, one, held);
      return { ...rest, payload: setFields(payload, { group: `"held"` }) };
    };
    await t.store.jobs.enqueue([grouped(4), grouped(5)]);
    const [first] = await takeUpTo(t.store, worker, 1);
    await t.store.jobs.enqueue([member(6, one, { delayMs: HOUR_MS }), member(7, one), member(8, other), job(9)]);
    await t.store.batches.close(one.id, "cancelled");
    const [a, b, c] = leases as [Lease, Lease, Lease];
    await t.store.jobs.settle(worker, [
      { kind: "release", token: a.token },
      { kind: "retry", token: b.token, delayMs: HOUR_MS, payload: b.payload },
      { kind: "snooze", token: c.token, delayMs: HOUR_MS, payload: c.payload },
      { kind: "release", token: first!.token },
    ]);
    // A program that knows no cancelled batches pushes a member, and jobs that only mention the batch.
    await t.pushRaw("default", setFields(job(10).payload, { batch: `  "${one.id}"` }));
    await t.pushRaw("default", setFields(job(11).payload, { args: `[{"batch":"${one.id}"}]` }));
    await t.pushRaw("default", setFields(job(12).payload, { args: `[{"batch":"${one.id}"}]`, batch: `"${other.id}"` }));
    await t.pushRaw("default", setFields(job(13).payload, { args: `[{"batch":"${other.id}"}]`, batch: `"${one.id}"` }));
    await t.pushRaw("default", setFields(job(14).payload, { batch: `{"id":"${one.id}"}` }));
    await t.pushRaw("default", `["batch":"${one.id}"`);
    t.advance(HOUR_MS + SLACK_MS);
    await register(t.store, worker);
    await t.store.jobs.promote(10);
    const taken: Lease[] = [];
    for (let more: Lease[]; (more = await takeUpTo(t.store, worker, 100)).length > 0; taken.push(...more)) {
      await t.store.jobs.settle(worker, more.map(({ token }) => ({ kind: "ack", token })));
    }
    const marked = taken.filter(({ cancelled }) => cancelled).map(({ payload }) => getField(payload, "jid")).sort();
    assertEquals([marked, taken.length], [[1, 2, 3, 4, 5, 6, 7, 10, 13].map(jid), 15]);
  },

  "the callbacks of a cancelled batch aren't members of it": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const outer = batch(1);
    const inner = batch(2, { parent: { id: outer.id } });
    for (const one of [outer, inner]) await t.store.batches.create(one);
    await t.store.batches.close(inner.id, "cancelled");
    const callbacks = async () =>
      (await takeUpTo(t.store, worker, 10, ["callbacks"])).map(({ token, payload, cancelled = false }) => {
        return { token, of: `${getField(payload, "jid")}`, cancelled };
      });
    const first = await callbacks();
    assertEquals(first.map(({ of, cancelled }) => [of, cancelled]), [[`${inner.id}-complete`, false]]);
    await t.store.batches.close(outer.id, "cancelled");
    await t.store.jobs.settle(worker, first.map(({ token }) => ({ kind: "release", token })));
    // Those of a nested batch are members of the outer one.
    const again = await callbacks();
    assertEquals(again.map(({ of, cancelled }) => [of, cancelled]), [[`${inner.id}-complete`, true]]);
  },

  "pages: the latest first": async (open) => {
    await using t = await open();
    for (const n of [1, 2, 3]) await t.store.batches.create(batch(n, { name: `import ${n}`, tags: ["customer:7"] }));
    const first = await t.store.batches.read({ limit: 2 });
    assertEquals(first.batches.map(({ name }) => name), ["import 3", "import 2"]);
    const rest = await t.store.batches.read({ limit: 2, cursor: first.next! });
    assertEquals([rest.batches.map(({ name, tags }) => [name, tags]), rest.next], [
      [["import 1", ["customer:7"]]],
      undefined,
    ]);
  },

  "another store imports a batch with its counters and callbacks": async (open) => {
    await using t = await open();
    const { worker, one, leases } = await running(t.store, 1);
    await t.store.batches.close(one.id, "closed");
    const before = (await t.store.batches.read({ ids: [one.id] })).batches[0];
    const { rows } = await t.store.transfer.read("batch", { ids: [one.id] });
    await t.store.transfer.drop("batch", [{ id: one.id }]);
    for (let i = 0; i < 2; i++) await t.store.transfer.put("batch", rows);
    assertEquals((await t.store.batches.read({ ids: [one.id] })).batches[0], before);
    await t.store.jobs.settle(worker, [ending(leases[0]!, "ack")]);
    assertEquals(await pushed(t.store), ["complete", "success"]);
  },
};
