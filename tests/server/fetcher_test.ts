/** The fetcher, with jobs so short that a processor performs many in one turn of the event loop. */
import { assertEquals } from "@std/assert";
import { systemClock } from "../../src/clock.ts";
import { Client } from "../../src/client/client.ts";
import { Fetcher } from "../../src/server/work/fetcher.ts";
import { UnstartedJobs } from "../../src/server/work/unstarted.ts";
import { UnstartedMemory } from "../../src/server/work/unstarted_memory.ts";
import { Settler } from "../../src/server/work/settler.ts";
import { Counters } from "../../src/server/stats/counters.ts";
import type { Lease, TakeRequest } from "../../src/store/port/jobs.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import { FakeClock } from "../support/clock.ts";
import { until } from "../support/eventually.ts";
import { KeptLog } from "../support/log.ts";
import { sqliteFolder } from "../support/stores.ts";
import type { ServerStore } from "../../src/store/port/store.ts";

/** Lost leases that never lose one. */
const SURE = { isSure: true, confirm: () => Promise.resolve() };

Deno.test("requests more jobs before the jobs taken ahead are done, however short they are", async () => {
  await using folder = await sqliteFolder();
  const store = await folder.open();
  await new Client({ store }).pushBulk({ class: "Noop", args: Array.from({ length: 200 }, () => []) });
  const clock = new FakeClock();
  let done = 0;
  const doneAtRequests: number[] = [];
  /** Behaves like a store on the network: requests of one turn are written in the next. */
  const take = async (request: TakeRequest) => {
    await systemClock.turn();
    doneAtRequests.push(done);
    return await store.jobs.take(request);
  };
  const distant = { jobs: { take } } as unknown as ServerStore;
  const worker = "host:1:a";
  const settler = new Settler({ store, worker, clock, log: new KeptLog(), counters: new Counters() });
  const fetcher = new Fetcher({ store: distant, worker, clock, settler, leaseGuard: SURE, order: () => ["default"] });

  // At the rate of 50 jobs in 10 ms, 100 are taken ahead.
  for (let i = 0; i < 50; i++) fetcher.buffer.next();
  await clock.advance(10);
  await fetcher.step();
  assertEquals(fetcher.waiting, 100);
  // Half of them are used: the next step takes more, while a processor continues.
  for (let i = 0; i < 50; i++) fetcher.buffer.next();
  const stop = new AbortController();
  const taken = fetcher.step();
  const processor = (async () => {
    while (fetcher.buffer.next() ?? await fetcher.buffer.wait(stop.signal)) done++;
  })();
  await taken;
  await systemClock.turn();
  assertEquals(doneAtRequests, [0, 0]);
  assertEquals(done, 100, "it performs those, then the new ones");
  stop.abort();
  await processor;
});

Deno.test("takes nothing ahead of long jobs that end together", async () => {
  const clock = new FakeClock();
  const limits: number[] = [];
  const take = ({ limit }: TakeRequest) => Promise.resolve((limits.push(limit), []));
  const store = { jobs: { take } } as unknown as ServerStore;
  const worker = "host:1:a";
  const settler = new Settler({ store, worker, clock, log: new KeptLog(), counters: new Counters() });
  const fetcher = new Fetcher({ store, worker, clock, settler, leaseGuard: SURE, order: () => ["default"] });
  const finish = async (count: number) => {
    for (let i = 0; i < count; i++) fetcher.buffer.next(1_000);
    await clock.advance(3);
    await fetcher.step();
  };
  // Ten processors, of which one is the first to end.
  for (let round = 0; round < 3; round++) {
    await clock.advance(1_000);
    await finish(1);
    await finish(9);
  }
  assertEquals(limits, []);
  // At the rate of 200 jobs in 1 s, 4 are taken ahead.
  await clock.advance(1_000);
  await finish(200);
  assertEquals(limits, [4]);
});

