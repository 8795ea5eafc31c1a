/**
 * Webhooks: jobs that follow from an end, in the step of that end.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { getField, setFields } from "../../src/job/raw.ts";
import { endedText } from "../../src/job/result.ts";
import { deliveriesOf, type Notice, type Subscription } from "../../src/job/webhook.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { cancelBatch } from "../../src/store/ops/batches.ts";
import { cancelJob } from "../../src/store/ops/cancel.ts";
import type { NewJob } from "../../src/store/port/jobs.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import type { Cases } from "./harness.ts";
import { DIAMOND, ending, flow, ID, start, take } from "./flow_nodes.ts";
import { entries, inDead, inRetry, jid, job, jobs, lapse, register, rescueFor, takeUpTo } from "./jobs.ts";

const ALL: Subscription = { name: "all", on: ["succeeded", "dead", "cancelled", "batch.complete", "flow.ended"] };
const NAMED: Subscription = { name: "named.one" };
const HOUR_MS = 3_600_000;

/** Returns a job that follows from the end of the n-th one. */
function follow(n: number): { readonly follow: readonly NewJob[] } {
  const notice = { id: `e${n}`, type: "dead", at: 1_700_000_000_000, data: { jid: jid(n) } } as const;
  return { follow: deliveriesOf([ALL], notice) };
}

/** Returns the notices that are queued, with their webhooks, oldest first. */
async function notices(store: Store): Promise<(Notice & { readonly to: string })[]> {
  const found = await entries(store, { in: "queue", queue: "webhooks" });
  return found.map(({ payload }) => {
    assertEquals(typeof getField(payload, "enqueued_at"), "number");
    const [notice] = getField(payload, "args") as [Notice];
    const to = String(getField(payload, "class")).replace("webhook:", "");
    assertEquals(getField(payload, "jid"), `${notice.id}-${to}`);
    return { ...notice, to };
  });
}

/** Returns of each notice the webhook, the type and the job or batch. */
async function sent(store: Store): Promise<unknown[]> {
  return (await notices(store)).map(({ to, type, data }) => [to, type, data["jid"] ?? data["id"]]);
}

