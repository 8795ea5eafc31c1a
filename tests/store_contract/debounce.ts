/** Debounced pushes: of the jobs with one key, one at most waits in `scheduled`, with the last payload. */
import { assert, assertEquals } from "@std/assert";
import { getField } from "../../src/job/raw.ts";
import type { Debounce, NewJob } from "../../src/store/port/jobs.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import { entries, HOUR_MS, jid, job, numbers, numbersIn, register, takeUpTo } from "./jobs.ts";

const KEY = "reindex-7";

/** The n-th job, put off for an hour. */
function debounced(n: number, change: Partial<Debounce> = {}, more: Partial<NewJob> = {}): NewJob {
  const debounce = { key: KEY, waitMs: HOUR_MS, ...change };
  const one = job(n, { debounce, ...more });
  return { ...one, payload: one.payload.replace(/}$/, `,"debounce_key":"${debounce.key}"}`) };
}

export const debounce: Cases = {
  "a scheduled job whose arguments or fields look like a debounce is due, killed and deleted as any other": async (
    open,
  ) => {
    const odd = [`"a b"`, `"a.b"`, `null`, `7`, `{"debounce_key":"x"}`, `"unended`];
    const payloads = odd.flatMap((value) => [
      `{"class":"Noop","jid":"${jid(1)}","args":[{"debounce_key":${value}}]}`,
      `{"class":"Noop","jid":"${jid(1)}","args":[],"debounce_key":${value}}`,
    ]);
    await using t = await open();
    for (const payload of payloads) {
      for (const way of ["promote", "kill", "delete"] as const) {
        const at = way === "promote" ? t.now() - 1 : t.now() + HOUR_MS;
        await t.store.transfer.put("job", [{ ref: "", place: { in: "scheduled" }, payload, at }], crypto.randomUUID());
        if (way === "promote") {
          const { moved, buried } = await t.store.jobs.promote(10);
          assertEquals(moved + buried, 1, payload);
        } else {
          const [one] = await entries(t.store, { in: "scheduled" });
          assertEquals(await t.store.jobs.edit([one!.ref], way), 1, `${way}: ${payload}`);
        }
        const left = (await entries(t.store, { in: "scheduled" })).length;
        assertEquals(left, 0, `${way}: ${payload}`);
      }
    }
    const { enqueued, dead } = await t.store.admin.stats();
    assertEquals(enqueued + dead, 2 * payloads.length);
  },

  "the next push replaces the job that waits, and answers with its jid": async (open) => {
    await using t = await open();
    assertEquals(await t.store.jobs.enqueue([debounced(1)]), [{ kind: "stored" }]);
    assertEquals(await t.store.jobs.enqueue([job(9), debounced(2)]), [
      { kind: "stored" },
      { kind: "replaced", jid: jid(1) },
    ]);
    assertEquals(await (await t.another()).jobs.enqueue([debounced(3)]), [{ kind: "replaced", jid: jid(1) }]);
    const [only, ...others] = await entries(t.store, { in: "scheduled" });
    assertEquals([getField(only!.payload, "jid"), getField(only!.payload, "args"), others], [jid(1), [3], []]);
    assertEquals((await t.store.jobs.find([jid(1)])).length, 1);
    assertEquals((await t.store.admin.stats()).scheduled, 1);
  },

  "in one batch the last payload wins": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([debounced(1), debounced(2), debounced(3, { key: "else" }), debounced(4)]);
    const found = await entries(t.store, { in: "scheduled" });
    assertEquals(found.map(({ payload }) => getField(payload, "args")).toSorted(), [[3], [4]]);
  },

  "each push puts the job off": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([debounced(1)]);
    t.advance(HOUR_MS / 2);
    await t.store.jobs.enqueue([debounced(2)]);
    t.advance(HOUR_MS / 2 + SLACK_MS);
    assertEquals((await t.store.jobs.promote(10)).moved, 0);
    t.advance(HOUR_MS / 2);
    assertEquals((await t.store.jobs.promote(10)).moved, 1);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [2]);
  },

  "a job is due after its longest time, however often it is put off": async (open) => {
    await using t = await open();
    const maxMs = 2 * HOUR_MS;
    for (let n = 1; n <= 4; n++) {
      await t.store.jobs.enqueue([debounced(n, { maxMs })]);
      t.advance(HOUR_MS / 2);
    }
    t.advance(SLACK_MS);
    assertEquals((await t.store.jobs.promote(10)).moved, 1);
    await t.store.jobs.enqueue([debounced(5, { maxMs })]);
    const [next] = await entries(t.store, { in: "scheduled" });
    assert(next!.at! > t.now() + HOUR_MS / 2, "a new wait begins");
  },

  "after the clock was set back, the longest time counts from the next push": async (open) => {
    await using t = await open();
    const maxMs = HOUR_MS;
    await t.store.jobs.enqueue([debounced(1, { maxMs })]);
    t.advance(-24 * HOUR_MS);
    for (let n = 2; n <= 4; n++) {
      await t.store.jobs.enqueue([debounced(n, { waitMs: HOUR_MS / 2, maxMs })]);
      t.advance(HOUR_MS * 0.4);
    }
    // 1.2 hours have passed, and the last push alone would put it off until 1.3.
    assertEquals((await t.store.jobs.promote(10)).moved, 1);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [4]);
  },

  "while it is queued or runs, the next push waits next to it": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([debounced(1)]);
    t.advance(HOUR_MS + SLACK_MS);
    await t.store.jobs.promote(10);
    const worker = await register(t.store);
    assertEquals(await t.store.jobs.enqueue([debounced(2)]), [{ kind: "stored" }]);
    assertEquals(numbers(await takeUpTo(t.store, worker)), [1]);
    assertEquals(await t.store.jobs.enqueue([debounced(3)]), [{ kind: "replaced", jid: jid(2) }]);
    assertEquals((await entries(t.store, { in: "scheduled" })).length, 1);
  },

  "a retry of the job is not replaced": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([debounced(1, { waitMs: 1 })]);
    t.advance(SLACK_MS);
    await t.store.jobs.promote(10);
    const worker = await register(t.store);
    const [lease] = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [{ ...lease!, kind: "retry", delayMs: HOUR_MS }]);
    assertEquals(await t.store.jobs.enqueue([debounced(2)]), [{ kind: "stored" }]);
    assertEquals(await numbersIn(t.store, { in: "retry" }), [1]);
  },

  "after the job was deleted, killed or run at once, the next push begins a new wait": async (open) => {
    await using t = await open();
    for (const [n, edit] of (["delete", "kill", "requeue"] as const).entries()) {
      assertEquals(await t.store.jobs.enqueue([debounced(2 * n + 1)]), [{ kind: "stored" }]);
      const [found] = await entries(t.store, { in: "scheduled" });
      assertEquals(await t.store.jobs.edit([found!.ref], edit), 1);
      assertEquals(await t.store.jobs.enqueue([debounced(2 * n + 2)]), [{ kind: "stored" }], edit);
      await t.store.jobs.edit({ in: { in: "scheduled" }, limit: 10 }, "delete");
    }
  },

  "a push with a known once key changes nothing": async (open) => {
    await using t = await open();
    const once = { key: "jid:1", ttlMs: HOUR_MS };
    await t.store.jobs.enqueue([debounced(1, {}, { once })]);
    assertEquals(await t.store.jobs.enqueue([debounced(2, {}, { once })]), [{ kind: "existing", first: jid(1) }]);
    assertEquals(await numbersIn(t.store, { in: "scheduled" }), [1]);
  },
};