Deno.test("takes nothing once the thread was asked for quiet, and gives back what a take under way brings, until it resumes", async () => {
  const clock = new FakeClock();
  const lease = { token: "1", queue: "default", payload: `{"class":"A","args":[],"jid":"a"}` };
  const unstarted = new UnstartedJobs();
  const thread = new UnstartedMemory(unstarted.attach(() => {}));
  let takes = 0;
  let isAsked = true;
  const take = () => {
    takes++;
    thread.askQuiet(isAsked);
    return Promise.resolve([lease]);
  };
  const released: Outcome[] = [];
  const settler = { add: (outcome: Outcome) => void released.push(outcome), isBehind: false } as unknown as Settler;
  const store = { jobs: { take } } as unknown as ServerStore;
  const options = { store, worker: "host:1:a", clock, settler, leaseGuard: SURE, order: () => ["default"], unstarted };
  const fetcher = new Fetcher(options);
  const waiting = fetcher.buffer.wait(new AbortController().signal);
  await fetcher.step();
  assertEquals([takes, released], [1, [{ kind: "release", token: "1" }]]);
  await fetcher.step();
  assertEquals(takes, 1);
  isAsked = false;
  fetcher.goQuiet();
  fetcher.resume();
  await fetcher.step();
  assertEquals([takes, (await waiting)?.token], [2, "1"]);
});

Deno.test("names lost jobs by their jid, or as unreadable if the jid isn't text", async () => {
  const clock = new FakeClock();
  const payloads = [`{"class":"A","args":[],"jid":"a"}`, `{"class":"A","args":[],"jid":{"toString":1}}`, "no JSON"];
  const leases = payloads.map((payload, i) => ({ token: `${i}`, queue: "default", payload }));
  const store = { jobs: { take: () => Promise.resolve(leases) } } as unknown as ServerStore;
  const worker = "host:1:a";
  const settler = new Settler({ store, worker, clock, log: new KeptLog(), counters: new Counters() });
  const fetcher = new Fetcher({ store, worker, clock, settler, leaseGuard: SURE, order: () => ["default"] });
  for (let i = 0; i < 50; i++) fetcher.buffer.next();
  await clock.advance(10);
  await fetcher.step();
  assertEquals(fetcher.lose(new Set(["0", "1", "2"])).join(" "), "a (unreadable) (unreadable)");
});

Deno.test("looks at 500 queues per take, and at the next ones only while it finds no job", async () => {
  const names = Array.from({ length: 1_200 }, (_, i) => `q${i}`);
  const queued = new Map([["q600", 3], ["q1100", 1]]);
  const requests: string[] = [];
  const take = ({ queues, limit }: TakeRequest) => {
    requests.push(`${queues[0]}–${queues.at(-1)}`);
    const found = queues.filter((queue) => queued.has(queue)).slice(0, limit);
    return Promise.resolve(found.map((queue) => {
      const left = queued.get(queue)! - 1;
      if (left > 0) queued.set(queue, left);
      else queued.delete(queue);
      return { token: `${queue}-${left}`, queue, payload: "{}" };
    }));
  };
  const clock = new FakeClock();
  const store = { jobs: { take } } as unknown as ServerStore;
  const worker = "host:1:a";
  const settler = new Settler({ store, worker, clock, log: new KeptLog(), counters: new Counters() });
  const fetcher = new Fetcher({ store, worker, clock, settler, leaseGuard: SURE, order: () => names });
  const stop = new AbortController();
  const processors = Array.from({ length: 10 }, () => fetcher.buffer.wait(stop.signal));
  const [FIRST, SECOND, THIRD] = ["q0–q499", "q500–q999", "q1000–q1199"];

  for (let job = 0; job < 3; job++) assertEquals(await fetcher.step(), false, "later queues may have jobs");
  assertEquals(requests.splice(0), [FIRST, SECOND, FIRST, SECOND, FIRST, SECOND]);
  assertEquals(await fetcher.step(), true, "no queue has more");
  assertEquals(requests.splice(0), [FIRST, SECOND, THIRD]);
  const taken = await Promise.all(processors.slice(0, 4));
  assertEquals(taken.map((job) => job?.queue), ["q600", "q600", "q600", "q1100"]);

  fetcher.goQuiet();
  assertEquals(await fetcher.step(), false);
  assertEquals(requests, []);
  stop.abort();
  await Promise.all(processors);
});

