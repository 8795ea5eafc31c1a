/** Throttled pushes: a key accepts a maximum number of jobs within a period. */
import { assert, assertEquals } from "@std/assert";
import type { NewJob, Throttle } from "../../src/store/port/jobs.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import { entries, HOUR_MS, jid, job, numbersIn, register, takeUpTo } from "./jobs.ts";

/** The n-th job, of which one is accepted in an hour. */
function throttled(n: number, change: Partial<Throttle> = {}, more: Partial<NewJob> = {}): NewJob {
  return job(n, { throttle: { key: "webhook-7", count: 1, perMs: HOUR_MS, ...change }, ...more });
}

export const throttle: Cases = {
  "a push within the time is refused, and names the job that has the place": async (open) => {
    await using t = await open();
    assertEquals(await t.store.jobs.enqueue([throttled(1)]), [{ kind: "stored" }]);
    const [refused] = await (await t.another()).jobs.enqueue([throttled(2)]);
    assert(refused?.kind === "throttled" && refused.by === jid(1), JSON.stringify(refused));
    assert(refused.freeInMs > HOUR_MS - SLACK_MS && refused.freeInMs <= HOUR_MS, `${refused.freeInMs}`);
    assertEquals(await t.store.jobs.enqueue([throttled(3, { key: "else" }), job(4)]), [
      { kind: "stored" },
      { kind: "stored" },
    ]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [1, 3, 4]);
  },

  "as many as the count are accepted in any such time": async (open) => {
    await using t = await open();
    const push = async (...numbers: number[]) => {
      const results = await t.store.jobs.enqueue(numbers.map((n) => throttled(n, { count: 3 })));
      return results.map((result) => result.kind === "throttled" ? result.by : result.kind);
    };
    assertEquals(await push(1, 2), ["stored", "stored"]);
    t.advance(HOUR_MS / 2);
    assertEquals(await push(3, 4), ["stored", jid(1)]);
    t.advance(HOUR_MS / 2 + SLACK_MS);
    assertEquals(await push(5, 6, 7), ["stored", "stored", jid(3)]);
  },

  "the place stays used when the job has ended or was deleted": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([throttled(1)]);
    const [lease] = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: lease!.token }]);
    assertEquals((await t.store.jobs.enqueue([throttled(2)]))[0]!.kind, "throttled");
  },

  "a refused push uses no place, no lock and no key": async (open) => {
    await using t = await open();
    const unique = { key: "lock", ttlMs: 1_000 * HOUR_MS };
    const once = { key: "once", ttlMs: 1_000 * HOUR_MS };
    await t.store.jobs.enqueue([throttled(1)]);
    await t.store.jobs.enqueue([throttled(2, {}, { unique, once })]);
    assertEquals(await t.store.jobs.enqueue([job(3, { unique, once })]), [{ kind: "stored" }]);
    t.advance(HOUR_MS + SLACK_MS);
    const [locked, first, stored] = await t.store.jobs.enqueue([
      throttled(4, {}, { unique }),
      throttled(5, {}, { once }),
      throttled(6),
    ]);
    assert(locked?.kind === "duplicate" && locked.holder === jid(3), JSON.stringify(locked));
    assert(first?.kind === "existing" && first.first === jid(3), JSON.stringify(first));
    assertEquals(stored, { kind: "stored" });
  },

  "scheduled and debounced jobs count when they are pushed": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([throttled(1, {}, { delayMs: HOUR_MS })]);
    const debounce = { key: "d", waitMs: HOUR_MS };
    assertEquals((await t.store.jobs.enqueue([throttled(2, {}, { debounce })]))[0]!.kind, "throttled");
    assertEquals((await entries(t.store, { in: "scheduled" })).length, 1);
  },

  "a clock that was set back doesn't refuse pushes for longer than the time": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([throttled(1)]);
    t.advance(-10 * HOUR_MS);
    const [refused] = await t.store.jobs.enqueue([throttled(2)]);
    assert(refused?.kind === "throttled" && refused.by === jid(1), JSON.stringify(refused));
    assert(refused.freeInMs <= HOUR_MS, `${refused.freeInMs}`);
    t.advance(HOUR_MS + SLACK_MS);
    assertEquals(await t.store.jobs.enqueue([throttled(3)]), [{ kind: "stored" }]);
  },
};
