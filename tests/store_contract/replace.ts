/** Pushes with a unique lock that replace the waiting job which has it. */
import { assert, assertEquals } from "@std/assert";
import { getField } from "../../src/job/raw.ts";
import type { Place } from "../../src/store/port/entries.ts";
import type { EnqueueResult, NewJob } from "../../src/store/port/jobs.ts";
import { type Cases, SLACK_MS, type TestStore } from "./harness.ts";
import { entries, HOUR_MS, jid, job, lapse, register, RESCUER, takeUpTo } from "./jobs.ts";

const KEY = "sync-7";
const QUEUE: Place = { in: "queue", queue: "default" };

/** The n-th job, which replaces the waiting one that has the lock. */
function replacing(n: number, change: Partial<NewJob> = {}, fields = ""): NewJob {
  const one = job(n, { unique: { key: KEY, ttlMs: 1_000 * HOUR_MS, replace: true }, ...change });
  const payload = one.payload.replace(/}$/, `,"unique_key":"${KEY}","on_duplicate":"replace"${fields}}`);
  return { ...one, payload };
}

/** Returns the number of the first job, and that of the push whose arguments it has, for each job in a place. */
async function contents(t: TestStore, place: Place): Promise<number[][]> {
  return (await entries(t.store, place)).map(({ payload }) => [
    parseInt(String(getField(payload, "jid")), 16),
    ...getField(payload, "args") as number[],
  ]);
}

const REPLACED: EnqueueResult[] = [{ kind: "replaced", jid: jid(1) }];