Deno.test("quiet returns the jobs that have not started and those of a pending take; none starts or is taken before resume", async () => {
  const clock = new FakeClock();
  const takes: ((tokens: string) => void)[] = [];
  const leaseOf = (token: string) => ({ token, queue: "default", payload: `{"class":"A","args":[],"jid":"${token}"}` });
  const take = () => new Promise<Lease[]>((resolve) => takes.push((tokens) => resolve([...tokens].map(leaseOf))));
  const store = { jobs: { take } } as unknown as ServerStore;
  const released: unknown[] = [];
  const settler = { add: ({ kind, token }: Outcome) => released.push(`${kind} ${token}`) } as unknown as Settler;
  const fetcher = new Fetcher({ store, worker: "w", clock, settler, leaseGuard: SURE, order: () => ["default"] });
  // At the rate of 50 jobs in 10 ms, jobs are taken ahead.
  for (let i = 0; i < 50; i++) fetcher.buffer.next();
  await clock.advance(10);
  const first = fetcher.step();
  await clock.turn();
  takes.shift()!("ab");
  await first;
  const second = fetcher.step();
  await clock.turn();
  await clock.turn();
  assertEquals([fetcher.waiting, takes.length, released], [2, 1, []]);

  fetcher.goQuiet();
  assertEquals(released, ["release a", "release b"]);
  const stop = new AbortController();
  const processor = fetcher.buffer.wait(stop.signal);
  takes.shift()!("c");
  await second;
  assertEquals(released, ["release a", "release b", "release c"]);
  assertEquals([await fetcher.step(), takes.length, await fetcher.hasQueuedJobs()], [false, 0, false]);

  fetcher.resume();
  const third = fetcher.step();
  await clock.turn();
  takes.shift()!("d");
  await third;
  assertEquals((await processor)?.token, "d", "the first job that a processor gets");
});

Deno.test("jobs that waited for a second are returned, and none is taken ahead until the rate is measured again", async () => {
  const clock = new FakeClock();
  const limits: number[] = [];
  const released: string[] = [];
  const leases = ["a", "b"].map((token) => ({ token, queue: "default", payload: "{}" }));
  const take = ({ limit }: TakeRequest) => Promise.resolve((limits.push(limit), leases.splice(0)));
  const store = { jobs: { take } } as unknown as ServerStore;
  const settler = { add: ({ token }: Outcome) => released.push(token) } as unknown as Settler;
  const fetcher = new Fetcher({ store, worker: "w", clock, settler, leaseGuard: SURE, order: () => ["default"] });
  for (let i = 0; i < 50; i++) fetcher.buffer.next();
  await clock.advance(10);
  await fetcher.step();
  assertEquals(limits, [100]);
  await clock.advance(999);
  await fetcher.step();
  assertEquals(released, []);
  limits.splice(0);
  await clock.advance(1);
  await fetcher.step();
  assertEquals([released, limits], [["a", "b"], []]);
  // A processor that waits gets a job, and no other is taken with it.
  const stop = new AbortController();
  const waiting = fetcher.buffer.wait(stop.signal);
  await fetcher.step();
  assertEquals(limits, [1]);
  stop.abort();
  await waiting;
});