export const webhooks: Cases = {
  "keeps the subscriptions that were declared last": async (open) => {
    await using t = await open();
    assertEquals(await t.store.webhooks.read(), []);
    await t.store.webhooks.declare([ALL, NAMED]);
    await t.store.webhooks.declare([NAMED]);
    assertEquals(await (await t.another()).webhooks.read(), [NAMED]);
    await t.store.webhooks.declare([]);
    assertEquals(await t.store.webhooks.read(), []);
  },

  "merges the subscriptions of all workers, and withdraws those of a worker with it": async (open) => {
    await using t = await open();
    const { store } = t;
    const [newer, old] = [await register(store, "newer:1:a"), await register(store, "old:1:a")];
    await store.webhooks.declare([ALL, NAMED], newer);
    t.advance(1_000);
    const changed: Subscription = { name: "named.one", on: ["dead"] };
    await store.webhooks.declare([changed], old);
    assertEquals(await store.webhooks.read(), [changed, ALL]);
    t.advance(1_000);
    await store.webhooks.declare([ALL, NAMED], newer);
    assertEquals(await store.webhooks.read(), [changed, ALL], "the same again isn't a later declaration");
    assertEquals((await store.classes.declarations()).map(({ kind, name, worker }) => [kind, name, worker]), [
      ["webhook", "named.one", old],
      ["webhook", "all", newer],
      ["webhook", "named.one", newer],
    ]);
    await store.workers.deregister(old);
    assertEquals(await store.webhooks.read(), [ALL, NAMED]);
    await store.webhooks.declare([NAMED], newer);
    assertEquals(await store.webhooks.read(), [NAMED]);
    await store.webhooks.declare([], old);
    assertEquals(await store.webhooks.read(), [NAMED]);
    await store.workers.deregister(newer);
    assertEquals(await store.webhooks.read(), [], "the workers that are left have none");
    await store.webhooks.declare([ALL], newer);
    for (const worker of [old, newer]) await store.workers.deregister(worker);
    assertEquals(await store.webhooks.read(), [ALL], "an operator may end something while all workers are stopped");
  },

  "stores what follows from an end with it, once, and nothing if the lease was lost": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 4));
    const [ack, bury, discard, lost] = await takeUpTo(t.store, worker);
    const outcomes: Outcome[] = [
      { kind: "ack", token: ack!.token, ...follow(1) },
      { kind: "bury", token: bury!.token, payload: bury!.payload, ...follow(2) },
      { kind: "discard", token: discard!.token, ...follow(3) },
    ];
    assertEquals(await t.store.jobs.settle(worker, outcomes), { lost: [], dropped: 0 });
    assertEquals(await sent(t.store), [1, 2, 3].map((n) => ["all", "dead", jid(n)]));
    assertEquals((await t.store.jobs.settle(worker, outcomes)).lost.length, 3);
    await lapse(t);
    await rescueFor(t.store);
    assertEquals((await t.store.jobs.settle(worker, [{ kind: "ack", token: lost!.token, ...follow(4) }])).lost, [
      lost!.token,
    ]);
    assertEquals((await sent(t.store)).length, 3);
    const taken = await takeUpTo(t.store, await register(t.store), 10, ["webhooks"]);
    assertEquals(taken.length, 3, "workers take them");
  },

  "stores what follows once if a call has the same lease twice": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 2));
    const [one, two] = await takeUpTo(t.store, worker);
    const outcome: Outcome = { kind: "ack", token: one!.token, ...follow(1) };
    await t.store.jobs.settle(worker, [outcome, outcome, { kind: "ack", token: two!.token, ...follow(2) }]);
    assertEquals(await sent(t.store), [1, 2].map((n) => ["all", "dead", jid(n)]));
  },

  "sends jobs that operators cancel and kill, but not deleted and requeued ones": async (open) => {
    await using t = await open();
    await t.store.webhooks.declare([ALL, NAMED]);
    const worker = await register(t.store);
    await inDead(t.store, worker, [job(1)]);
    await inRetry(t.store, worker, [job(2)], HOUR_MS);
    await t.store.jobs.enqueue([job(3), job(4, { delayMs: HOUR_MS }), job(5), job(6), job(7, { queue: "kill" })]);
    const refOf = async (n: number) => (await t.store.jobs.find([jid(n)]))[0]!.ref;
    assertEquals(await cancelJob(t.store, jid(3), t.now()), "removed");
    assertEquals(await cancelJob(t.store, jid(4), t.now()), "removed");
    assertEquals(await t.store.jobs.edit([await refOf(2)], "kill"), 1);
    assertEquals(await t.store.jobs.edit({ in: { in: "queue", queue: "kill" }, limit: 10 }, "kill"), 1);
    assertEquals(await t.store.jobs.edit([await refOf(1)], "requeue"), 1);
    assertEquals(await t.store.jobs.edit([await refOf(5), await refOf(6)], "delete"), 2);
    assertEquals(await sent(t.store), [
      ["all", "cancelled", jid(3)],
      ["all", "cancelled", jid(4)],
      ["all", "dead", jid(2)],
      ["all", "dead", jid(7)],
    ]);
    const [first] = await notices(t.store);
    assertEquals(first!.data, { jid: jid(3), class: "HardJob", queue: "default", attempt: 1 });
    assertEquals(Math.abs(first!.at - t.now()) < 60_000, true);
    assertEquals(new Set((await notices(t.store)).map(({ id }) => id)).size, 4);
  },

  "sends to the webhooks that a job names, and not the ends of webhook jobs": async (open) => {
    await using t = await open();
    await t.store.webhooks.declare([{ ...ALL, class: ["Other*"] }, NAMED]);
    const named = (n: number, notify: unknown) => {
      const plain = job(n);
      return { ...plain, payload: setFields(plain.payload, { notify: JSON.stringify(notify) }) };
    };
    const own = job(9);
    const internal = { ...own, payload: setFields(own.payload, { class: '"webhook:all"', notify: '["named.one"]' }) };
    await t.store.jobs.enqueue([job(1), named(2, ["named.one", "gone"]), named(3, "all"), named(4, 5), internal]);
    for (const n of [1, 2, 3, 4, 9]) await cancelJob(t.store, jid(n), t.now());
    assertEquals(await sent(t.store), [["named.one", "cancelled", jid(2)], ["all", "cancelled", jid(3)]]);
    assertEquals(await entries(t.store, { in: "queue", queue: "default" }), []);
  },

  "an edit of a job that has moved sends nothing": async (open) => {
    await using t = await open();
    await t.store.webhooks.declare([ALL]);
    await t.store.jobs.enqueue([job(1)]);
    const [{ ref } = { ref: "" }] = await t.store.jobs.find([jid(1)]);
    await takeUpTo(t.store, await register(t.store));
    const body = endedText({ jid: jid(1), class: "HardJob", queue: "default", state: "cancelled", endedAt: 0 }, {
      steps: undefined,
    });
    assertEquals(await t.store.jobs.edit([ref], { cancel: { jid: jid(1), ttlMs: HOUR_MS, body } }), 0);
    assertEquals(await sent(t.store), []);
  },

  "sends a complete batch once, also a cancelled one, but not an abandoned one": async (open) => {
    await using t = await open();
    await t.store.webhooks.declare([ALL, NAMED, { name: "other", on: ["flow.ended"] }]);
    const worker = await register(t.store);
    const members = async (id: string, from: number, to: number, notify?: string[]) => {
      const more = notify && { name: 'import "1"', tags: ["a", "ä"], notify };
      await t.store.batches.create({ id, callbacks: {}, closeWithinMs: HOUR_MS, keepMs: HOUR_MS, ...more });
      await t.store.jobs.enqueue(
        jobs(from, to).map((one) => ({
          ...one,
          payload: setFields(one.payload, { batch: `"${id}"`, batch_counted: `"pending"` }),
          batch: { id },
        })),
      );
    };
    const change = (id: string, to: "succeeded" | "dead") => ({ batch: { id, from: "pending", to } } as const);
    await members("b1", 1, 2, ["named.one"]);
    const [one, two] = await takeUpTo(t.store, worker);
    await t.store.batches.close("b1", "closed");
    await t.store.jobs.settle(worker, [{ kind: "ack", token: one!.token, ...change("b1", "succeeded") }]);
    assertEquals(await sent(t.store), []);
    const dead = setFields(two!.payload, { batch_counted: `"dead"` });
    await t.store.jobs.settle(worker, [{ kind: "bury", token: two!.token, payload: dead, ...change("b1", "dead") }]);
    assertEquals(await sent(t.store), [["all", "batch.complete", "b1"], ["named.one", "batch.complete", "b1"]]);
    assertEquals((await notices(t.store))[0]!.data, {
      ...{ id: "b1", name: 'import "1"', tags: ["a", "ä"], state: "stuck", total: 2, succeeded: 1, failed: 0, dead: 1 },
      ...{ cancelled: 0, expired: 0, deleted: 0 },
    });
    // Its members are complete once.
    const [{ ref } = { ref: "" }] = await t.store.jobs.find([jid(2)]);
    await t.store.jobs.edit([ref], "delete");
    assertEquals((await sent(t.store)).length, 2);
    await members("b2", 3, 3);
    await cancelBatch(t.store, "b2", t.now());
    assertEquals((await sent(t.store)).slice(2), [["all", "cancelled", jid(3)], ["all", "batch.complete", "b2"]]);
    assertEquals((await notices(t.store))[3]!.data["state"], "cancelled");
    await t.store.batches.create({ id: "b3", callbacks: {}, closeWithinMs: HOUR_MS, keepMs: HOUR_MS });
    await t.store.batches.close("b3", "abandoned");
    assertEquals((await sent(t.store)).length, 4);
  },

  "sends an ended flow": async (open) => {
    await using t = await open();
    await t.store.webhooks.declare([ALL]);
    const worker = await start(t.store, DIAMOND);
    for (const names of ["a", "bc", "d"]) {
      const taken = await take(t.store, worker);
      await t.store.jobs.settle(worker, [...names].map((name) => ending(taken[name]!)));
    }
    assertEquals((await flow(t.store)).state, "succeeded");
    assertEquals(await sent(t.store), [["all", "flow.ended", ID]]);
    assertEquals((await notices(t.store))[0]!.data["succeeded"], 4);
  },

  "stores what follows from a decision about a cron entry, which doesn't become its live job": async (open) => {
    await using t = await open();
    const entry = { name: "nightly", version: 0, definition: "{}", state: "{}", awaited: false, records: [] };
    const [version] = await t.store.cron.write([{ ...entry, jobs: [job(1)], ...follow(2) }]);
    assertEquals(await sent(t.store), [["all", "dead", jid(2)]]);
    assertEquals((await t.store.cron.page()).entries[0]!.live, jid(1));
    assertEquals(await t.store.cron.write([{ ...entry, version: version! + 1, jobs: [], ...follow(3) }]), [undefined]);
    assertEquals((await sent(t.store)).length, 1);
  },
};
