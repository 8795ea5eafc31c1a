/**
 * Searching for jobs in all places.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { setFields } from "../../src/job/raw.ts";
import type { NewJob } from "../../src/store/port/jobs.ts";
import type { Cases, TestStore } from "./harness.ts";
import { HOUR_MS, inDead, inRetry, jid, job, jobs, numbers, register, takeUpTo } from "./jobs.ts";
import { keepRecord } from "../support/records.ts";

export const search: Cases = {
  "finds a jid in every place": async (open) => {
    await using t = await open();
    await everywhere(t, (n) => job(n));
    for (const [n, where] of ["running", "retry", "dead", "scheduled", "queue"].entries()) {
      const found = await t.store.jobs.find([jid(n)]);
      assertEquals(numbers(found), [n]);
      assertEquals(found[0]!.place.in, where);
    }
    assertEquals(await t.store.jobs.find([jid(77)]), []);
  },

  "get counts how many jobs are taken before one, up to a bound": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(100, { queue: "other" }), ...jobs(1, 5), job(6, { delayMs: HOUR_MS })]);
    const refs = await Promise.all([1, 4, 6].map(async (n) => (await t.store.jobs.find([jid(n)]))[0]!.ref));
    const before = async (most: number) =>
      (await t.store.admin.get([...refs, "nonsense"], { before: most })).map((entry) => entry?.before);
    assertEquals(await before(10), [0, 3, undefined, undefined]);
    assertEquals(await before(2), [0, 2, undefined, undefined]);
    await takeUpTo(t.store, worker, 2);
    assertEquals(await before(10), [undefined, 1, undefined, undefined]);
  },

  "finds no jid of an ended job": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    const [lease] = await takeUpTo(t.store, worker);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: lease!.token }]);
    assertEquals(await t.store.jobs.find([jid(1)]), []);
  },

  "finds all entries of a jid": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1), job(1, { queue: "other" })]);
    assertEquals((await t.store.jobs.find([jid(1)])).length, 2);
  },

  "finds several jids together, few or many, each once": async (open) => {
    await using t = await open();
    await everywhere(t, (n) => job(n));
    await t.store.jobs.enqueue([job(50), job(51)]);
    await t.pushRaw("default", `{"class":"HardJob","args":[60],"jid":"__pr\\u006fto__"}`);
    const few = [jid(0), jid(2), jid(77), "__proto__", jid(0)];
    assertEquals(numbers(await t.store.jobs.find(few)).sort(), [0, 2, 60]);
    const many = [...Array.from({ length: 60 }, (_, n) => jid(n)), "__proto__"];
    assertEquals(numbers(await t.store.jobs.find(many)).sort((a, b) => Number(a) - Number(b)), [
      0,
      1,
      2,
      3,
      4,
      50,
      51,
      60,
    ]);
    assertEquals(await t.store.jobs.find([]), []);
  },

  "finds a jid that another program pushed": async (open) => {
    await using t = await open();
    await t.pushRaw("default", `{"jid": "my-own", "class":"HardJob","args":[1]}`);
    assertEquals(numbers(await t.store.jobs.find(["my-own"])), [1]);
  },

  "finds a jid with any characters": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const jids = [
      "a*b",
      "a?b",
      "a[b]",
      "a[^b]",
      "a\\b",
      "a\\*b",
      'a"b',
      "a'b",
      "a%b",
      "a_b",
      "a.b",
      "a/b",
      "a b",
      "a\nb",
      "aüb",
      "a\u{1f600}b",
      "*",
      "axb",
    ];
    const make = (n: number, jid: string) =>
      job(n, { jid, payload: setFields(job(n).payload, { jid: JSON.stringify(jid) }) });
    await inDead(t.store, worker, jids.map((jid, n) => make(n, jid)));
    await t.store.jobs.enqueue(jids.map((jid, n) => make(100 + n, jid)));
    for (const [n, jid] of jids.entries()) {
      assertEquals(numbers(await t.store.jobs.find([jid])).sort(), [n, 100 + n].sort(), jid);
    }
    for (const jid of ["a", "a*", "?", "a[xb]b", "a%", "a\\nb", ""]) {
      assertEquals(await t.store.jobs.find([jid]), [], jid);
    }
  },

  "finds a jid in any escaping, next to unreadable payloads": async (open) => {
    await using t = await open();
    const payloads = [
      String.raw`{"jid":"\u006dy/own","args":[1]}`,
      String.raw`{"\u006aid":"my\u002Fown","args":[2]}`,
      String.raw`{"jid" : "my\/own","args":[3]}`,
      String.raw`{"jid":"my/own","args":["\u00fc"]`,
      String.raw`{"jid":"other","args":["my/own","\u006a\/"]}`,
    ];
    for (const payload of payloads) await t.pushRaw("default", payload);
    assertEquals(numbers(await t.store.jobs.find(["my/own"])).sort(), [1, 2, 3]);
    assertEquals(numbers(await t.store.jobs.find(["other"])), ["my/own"]);
  },

  "finds each entry of a long set once": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    const all = jobs(1, 2_100);
    await inDead(t.store, worker, all);
    await t.store.jobs.enqueue(all.map((one) => ({ ...one, delayMs: HOUR_MS })));
    const found = await t.store.jobs.find({ text: "HardJob", limit: 10_000 });
    const of = (set: string) => numbers(found.filter(({ place }) => place.in === set)).map(Number);
    for (const set of ["dead", "scheduled"]) {
      assertEquals(of(set).toSorted((a, b) => a - b), all.map((_, i) => i + 1), set);
    }
    for (const n of [1, 1_000, 1_001, 2_100]) {
      const entries = await t.store.jobs.find([jid(n)]);
      assertEquals(entries.map(({ place }) => place.in).sort(), ["dead", "scheduled"]);
      assertEquals(await t.store.jobs.edit(entries.map(({ ref }) => ref), "delete"), 2);
    }
  },

  "finds a text in every place, ignoring case": async (open) => {
    await using t = await open();
    await everywhere(t, (n) => job(n, { payload: setFields(job(n).payload, { tags: '["Quarterly_Report 100%"]' }) }));
    for (const text of ["quarterly_report", "QUARTERLY", "100%", "rly_rep"]) {
      const found = await t.store.jobs.find({ text, limit: 100 });
      assertEquals(
        found.map((entry) => entry.place.in).sort(),
        ["dead", "queue", "retry", "running", "scheduled"],
        text,
      );
    }
    for (const text of ["quarterly-report", "1000%", "quart%report", "quarterl__report", "\\%"]) {
      assertEquals(await t.store.jobs.find({ text, limit: 100 }), [], text);
    }
  },

  "finds no text in a packed stack, where short texts appear by chance": async (open) => {
    await using t = await open();
    // Many false matches before the true one: the limit of results must not limit the search.
    const stacked = (n: number, args: string) =>
      `{"class":"A","args":${args},"jid":"${jid(n)}","error_backtrace": "eJyQzzZ\\nq+/Q=="}`;
    for (let n = 0; n < 8; n++) await t.pushRaw("default", stacked(n, `[${n}]`));
    assertEquals(await t.store.jobs.find({ text: "QZZz", limit: 3 }), []);
    await t.pushRaw("default", stacked(8, '["qzzz",8]'));
    await t.pushRaw("default", `{"class":"A","args":[9],"jid":"${jid(9)}","error_message":"a qzzz"}`);
    const found = await t.store.jobs.find({ text: "QZZz", limit: 3 });
    assertEquals(found.map(({ payload }) => JSON.parse(payload).jid).sort(), [jid(8), jid(9)]);
    for (const n of [1, 8]) {
      const body = `{"jid":"${jid(n)}","payload":${stacked(n, n === 8 ? '["qzzz"]' : "[]")}}`;
      await keepRecord(t.store, { jid: jid(n), ttlMs: HOUR_MS, body });
    }
    assertEquals((await t.store.results.read({ text: "QZZz", limit: 3 })).records.map((body) => JSON.parse(body).jid), [
      jid(8),
    ]);
  },

  "finds entries in many queues, and in a long one": async (open) => {
    await using t = await open();
    const queues = (n: number) => n <= 1_050 ? `q${n}` : "long";
    await t.store.jobs.enqueue(Array.from({ length: 3_300 }, (_, i) => job(i + 1, { queue: queues(i + 1) })));
    const found = await t.store.jobs.find({ text: "HardJob", limit: 10_000 });
    assertEquals(numbers(found).map(Number).toSorted((a, b) => a - b), Array.from({ length: 3_300 }, (_, i) => i + 1));
    for (const n of [1, 1_050, 1_051, 3_300]) {
      const [one] = await t.store.jobs.find([jid(n)]);
      assertEquals(one?.place, { in: "queue", queue: queues(n) });
      assertEquals(await t.store.jobs.edit([one!.ref], "delete"), 1);
    }
  },

  "a search for a text ends when its signal aborts, with the matches until then": async (open) => {
    await using t = await open();
    // More than a step of any store.
    for (let n = 0; n < 12; n++) await t.store.jobs.enqueue(jobs(n * 1_000 + 1, (n + 1) * 1_000));
    const total = 12_000;
    const search = async (isEnded: boolean) => {
      const over = new AbortController();
      let looked = 0;
      const onStep = (count: number) => {
        looked += count;
        if (isEnded && count > 0) over.abort();
      };
      const found = await t.store.jobs.find({ text: "HardJob", limit: 20_000, signal: over.signal, onStep });
      return { found: found.length, looked };
    };
    assertEquals((await search(false)).found, total);
    const { found, looked } = await search(true);
    assert(found > 0 && found < total, `found ${found}`);
    assert(looked >= found && looked < total, `looked at ${looked}`);
    for (let n = 0; n < 6; n++) {
      await keepRecord(t.store, { jid: jid(n), ttlMs: HOUR_MS, body: `{"n":${n},"text":"${"x".repeat(2 ** 20)}"}` });
    }
    assertEquals((await t.store.results.read({ text: `"n"`, limit: 10 })).records.length, 6);
    const { records } = await t.store.results.read({ text: `"n"`, limit: 10, signal: AbortSignal.abort() });
    assert(records.length > 0 && records.length < 6, `${records.length} records`);
  },

  "finds a text in unreadable payloads": async (open) => {
    await using t = await open();
    await t.pushRaw("default", "{not json");
    assertEquals((await t.store.jobs.find({ text: "NOT j", limit: 10 })).map((entry) => entry.payload), ["{not json"]);
  },

  "finds at most as many entries as requested": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue(jobs(1, 30));
    assertEquals((await t.store.jobs.find({ text: "HardJob", limit: 7 })).length, 7);
    assertEquals((await t.store.jobs.find({ text: "HardJob", limit: 100 })).length, 30);
  },

  "found entries can be edited": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue(jobs(1, 2));
    const found = [...await t.store.jobs.find([jid(1)]), ...await t.store.jobs.find({ text: jid(2), limit: 10 })];
    assertEquals(await t.store.jobs.edit(found.map((entry) => entry.ref), "delete"), 2);
    assertEquals((await t.store.admin.stats()).enqueued, 0);
  },
};

/** Puts the jobs 0 … 4 into a lease, `retry`, `dead`, `scheduled` and a queue. */
async function everywhere(t: TestStore, make: (n: number) => NewJob): Promise<void> {
  const worker = await register(t.store);
  await t.store.jobs.enqueue([make(0)]);
  await takeUpTo(t.store, worker);
  await inRetry(t.store, worker, [make(1)], HOUR_MS);
  await inDead(t.store, worker, [make(2)]);
  await t.store.jobs.enqueue([{ ...make(3), delayMs: HOUR_MS }, make(4)]);
}