export const replace: Cases = {
  "a queued job is replaced in its position, under its jid": async (open) => {
    await using t = await open();
    assertEquals(await t.store.jobs.enqueue([replacing(1), job(2)]), [{ kind: "stored" }, { kind: "stored" }]);
    assertEquals(await t.store.jobs.enqueue([replacing(3)]), REPLACED);
    assertEquals(await (await t.another()).jobs.enqueue([replacing(4), job(5)]), [...REPLACED, { kind: "stored" }]);
    assertEquals(await contents(t, QUEUE), [[1, 4], [2, 2], [5, 5]]);
    assertEquals((await t.store.jobs.find([jid(1)])).length, 1);
    const worker = await register(t.store);
    const [lease] = await takeUpTo(t.store, worker, 1);
    assertEquals([getField(lease!.payload, "args"), getField(lease!.payload, "jid")], [[4], jid(1)]);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: lease!.token, unlock: KEY, jid: jid(1) }]);
    assertEquals(await t.store.jobs.enqueue([replacing(6)]), [{ kind: "stored" }], "a new job");
  },

  "in one call the last payload wins, after a throttle and a once key, too": async (open) => {
    await using t = await open();
    const once = { key: "id:a", ttlMs: HOUR_MS };
    const throttle = { key: "t", count: 3, perMs: HOUR_MS };
    assertEquals(await t.store.jobs.enqueue([replacing(1, { throttle }), job(9), replacing(2, { once, throttle })]), [
      { kind: "stored" },
      { kind: "stored" },
      ...REPLACED,
    ]);
    await t.store.jobs.enqueue([replacing(3, { throttle })]);
    const [repeated, full] = await t.store.jobs.enqueue([replacing(4, { once }), replacing(5, { throttle })]);
    assertEquals(repeated, { kind: "existing", first: jid(1) });
    assert(full?.kind === "throttled" && full.by === jid(1));
    assertEquals((await contents(t, QUEUE)).toSorted(), [[1, 3], [9, 9]]);
  },

  "the jobs of one call are stored in its order, those that may replace another among the others": async (open) => {
    await using t = await open();
    const other = (n: number, key: string, change: Partial<NewJob> = {}) =>
      replacing(n, { unique: { key, ttlMs: HOUR_MS, replace: true }, ...change });
    const once = { key: "id:a", ttlMs: HOUR_MS };
    const unique = { key: "plain", ttlMs: HOUR_MS };
    const results = await t.store.jobs.enqueue([
      job(1),
      other(2, "a"),
      job(3, { once, unique }),
      job(4, { queue: "low" }),
      job(5, { once }),
      job(6, { unique }),
      other(7, "b"),
      job(8, { delayMs: HOUR_MS }),
      job(9, { group: "acme" }),
      other(10, "a"),
      job(11),
      other(12, "c", { queue: "low" }),
      job(13, { queue: "low" }),
    ]);
    assertEquals(results.filter(({ kind }) => kind === "stored" || kind === "replaced").length, 11);
    assertEquals([results[4], results[5], results[9]], [
      { kind: "existing", first: jid(3) },
      { kind: "duplicate", holder: jid(3) },
      { kind: "replaced", jid: jid(2) },
    ]);
    assertEquals(await contents(t, QUEUE), [[1, 1], [2, 10], [3, 3], [7, 7], [11, 11]]);
    assertEquals(await contents(t, { in: "queue", queue: "low" }), [[4, 4], [12, 12], [13, 13]]);
    assertEquals(await contents(t, { in: "scheduled" }), [[8, 8]]);
    for (const { payload } of await entries(t.store, QUEUE)) {
      assertEquals(typeof getField(payload, "enqueued_at"), "number");
    }
    const [grouped, second] = [{ group: "acme" }, { group: "bob" }];
    await t.store.jobs.enqueue([job(20, grouped), other(21, "d", grouped), job(22, second), job(23, grouped)]);
    const { groups } = await t.store.admin.groups("default");
    assertEquals(groups.map(({ name, size }) => [name, size]).toSorted(), [["acme", 4], ["bob", 1]]);
    assertEquals(await contents(t, { ...QUEUE, group: "acme" } as Place), [[9, 9], [20, 20], [21, 21], [23, 23]]);
  },

  "a running job stays, and the push is a duplicate; while it waits again, it is replaced": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([replacing(1)]);
    const worker = await register(t.store);
    const [lease] = await takeUpTo(t.store, worker);
    const refused: EnqueueResult[] = [{ kind: "duplicate", holder: jid(1) }];
    assertEquals(await t.store.jobs.enqueue([replacing(2)]), refused);
    await t.store.jobs.settle(worker, [{ kind: "release", token: lease!.token }]);
    assertEquals(await t.store.jobs.enqueue([replacing(3)]), REPLACED);
    const [next] = await takeUpTo(t.store, worker);
    assertEquals(getField(next!.payload, "args"), [3]);
    const payload = next!.payload.replace(/}$/, `,"retry_count":4}`);
    await t.store.jobs.settle(worker, [{ kind: "retry", token: next!.token, delayMs: HOUR_MS, payload }]);
    assertEquals(await t.store.jobs.enqueue([replacing(4)]), REPLACED, "it retries");
    assertEquals([await contents(t, { in: "retry" }), await contents(t, QUEUE)], [[], [[1, 4]]]);
    const [last] = await takeUpTo(t.store, worker);
    assertEquals(getField(last!.payload, "retry_count"), undefined);
    await t.store.jobs.settle(worker, [{ ...last!, kind: "snooze", delayMs: HOUR_MS }]);
    assertEquals(await t.store.jobs.enqueue([replacing(5)]), REPLACED, "it is snoozed");
  },

  "a scheduled job gets the time of the push, and keeps its lock while it is due": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([replacing(1, { delayMs: HOUR_MS })]);
    assertEquals(await t.store.jobs.enqueue([replacing(2, { delayMs: 2 * HOUR_MS })]), REPLACED);
    t.advance(HOUR_MS + SLACK_MS);
    assertEquals((await t.store.jobs.promote(10)).moved, 0);
    t.advance(HOUR_MS);
    assertEquals((await t.store.jobs.promote(10)).moved, 1);
    assertEquals(await t.store.jobs.enqueue([replacing(3)]), REPLACED, "after it was promoted");
    assertEquals(await t.store.jobs.enqueue([replacing(4, { delayMs: HOUR_MS })]), REPLACED);
    assertEquals([await contents(t, { in: "scheduled" }), await contents(t, QUEUE)], [[[1, 4]], []]);
    assertEquals(await t.store.jobs.enqueue([replacing(5)]), REPLACED);
    assertEquals([await contents(t, { in: "scheduled" }), await contents(t, QUEUE)], [[], [[1, 5]]]);
    assertEquals((await t.store.admin.stats()).scheduled, 0);
  },

  "many jobs of a long queue are replaced in one call": async (open) => {
    await using t = await open();
    const count = 1_500;
    const many = (from: number) =>
      Array.from(
        { length: count },
        (_, i) => replacing(from + i, { unique: { key: `${KEY}-${i}`, ttlMs: HOUR_MS, replace: true } }),
      );
    await t.store.jobs.enqueue(many(1));
    const results = await t.store.jobs.enqueue(many(count + 1));
    assertEquals(results, Array.from({ length: count }, (_, i) => ({ kind: "replaced", jid: jid(i + 1) })));
    assertEquals((await contents(t, QUEUE)).slice(0, 3), [1, 2, 3].map((n) => [n, count + n]));
  },

  "moves between the groups of a queue with the job that replaces it": async (open) => {
    await using t = await open();
    const grouped = (n: number, group: string) => replacing(n, { group }, `,"group":"${group}"`);
    await t.store.jobs.enqueue([grouped(1, "acme")]);
    assertEquals(await t.store.jobs.enqueue([grouped(2, "acme")]), REPLACED);
    assertEquals(await t.store.jobs.enqueue([grouped(3, "bob")]), REPLACED);
    const { groups } = await t.store.admin.groups("default");
    assertEquals(groups.map(({ name, size }) => [name, size]), [["bob", 1]]);
    const worker = await register(t.store);
    const leases = await takeUpTo(t.store, worker);
    assertEquals(leases.map(({ group, payload }) => [group, getField(payload, "args")]), [["bob", [3]]]);
  },

  "in one call a job moves to another group, and leaves nothing in the first": async (open) => {
    await using t = await open();
    const grouped = (n: number, group: string, change: Partial<NewJob> = {}) =>
      replacing(n, { group, ...change }, `,"group":"${group}"`);
    await t.store.jobs.enqueue([grouped(1, "acme"), grouped(2, "bob")]);
    const { groups } = await t.store.admin.groups("default");
    assertEquals(groups.map(({ name, size }) => [name, size]), [["bob", 1]]);
    assertEquals((await t.store.admin.stats()).queues.map(({ size }) => size), [1]);
    await t.store.jobs.enqueue([grouped(3, "carl"), grouped(4, "carl", { delayMs: HOUR_MS })]);
    assertEquals((await t.store.admin.groups("default")).groups, []);
  },

  "a rescued job is replaced": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([replacing(1)]);
    await takeUpTo(t.store, await register(t.store));
    await lapse(t);
    assertEquals((await t.store.jobs.rescue({ worker: RESCUER, limit: 10, maxRescues: 3 })).rescued, 1);
    assertEquals(await t.store.jobs.enqueue([replacing(2)]), REPLACED);
    assertEquals(await contents(t, QUEUE), [[1, 2]]);
  },

  "a job that was not pushed with it, has steps, or counts in a batch or for a step is not replaced": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const refused: EnqueueResult[] = [{ kind: "duplicate", holder: jid(1) }];
    const plain = { unique: { key: KEY, ttlMs: HOUR_MS } };
    const others = ["", `"has_steps":true`, `"batch":"b","batch_counted":"pending"`, `"parent":{"jid":"p","step":"s"}`];
    for (const fields of others) {
      const one = fields === "" ? job(1, plain) : replacing(1, {}, `,${fields}`);
      // As a worker would leave it: the mark of a job with steps is written while it runs.
      await t.store.jobs.enqueue([fields === "" ? one : replacing(1)]);
      const [lease] = await takeUpTo(t.store, worker);
      await t.store.jobs.settle(worker, [{
        kind: "retry",
        token: lease!.token,
        delayMs: HOUR_MS,
        payload: one.payload,
      }]);
      assertEquals(await t.store.jobs.enqueue([replacing(2)]), refused, fields);
      await t.store.jobs.edit({ in: { in: "retry" }, limit: 10 }, "delete");
    }
    await t.store.jobs.enqueue([replacing(1)]);
    assertEquals(await t.store.jobs.enqueue([job(2, plain)]), refused, "a push without it replaces nothing");
  },

  "a deleted job releases its lock, and an expired lock's job is not replaced": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([replacing(1)]);
    await t.store.jobs.edit({ in: QUEUE, limit: 10 }, "delete");
    const unique = { key: KEY, ttlMs: HOUR_MS, replace: true };
    assertEquals(await t.store.jobs.enqueue([replacing(2, { unique })]), [{ kind: "stored" }]);
    t.advance(2 * HOUR_MS);
    assertEquals(await t.store.jobs.enqueue([replacing(3, { unique })]), [{ kind: "stored" }]);
    t.advance(HOUR_MS / 2);
    assertEquals(await t.store.jobs.enqueue([replacing(4, { unique })]), [{ kind: "replaced", jid: jid(3) }]);
    t.advance(HOUR_MS * 3 / 4);
    assertEquals(await t.store.jobs.enqueue([replacing(5, { unique })]), [{ kind: "replaced", jid: jid(3) }]);
    assertEquals(await contents(t, QUEUE), [[2, 2], [3, 5]]);
  },
};