for (const how of ["lost", "returned by the heartbeat's thread", "released when quiet"] as const) {
  Deno.test(`a job that was ${how} before it started doesn't count towards maxJobs`, async () => {
    const clock = new FakeClock();
    const leases = ["a", "b"].map((token) => ({ token, queue: "default", payload: "{}" }));
    const jobs = { take: () => Promise.resolve(leases.splice(0)) };
    const settler = { add: () => {} } as unknown as Settler;
    const store = { jobs } as unknown as ServerStore;
    const options = { store, worker: "w", clock, settler, leaseGuard: SURE, order: () => ["default"], maxJobs: 2 };
    const fetcher = new Fetcher(options);
    for (let i = 0; i < 50; i++) fetcher.buffer.next();
    await clock.advance(10);
    await fetcher.step();
    assertEquals([fetcher.waiting, fetcher.exhausted], [2, true]);
    if (how === "lost") fetcher.lose(new Set(["a"]));
    else if (how === "released when quiet") fetcher.goQuiet();
    else fetcher.returned(["a"]);
    assertEquals(fetcher.exhausted, false);
  });
}

Deno.test("takes nothing while more than 2,000 outcomes wait to be stored, and takes again when some are", async () => {
  const clock = new FakeClock();
  const limits: number[] = [];
  let token = 0;
  const take = ({ limit }: TakeRequest) => {
    limits.push(limit);
    return Promise.resolve([{ token: `${++token}`, queue: "default", payload: "{}" }]);
  };
  const calls: (() => void)[] = [];
  const settle = () =>
    new Promise<{ lost: string[]; dropped: number }>((resolve) => calls.push(() => resolve({ lost: [], dropped: 0 })));
  const store = { jobs: { take, settle } } as unknown as ServerStore;
  const worker = "host:1:a";
  const settler = new Settler({ store, worker, clock, log: new KeptLog(), counters: new Counters() });
  const fetcher = new Fetcher({ store, worker, clock, settler, leaseGuard: SURE, order: () => ["default"] });
  const stop = new AbortController();
  for (let i = 0; i < 2_000; i++) settler.add({ kind: "ack", token: `before ${i}` });

  const first = fetcher.buffer.wait(stop.signal);
  await fetcher.step();
  assertEquals([limits, settler.isBehind], [[1], false]);
  settler.add({ kind: "ack", token: (await first)!.token });
  const second = fetcher.buffer.wait(stop.signal);
  assertEquals(await fetcher.step(), false);
  assertEquals([limits, settler.isBehind], [[1], true], "an idle processor waits");

  const loop = (async () => {
    while (limits.length < 2) await fetcher.rest(await fetcher.step(), stop.signal);
  })();
  await until(() => calls.length > 0);
  calls.shift()!();
  await loop;
  assertEquals([limits, settler.isBehind], [[1, 1], false]);
  assertEquals((await second)?.token, "2");
  settler.abandon();
  for (const answer of calls) answer();
  await settler.flush();
});

Deno.test("a worker that is idle, busy or quiet returns leases that only the store has: no take of it finds them", async () => {
  for (const state of ["idle", "busy", "quiet"]) {
    const clock = new FakeClock();
    const limits: number[] = [];
    const take = ({ limit }: TakeRequest) => {
      limits.push(limit);
      return limits.length === 1 ? Promise.reject(new Error("no connection")) : Promise.resolve([]);
    };
    const work = Promise.withResolvers<boolean>();
    const store = { jobs: { take }, watch: () => work.promise } as unknown as ServerStore;
    const worker = "host:1:a";
    const settler = new Settler({ store, worker, clock, log: new KeptLog(), counters: new Counters() });
    const fetcher = new Fetcher({ store, worker, clock, settler, leaseGuard: SURE, order: () => ["default"] });
    const stop = new AbortController();
    if (state !== "busy") void fetcher.buffer.wait(stop.signal);
    if (state === "quiet") fetcher.goQuiet();
    // It was rung by that.
    fetcher.wake();
    await fetcher.rest(true, stop.signal);
    const resting = fetcher.rest(true, stop.signal);
    await clock.advance(30_000);
    assertEquals([state, limits, clock.sleeping], [state, [0, 0], [15_000]]);
    work.resolve(true);
    fetcher.wake();
    await resting;
    await clock.turn();
    assertEquals([state, clock.sleeping], [state, []]);
    stop.abort();
  }
});
