/**
 * The jobs of offline workers run again.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { parsePayload } from "../../src/job/job.ts";
import { getField, setFields } from "../../src/job/raw.ts";
import type { RunningSuspects } from "../../src/job/suspicion.ts";
import { isExpired } from "../../src/job/time.ts";
import type { RescueResult } from "../../src/store/port/jobs.ts";
import type { Cases, TestStore } from "./harness.ts";
import {
  assertSamePayload,
  entries,
  job,
  jobs,
  lapse,
  numbers,
  numbersIn,
  register,
  rescueFor,
  RESCUER,
  takeUpTo,
  TTL_MS,
  workerRecord,
} from "./jobs.ts";
import type { Store } from "../../src/store/admin/store.ts";

const NOTHING = { rescued: 0, doomed: [], offline: [], more: false, waits: false };
const QUEUE = { in: "queue", queue: "default" } as const;

export const rescue: Cases = {
  "leases of an offline worker return to the front of their queues, in their order": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([...jobs(1, 6), job(10, { queue: "mail" }), job(11, { queue: "mail" })]);
    await takeUpTo(t.store, worker, 2);
    await takeUpTo(t.store, worker, 2);
    await takeUpTo(t.store, worker, 1, ["mail"]);
    await lapse(t);
    assertEquals(await rescueFor(t.store), { ...NOTHING, rescued: 5, offline: [worker] });
    assertEquals(await numbersIn(t.store, QUEUE), [1, 2, 3, 4, 5, 6]);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "mail" }), [10, 11]);
    const { running, workers } = await t.store.admin.stats();
    assertEquals([running, workers], [0, 1]);
    assertEquals(await workerIds(t.store), [RESCUER]);
  },

  "each rescued job is a suspect from then on, and its payload is otherwise unchanged": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1), job(2, { payload: setFields(job(2).payload, { suspected: "1" }) })]);
    const stored = await takeUpTo(t.store, worker);
    await lapse(t);
    await rescueFor(t.store);
    const after = await entries(t.store, QUEUE);
    assertEquals(after.map((entry) => getField(entry.payload, "suspected")), [1, 1]);
    assertEquals(after.map((entry) => getField(entry.payload, "rescues")), [undefined, undefined]);
    assertSamePayload(after[0]!.payload, stored[0]!.payload, ["suspected"]);
    assertEquals(after[1]!.payload, stored[1]!.payload);
  },

  "a live worker keeps its leases": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue([job(1)]);
    await takeUpTo(t.store, worker);
    await lapse(t);
    await register(t.store, worker);
    assertEquals(await rescueFor(t.store), NOTHING);
    assertEquals(await numbersIn(t.store, { in: "running" }), [1]);
  },

  "the job that a worker ran alone is blamed, and jobs that had not started aren't": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue(jobs(1, 3));
    await dieWith(t, () => undefined);
    for (const counts of [1, 2]) {
      await dieWith(t, ([, poison]) => ({ tokens: [poison!], alone: true }));
      assertEquals(await countsIn(t.store), [[1, undefined], [1, counts], [1, undefined]]);
    }
    const { doomed, rescued, offline } = await dieWith(t, ([, poison]) => ({ tokens: [poison!], alone: true }));
    assertEquals(rescued, 2);
    assertEquals(await numbersIn(t.store, QUEUE), [1, 3]);
    assertEquals(await numbersIn(t.store, { in: "running" }), [2]);
    const [job] = doomed;
    assertEquals([numbers(doomed), job!.deaths, job!.queue, job!.worker], [[2], 3, "default", offline[0]]);
    assertEquals([getField(job!.payload, "rescues"), job!.ended], [3, undefined]);
  },

  "suspects that ran together, or next to other jobs, are all suspected more": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue(jobs(1, 3));
    await dieWith(t, () => undefined);
    await dieWith(t, ([a, b]) => ({ tokens: [a!, b!], alone: true }));
    assertEquals(await countsIn(t.store), [[2, undefined], [2, undefined], [1, undefined]]);
    await dieWith(t, ([a]) => ({ tokens: [a!], alone: false }));
    assertEquals(await countsIn(t.store), [[3, undefined], [2, undefined], [1, undefined]]);
  },

  "a suspect that had ended isn't blamed, nor one noted before": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue(jobs(1, 3));
    await dieWith(t, () => undefined);
    const worker = await register(t.store);
    const [a, b] = (await takeUpTo(t.store, worker)).map(({ token }) => token);
    await t.store.workers.note(worker, { running: { tokens: [a!], alone: false } });
    await t.store.workers.note(worker, { running: { tokens: [a!, b!], alone: true } });
    await t.store.jobs.settle(worker, [{ kind: "ack", token: a! }]);
    await lapse(t);
    await rescueFor(t.store);
    assertEquals(await countsIn(t.store), [[1, 1], [1, undefined]]);
  },

  "every step of a rescue blames the same jobs": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue(jobs(1, 6));
    await dieWith(t, () => undefined);
    const worker = await register(t.store);
    const tokens = (await takeUpTo(t.store, worker)).map(({ token }) => token);
    // On any store, one of them is in the first step, and one in the last.
    await t.store.workers.note(worker, { running: { tokens: [tokens[0]!, tokens[5]!], alone: true } });
    await lapse(t);
    for (let steps = 1; (await rescueFor(t.store, 2)).more; steps++) assert(steps < 4);
    assertEquals((await countsIn(t.store)).map(([suspected]) => suspected), [2, 1, 1, 1, 1, 2]);
  },

  "a worker whose heartbeats resumed is judged again when it dies": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue(jobs(1, 2));
    await dieWith(t, () => undefined);
    const worker = await register(t.store);
    const tokens = (await takeUpTo(t.store, worker)).map(({ token }) => token);
    await t.store.workers.note(worker, { running: { tokens, alone: true } });
    await lapse(t);
    await rescueFor(t.store, 1);
    await register(t.store, worker);
    const kept = await t.store.jobs.stillLeased(worker, tokens);
    assertEquals(kept.length, 1);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: kept[0]! }]);
    const [again] = await takeUpTo(t.store, worker);
    await t.store.workers.note(worker, { running: { tokens: [kept[0]!, again!.token], alone: true } });
    await lapse(t);
    await rescueFor(t.store);
    assertEquals(await countsIn(t.store), [[2, 1]]);
  },

  "a doomed job stays leased, and is returned by each rescue, until it is settled for its worker": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1)]);
    await dieWith(t, () => undefined);
    const worker = await register(t.store);
    const [lease] = await takeUpTo(t.store, worker);
    await t.store.workers.note(worker, { running: { tokens: [lease!.token], alone: true } });
    await t.store.workers.note(worker, { ended: "killed by signal 9 (SIGKILL)" });
    await lapse(t);
    for (let i = 0; i < 2; i++) {
      const { doomed, more } = await rescueFor(t.store, 100, 1);
      assertEquals(doomed.map(({ deaths, ended }) => [deaths, ended]), [[1, "killed by signal 9 (SIGKILL)"]]);
      assertEquals(more, false);
    }
    const outcome = { kind: "bury", token: lease!.token, payload: '{"class":"HardJob","args":[1]}' } as const;
    const settled = [await t.store.jobs.settle(worker, [outcome]), await t.store.jobs.settle(worker, [outcome])];
    assertEquals(settled.map(({ lost }) => lost), [[], [lease!.token]]);
    assertEquals((await entries(t.store, { in: "dead" })).map(({ payload }) => payload), [outcome.payload]);
    assertEquals((await rescueFor(t.store)).offline, [worker]);
    assertEquals(await workerIds(t.store), [RESCUER]);
    const { failed, running } = await t.store.admin.stats();
    assertEquals([failed, running], [1, 0]);
  },

  "a worker that is alive after all learns that a doomed job may be lost": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1)]);
    await dieWith(t, () => undefined);
    const worker = await register(t.store);
    const [lease] = await takeUpTo(t.store, worker);
    await t.store.workers.note(worker, { running: { tokens: [lease!.token], alone: true } });
    await lapse(t);
    assertEquals((await rescueFor(t.store, 100, 1)).doomed.length, 1);
    assertEquals((await t.store.workers.heartbeat(workerRecord(worker), TTL_MS)).lapsed, true);
    assertEquals(await t.store.jobs.stillLeased(worker, [lease!.token]), [lease!.token]);
    assertEquals((await rescueFor(t.store, 100, 1)).doomed, []);
    assertEquals((await t.store.jobs.settle(worker, [{ kind: "ack", token: lease!.token }])).lost, []);
  },

  "a heartbeat deletes how the worker ended, and nothing is noted of a removed worker": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.workers.note(worker, { ended: "exited with code 1" });
    await register(t.store, worker);
    await t.store.jobs.enqueue([job(1, { payload: setFields(job(1).payload, { suspected: "1" }) })]);
    const [lease] = await takeUpTo(t.store, worker);
    await t.store.workers.note(worker, { running: { tokens: [lease!.token], alone: true } });
    await t.store.workers.note("host:9:dddddddddddd", { ended: "exited with code 1" });
    await lapse(t);
    const { doomed } = await rescueFor(t.store, 100, 1);
    assertEquals(doomed.map(({ ended }) => ended), [undefined]);
    assertEquals(await workerIds(t.store), [RESCUER, worker]);
  },

  "an unreadable job is doomed, unchanged": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    for (const text of ["{not json", "[]"]) await t.pushRaw("default", text);
    await takeUpTo(t.store, worker);
    await lapse(t);
    const { rescued, doomed } = await rescueFor(t.store);
    assertEquals([rescued, doomed.map(({ deaths }) => deaths)], [0, [0, 0]]);
    assertEquals(doomed.map(({ payload }) => payload).sort(), ["[]", "{not json"]);
    await t.store.jobs.settle(worker, doomed.map(({ token, payload }) => ({ kind: "bury", token, payload })));
    assertEquals((await entries(t.store, { in: "dead" })).map((entry) => entry.payload).sort(), ["[]", "{not json"]);
  },

  "many steps keep the order": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 8));
    await takeUpTo(t.store, worker, 7);
    await lapse(t);
    let rescued = 0;
    const workers = new Set<string>();
    for (let steps = 0; rescued < 7; steps++) {
      const step = await rescueFor(t.store, 3, 3);
      assert(step.rescued <= 3 && steps < 4);
      rescued += step.rescued;
      for (const one of step.offline) workers.add(one);
    }
    await rescueFor(t.store, 3, 3);
    assertEquals(await numbersIn(t.store, QUEUE), [1, 2, 3, 4, 5, 6, 7, 8]);
    assertEquals([...workers], [worker]);
    assertEquals((await t.store.admin.stats()).running, 0);
  },

  "rescues the leases of several offline workers": async (open) => {
    await using t = await open();
    const first = await register(t.store, "host:1:aaaaaaaaaaaa");
    const second = await register(t.store, "host:2:bbbbbbbbbbbb");
    const idle = await register(t.store, "host:3:cccccccccccc");
    await t.store.jobs.enqueue(jobs(1, 4));
    await takeUpTo(t.store, first, 2);
    await takeUpTo(t.store, second, 2);
    await lapse(t);
    const { rescued, offline } = await rescueFor(t.store);
    assertEquals(rescued, 4);
    assertEquals([...offline].sort(), [first, second, idle]);
    assertEquals((await numbersIn(t.store, QUEUE)).sort(), [1, 2, 3, 4]);
    assertEquals(await workerIds(t.store), [RESCUER]);
    assertEquals(await rescueFor(t.store), NOTHING);
  },

  "the leases of a worker that took jobs after its removal are rescued, too": async (open) => {
    await using t = await open();
    const frozen = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 2));
    await lapse(t);
    assertEquals((await rescueFor(t.store)).offline, [frozen]);
    await takeUpTo(t.store, frozen);
    assertEquals((await rescueFor(t.store)).waits, true, "it may beat soon");
    await lapse(t);
    await rescueFor(t.store);
    assertEquals(await numbersIn(t.store, QUEUE), [1, 2]);
  },

  "concurrent rescues return each job once": async (open) => {
    await using t = await open();
    const other = await t.another();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 50));
    await takeUpTo(t.store, worker);
    await lapse(t);
    const steps = await Promise.all([rescueFor(t.store), rescueFor(other)]);
    assertEquals(steps[0].rescued + steps[1].rescued, 50);
    assertEquals(await numbersIn(t.store, QUEUE), jobs(1, 50).map((_, i) => i + 1));
    assertEquals((await countsIn(t.store)).map(([suspected]) => suspected), jobs(1, 50).map(() => 1));
  },

  "deregister returns leases to the front in order, without counting a rescue": async (open) => {
    await using t = await open();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, 4));
    const leases = await takeUpTo(t.store, worker, 3);
    await t.store.jobs.settle(worker, [{ kind: "ack", token: leases[1]!.token }]);
    await t.store.workers.deregister(worker);
    assertEquals(await numbersIn(t.store, QUEUE), [1, 3, 4]);
    assertEquals((await entries(t.store, QUEUE))[0]!.payload, leases[0]!.payload);
    assertEquals(await t.store.workers.list(), []);
    assertEquals((await t.store.jobs.settle(worker, [{ kind: "ack", token: leases[0]!.token }])).lost, [
      leases[0]!.token,
    ]);
  },

  "a job that may have begun before its worker returned it doesn't expire": async (open) => {
    await using t = await open();
    const texts = [
      `{"class":"Noop","args":["expires_in"],"jid":"${"a".repeat(24)}"}`,
      `{"class":"Noop","args":[],"expires_in":2,"jid":"${"b".repeat(24)}","enqueued_at":1767225600.1}`,
      `{"class":"Noop","expires_in":broken`,
    ];
    const marked = texts.with(1, texts[1]!.replace(/}$/, `,"begun":true}`));
    const stored = async () => (await entries(t.store, QUEUE)).map(({ payload }) => payload);
    for (const text of texts) await t.pushRaw(QUEUE.queue, text);
    const worker = await register(t.store);
    const release = async (begun?: boolean) => {
      const leases = await takeUpTo(t.store, worker, 3);
      const outcomes = leases.map(({ token }) => ({ kind: "release", token, ...(begun && { begun }) } as const));
      assertEquals(await t.store.jobs.settle(worker, outcomes), { lost: [], dropped: 0 });
    };
    await release();
    assertEquals(await stored(), texts);
    await release(true);
    assertEquals(await stored(), marked);
    await release(true);
    assertEquals(await stored(), marked);
    const expires = (text: string) => isExpired(parsePayload(text)!.payload, Infinity);
    assertEquals([texts[1]!, marked[1]!].map(expires), [true, false]);
    await takeUpTo(t.store, worker, 3);
    await t.store.workers.deregister(worker);
    assertEquals(await stored(), marked);

    const last = texts[1]!.replaceAll("b", "d");
    await t.pushRaw(QUEUE.queue, last);
    const other = await register(t.store);
    await takeUpTo(t.store, other, 4);
    await t.store.workers.deregister(other);
    assertEquals(await stored(), [...marked, last.replace(/}$/, `,"begun":true}`)]);
  },

  "deregister doesn't affect the leases of other workers": async (open) => {
    await using t = await open();
    const worker = await register(t.store, "host:1:aaaaaaaaaaaa");
    const other = await register(t.store, "host:2:bbbbbbbbbbbb");
    await t.store.jobs.enqueue(jobs(1, 2));
    await takeUpTo(t.store, worker, 1);
    const [lease] = await takeUpTo(t.store, other, 1);
    await t.store.workers.deregister(worker);
    await t.store.workers.deregister("host:9:never0was0000");
    assertEquals(numbers(await entries(t.store, { in: "running" })), [2]);
    assertEquals((await t.store.jobs.settle(other, [{ kind: "ack", token: lease!.token }])).lost, []);
  },
};

/** Returns the registered workers. */
async function workerIds(store: Store): Promise<string[]> {
  return (await store.workers.list()).map(({ id }) => id);
}

/** Lets a worker take all jobs, note its suspects and die. Returns the result of the rescue. */
async function dieWith(
  t: TestStore,
  runs: (tokens: readonly string[]) => RunningSuspects | undefined,
): Promise<RescueResult> {
  const worker = await register(t.store, `host:1:${crypto.randomUUID().slice(-12)}`);
  const running = runs((await takeUpTo(t.store, worker)).map(({ token }) => token));
  if (running) await t.store.workers.note(worker, { running });
  await lapse(t);
  const result = await rescueFor(t.store);
  assertEquals(result.offline, [worker]);
  return result;
}

/** Returns how many times each queued job was suspected and blamed. */
async function countsIn(store: Store): Promise<[suspected: unknown, rescues: unknown][]> {
  const queued = await entries(store, QUEUE);
  return queued.map(({ payload }) => [getField(payload, "suspected"), getField(payload, "rescues")]);
}
