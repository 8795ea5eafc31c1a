/** Idempotent pushes: jobs with the same key are stored once, also after the first has ended. */
import { assertEquals } from "@std/assert";
import type { NewJob } from "../../src/store/port/jobs.ts";
import type { Cases } from "./harness.ts";
import { HOUR_MS, jid, job, numbersIn, register, takeUpTo } from "./jobs.ts";

const KEY = "order-7-email";

function keyed(n: number, more: Partial<NewJob> = {}): NewJob {
  return { ...job(n), once: { key: KEY, ttlMs: HOUR_MS }, ...more };
}

export const once: Cases = {
  "a second job with the key isn't stored, and the result has the jid of the first": async (open) => {
    await using t = await open();
    assertEquals(await t.store.jobs.enqueue([keyed(1)]), [{ kind: "stored" }]);
    assertEquals(await t.store.jobs.enqueue([keyed(2), job(3)]), [{ kind: "existing", first: jid(1) }, {
      kind: "stored",
    }]);
    assertEquals(await (await t.another()).jobs.enqueue([keyed(4)]), [{ kind: "existing", first: jid(1) }]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [1, 3]);
  },

  "in one batch the first wins, and of concurrent batches one, which the others name": async (open) => {
    await using t = await open();
    assertEquals(await t.store.jobs.enqueue([keyed(1), keyed(2)]), [{ kind: "stored" }, {
      kind: "existing",
      first: jid(1),
    }]);
    const other = (n: number) => t.store.jobs.enqueue([keyed(n, { once: { key: "other", ttlMs: HOUR_MS } })]);
    const numbers = [3, 4, 5];
    const answers = (await Promise.all(numbers.map(other))).flat();
    const won = numbers.filter((_n, i) => answers[i]!.kind === "stored");
    assertEquals(won.length, 1);
    const lost = answers.filter(({ kind }) => kind !== "stored");
    assertEquals(lost, Array(2).fill({ kind: "existing", first: jid(won[0]!) }));
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "default" }), [1, ...won]);
  },

  "the key outlives its job, and is free after its time": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([keyed(1)]);
    const [lease] = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: lease!.token }]);
    assertEquals(await t.store.jobs.enqueue([keyed(2)]), [{ kind: "existing", first: jid(1) }]);
    t.advance(2 * HOUR_MS);
    assertEquals(await t.store.jobs.enqueue([keyed(3)]), [{ kind: "stored" }]);
  },

  "the key outlives a job that was deleted": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([keyed(1)]);
    const [entry] = await t.store.jobs.find([jid(1)]);
    await t.store.jobs.edit([entry!.ref], "delete");
    assertEquals(await t.store.jobs.enqueue([keyed(2)]), [{ kind: "existing", first: jid(1) }]);
  },

  "the key holds for a scheduled job, too": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([keyed(1, { delayMs: HOUR_MS / 2 })]);
    assertEquals(await t.store.jobs.enqueue([keyed(2)]), [{ kind: "existing", first: jid(1) }]);
    assertEquals(await numbersIn(t.store, { in: "scheduled" }), [1]);
  },

  "a job that is refused because of its lock doesn't use its key, and a known key is named before the lock": async (
    open,
  ) => {
    await using t = await open();
    const unique = { key: "lock", ttlMs: 10 * HOUR_MS };
    await t.store.jobs.enqueue([{ ...job(1), unique }]);
    assertEquals(await t.store.jobs.enqueue([keyed(2, { unique }), keyed(3)]), [
      { kind: "duplicate", holder: jid(1) },
      { kind: "stored" },
    ]);
    assertEquals(await t.store.jobs.enqueue([keyed(4, { unique })]), [{ kind: "existing", first: jid(3) }]);
  },

  "a job with the key of another fingerprint is refused, and one with the same fingerprint or none gets the jid of the first":
    async (
      open,
    ) => {
      await using t = await open();
      const marked = (n: number, fingerprint: string, more: Partial<NewJob> = {}) =>
        keyed(n, { once: { key: KEY, ttlMs: HOUR_MS, fingerprint }, ...more });
      const unique = { key: "lock", ttlMs: HOUR_MS };
      const differs = { kind: "existing", first: jid(1), differs: true } as const;
      assertEquals(await t.store.jobs.enqueue([marked(1, "one_-"), marked(2, "two")]), [{ kind: "stored" }, differs]);
      assertEquals(
        await t.store.jobs.enqueue([marked(3, "two"), marked(4, "two", { unique }), marked(5, "one_-"), keyed(6)]),
        [differs, differs, { kind: "existing", first: jid(1) }, { kind: "existing", first: jid(1) }],
      );
      // A refused job takes no lock.
      assertEquals(await t.store.jobs.enqueue([{ ...job(7), unique }]), [{ kind: "stored" }]);
      t.advance(2 * HOUR_MS);
      assertEquals(await t.store.jobs.enqueue([marked(8, "two"), marked(9, "one_-")]), [
        { kind: "stored" },
        { ...differs, first: jid(8) },
      ]);
      await t.store.jobs.enqueue([keyed(10, { once: { key: "bare", ttlMs: HOUR_MS } })]);
      const bare = { key: "bare", ttlMs: HOUR_MS, fingerprint: "one" };
      assertEquals(await t.store.jobs.enqueue([keyed(11, { once: bare })]), [{ kind: "existing", first: jid(10) }]);
    },

  "keys and locks of many jobs in one batch stay with their jobs": async (open) => {
    await using t = await open();
    const jobs = Array.from({ length: 3_000 }, (_, i): NewJob => ({
      ...job(i + 1, i % 5 === 0 ? { delayMs: HOUR_MS } : {}),
      ...(i % 2 === 0 && { once: { key: `k${i % 400}`, ttlMs: HOUR_MS } }),
      ...(i % 3 === 0 && { unique: { key: `u${i % 600}`, ttlMs: 10 * HOUR_MS } }),
    }));
    const expected = new Map<string, string>();
    const answers = await t.store.jobs.enqueue(jobs);
    for (const [i, answer] of answers.entries()) {
      const { once, unique } = jobs[i]!;
      if (answer.kind !== "stored") continue;
      for (const key of [once && `once ${once.key}`, unique && `unique ${unique.key}`]) {
        if (key === undefined) continue;
        assertEquals(expected.has(key), false, `${key} is stored twice`);
        expected.set(key, jobs[i]!.jid);
      }
    }
    for (const [i, answer] of answers.entries()) {
      const { once, unique } = jobs[i]!;
      if (answer.kind === "stored") assertEquals(once || unique ? expected.size > 0 : true, true);
      else if (answer.kind === "existing") assertEquals(answer.first, expected.get(`once ${once!.key}`));
      else assertEquals(answer.kind === "duplicate" && answer.holder, expected.get(`unique ${unique!.key}`));
    }
    const { enqueued, scheduled } = await t.store.admin.stats();
    assertEquals(enqueued + scheduled, answers.filter(({ kind }) => kind === "stored").length);
  },
};
