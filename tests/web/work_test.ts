/** The requests of workers in other programs, as any client may send them. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { readEnded } from "../../src/job/result.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { followStream } from "../../src/store/ops/streams.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import { until } from "../support/eventually.ts";
import { interceptStore } from "../support/intercept.ts";
import { onBothStores } from "./site.ts";
import { type Answer, REGISTRATION, WorkServer as Server } from "./work_server.ts";

onBothStores("a worker whose request for jobs is closed gets none until the next one", async ({ store }) => {
  await using server = new Server(store);
  const first = await server.register();
  const closing = new AbortController();
  const taking = server.send("take", { worker: first, take: 1, limit: 10, wait: 30 }, closing.signal).catch(() => {});
  const second = await server.register({ nonce: "000000000002" });
  closing.abort();
  await taking;
  const jid = await new Client({ store }).push({ class: "Try", args: [] });
  const { jobs } = await server.send("take", { worker: second, take: 1, limit: 10, wait: 30 });
  assertEquals(jobs.map(({ payload }: Answer) => JSON.parse(payload).jid), [jid]);
});

onBothStores(
  "a worker that registers while its server stops is refused, and doesn't outlive the server",
  async ({ store }) => {
    const asked = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    const slow = interceptStore(store, async ({ verb, pass }) => {
      if (verb === "workers.heartbeat") {
        asked.resolve();
        await closed.promise;
      }
      return await pass();
    });
    const server = new Server(slow);
    const registering = server.send("register", REGISTRATION);
    await asked.promise;
    await server[Symbol.asyncDispose]();
    closed.resolve();
    const error = { code: "unavailable", message: "This server stops; use another one, or try again" };
    assertEquals((await registering).error, error);
    assertEquals((await server.send("register", REGISTRATION)).error, error);
  },
);

onBothStores("a job that its worker has received and doesn't list returns to its queue", async ({ store }) => {
  await using server = new Server(store);
  const worker = await server.register();
  const client = new Client({ store });
  await client.push({ class: "Try", args: ["kept"] });
  await client.push({ class: "Try", args: ["forgotten"] });
  const { jobs } = await server.send("take", { worker, take: 1, limit: 10, wait: 30 });
  const [kept, forgotten] = jobs;
  const answer = await server.send("heartbeat", { worker, running: [{ token: kept.token }], taken: 1 });
  assertEquals(answer.lost, []);
  await until(async () => (await store.admin.stats()).queues[0]?.size === 1);
  const { lost } = await server.send("settle", {
    worker,
    outcomes: [{ token: kept.token, end: "succeeded" }, { token: forgotten.token, end: "succeeded" }],
  });
  assertEquals(lost, [forgotten.token]);
});

onBothStores("heartbeats that were on their way while jobs were given return none of them", async ({ store }) => {
  let lateMs = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + lateMs };
  const SETTINGS = { clock, heartbeatMs: 1_000, heartbeatTimeoutMs: 600_000 };
  await using first = new Server(store, SETTINGS);
  const client = new Client({ store });
  const worker = await first.register({ registration: 1, taken: 0 });
  /** Lets heartbeats arrive, each a heartbeat later, that the program has made before it received the job. */
  const arrive = async (server: Server, known: readonly Answer[], taken: number) => {
    const running = known.map(({ token }) => ({ token }));
    for (let i = 0; i < 3; i++) {
      lateMs += 5_000;
      assertEquals((await server.send("heartbeat", { worker, running, taken })).lost, []);
    }
  };
  await client.push({ class: "Try", args: [] });
  const { jobs: [one] } = await first.send("take", { worker, take: 1, limit: 1, wait: 30 });
  await arrive(first, [], 0);
  await client.push({ class: "Try", args: [] });
  const { jobs: [two] } = await first.send("take", { worker, take: 2, limit: 1, wait: 30 });
  await arrive(first, [one], 1);
  // Nor at the next gateway.
  await using second = new Server(store, SETTINGS);
  await second.register({ registration: 2, running: [one, two], taken: 2 });
  await arrive(second, [one], 1);
  const outcomes = [one, two].map(({ token }) => ({ token, end: "succeeded" }));
  assertEquals(await second.send("settle", { worker, outcomes }), { lost: [] });
});

onBothStores("a request for jobs that arrives late, after the next one, gets none", async ({ store }) => {
  await using server = new Server(store);
  const worker = await server.register();
  const client = new Client({ store });
  await client.push({ class: "Try", args: [] });
  await server.send("take", { worker, take: 1, limit: 1, wait: 30 });
  const taking = server.send("take", { worker, take: 2, limit: 1, wait: 30 });
  assertEquals((await server.send("take", { worker, take: 1, limit: 1, wait: 30 })).jobs, []);
  const jid = await client.push({ class: "Try", args: [] });
  assertEquals((await taking).jobs.map((job: Answer) => job.jid), [jid]);
  await server.register({ registration: 2, running: [], taken: 2 });
  assertEquals((await server.send("take", { worker, take: 2, limit: 1, wait: 30 })).jobs, []);
});

onBothStores("a registration that arrives again, or late, takes no job away", async ({ store }) => {
  await using server = new Server(store);
  await using other = new Server(store);
  const client = new Client({ store });
  const worker = await server.register({ registration: 1, taken: 0 });
  const take = async (take: number) => {
    await client.push({ class: "Try", args: [] });
    return (await server.send("take", { worker, take, limit: 1, wait: 30 })).jobs[0];
  };
  const one = await take(1);
  await server.register({ registration: 1, taken: 0 });
  await Promise.all([1, 2].map(() => server.register({ registration: 2, running: [one], taken: 1 })));
  const two = await take(2);
  await server.register({ registration: 2, running: [one], taken: 1 });
  const { error } = await server.send("register", { ...REGISTRATION, registration: 1, taken: 0 });
  assertEquals([error?.code, error?.field], ["conflict", "registration"]);
  await other.register({ registration: 1, taken: 0 });
  const outcomes = [one, two].map(({ token }) => ({ token, end: "succeeded" }));
  assertEquals(await server.send("settle", { worker, outcomes }), { lost: [] });
});

onBothStores("suspects that a program shows to another gateway continue there, all at once", async ({ store }) => {
  await using first = new Server(store);
  const client = new Client({ store });
  const worker = await first.register({ registration: 1, taken: 0 });
  const taking = first.send("take", { worker, take: 1, limit: 9, wait: 30 });
  for (let i = 0; i < 2; i++) await client.push({ class: "Try", args: [], suspected: 1 });
  await taking;
  const given: Answer[] = [];
  let take = 1;
  await until(async () => {
    given.push(...(await first.send("take", { worker, take: ++take, limit: 9, wait: 30 })).jobs);
    return given.length === 2;
  });
  await using second = new Server(store);
  await second.register({ registration: 2, running: given, taken: take });
  const running = given.map(({ token }) => ({ token }));
  assertEquals((await second.send("heartbeat", { worker, running, taken: take })).lost, []);
  const outcomes = running.map(({ token }) => ({ token, end: "succeeded" }));
  assertEquals(await second.send("settle", { worker, outcomes }), { lost: [] });
});

onBothStores("a job that a gateway takes for a program that has left it returns to its queue", async ({ store }) => {
  await using first = new Server(store, { heartbeatMs: 50 });
  await using second = new Server(store, { heartbeatMs: 50 });
  const worker = await first.register();
  const taking = first.send("take", { worker, take: 1, limit: 10, wait: 30 });
  await second.register({ running: [] });
  const jid = await new Client({ store }).push({ class: "Try", args: [] });
  // Its reply reaches no program.
  assertEquals((await taking).jobs.length, 1);
  await until(async () => {
    await second.send("heartbeat", { worker, running: [] });
    return (await store.admin.stats()).queues[0]?.size === 1;
  });
  const { jobs } = await second.send("take", { worker, take: 2, limit: 10, wait: 30 });
  assertEquals(jobs.map(({ payload }: Answer) => JSON.parse(payload).jid), [jid]);
});

onBothStores("a job of a take that is answered late isn't returned as one that no program has", async ({ store }) => {
  const answer = Promise.withResolvers<void>();
  let heartbeats = 0;
  const late = interceptStore(store, async ({ verb, pass }) => {
    const reply = await pass();
    if (verb === "workers.heartbeat") heartbeats++;
    if (verb === "jobs.take" && (reply as unknown[]).length > 0) await answer.promise;
    return reply;
  });
  await using server = new Server(late, { heartbeatMs: 50 });
  const worker = await server.register({ running: [] });
  const taking = server.send("take", { worker, take: 1, limit: 1, wait: 30 });
  await new Client({ store }).push({ class: "Try", args: [] });
  const sizeOf = async () => (await store.admin.stats()).queues[0]?.size;
  await until(async () => await sizeOf() === 0);
  const from = heartbeats;
  await until(async () => {
    await server.send("heartbeat", { worker, running: [], taken: 0 });
    return heartbeats >= from + 4;
  });
  const returned = await sizeOf();
  answer.resolve();
  const { jobs: [{ token }] } = await taking;
  assertEquals(returned, 0);
  assertEquals((await server.send("settle", { worker, outcomes: [{ token, end: "succeeded" }] })).lost, []);
});

onBothStores("a job that a program ends has the program's stack, and none of the server", async ({ store }) => {
  await using server = new Server(store);
  const worker = await server.register();
  const client = new Client({ store });
  const stack = ["at Try (/app/worker.py:7)"];
  let take = 0;
  /** Ends a job, and returns the stack of its record. */
  const stackOf = async (end: string, error: object) => {
    const jid = await client.push({ class: "Try", args: [], retry: 0 });
    const { jobs: [{ token }] } = await server.send("take", { worker, take: ++take, limit: 1, wait: 30 });
    await server.send("settle", { worker, outcomes: [{ token, end, error }] });
    const { error: kept } = readEnded((await store.results.read({ jids: [jid!] })).records[0]!);
    assertEquals(kept?.message, "no such account");
    return kept?.stack;
  };
  const error = { class: "Some", message: "no such account" };
  for (const end of ["failed", "discard", "kill"]) {
    assertEquals([end, await stackOf(end, error)], [end, []]);
    assertEquals([end, await stackOf(end, { ...error, stack })], [end, stack]);
  }
});

const HEARTBEATS = { heartbeatMs: 50, heartbeatTimeoutMs: 4_000 };

/** Waits until another program has the jobs of one that is gone. Returns what the first of them has counted. */
async function countsAfterDeath(store: Store, worker: string): Promise<Answer> {
  await using other = new Server(store, HEARTBEATS);
  const next = await other.register({ nonce: "000000000002" });
  await until(async () => {
    await other.send("heartbeat", { worker: next, running: [] });
    return !(await store.workers.list()).some(({ id }) => id === worker);
  });
  // Its first request is answered without a job, too.
  await other.send("take", { worker: next, take: 1, limit: 10, wait: 30 });
  const { jobs } = await other.send("take", { worker: next, take: 2, limit: 10, wait: 30 });
  const { rescues, suspected } = JSON.parse(jobs[0].payload);
  return { rescues, suspected };
}

onBothStores("a suspect isn't blamed for a program that was frozen before it began", async ({ store }) => {
  await using server = new Server(store, HEARTBEATS);
  const worker = await server.register();
  // From here on the program sends nothing, and reads no answer.
  const taking = server.send("take", { worker, take: 1, limit: 10, wait: 30 });
  const client = new Client({ store });
  await client.push({ class: "Try", args: [], suspected: 1 });
  await client.push({ class: "Try", args: [] });
  assertEquals((await taking).jobs, []);
  assertEquals(await countsAfterDeath(store, worker), { rescues: undefined, suspected: 1 });
});

onBothStores("a suspect counts half for a program that dies before it has confirmed it", async ({ store }) => {
  await using server = new Server(store, HEARTBEATS);
  const worker = await server.register();
  const taking = server.send("take", { worker, take: 1, limit: 10, wait: 30 });
  await new Client({ store }).push({ class: "Try", args: [], suspected: 1 });
  await taking;
  const { jobs } = await server.send("take", { worker, take: 2, limit: 10, wait: 30 });
  assertEquals([jobs.length, jobs[0].suspect], [1, true]);
  assertEquals(await countsAfterDeath(store, worker), { rescues: undefined, suspected: 2 });
});

onBothStores("a suspect is blamed for a program that dies after it has confirmed it", async ({ store }) => {
  await using server = new Server(store, HEARTBEATS);
  const worker = await server.register();
  const taking = server.send("take", { worker, take: 1, limit: 10, wait: 30 });
  await new Client({ store }).push({ class: "Try", args: [], suspected: 1 });
  await taking;
  const { jobs: [{ token }] } = await server.send("take", { worker, take: 2, limit: 10, wait: 30 });
  const { lost, aborted } = await server.send("heartbeat", { worker, running: [{ token }] });
  assertEquals([lost, aborted], [[], []]);
  assertEquals(await countsAfterDeath(store, worker), { rescues: 1, suspected: 1 });
});

onBothStores("a gateway collects no commands for a program that may have left it with its jobs", async ({ store }) => {
  const TICKS = 20;
  let lateMs = 0;
  let ticks = 0;
  let collected = 0;
  const workers = new Proxy(store.workers, {
    get: (target, name) => (...args: unknown[]) => {
      if (lateMs > 0 && name === "collect") collected++;
      return (target as Answer)[name](...args);
    },
  });
  const sleep: Clock["sleep"] = (ms, signal) => {
    if (lateMs > 0 && ms === 10) ticks++;
    return systemClock.sleep(ms, signal);
  };
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + lateMs, sleep };
  await using server = new Server({ ...store, workers }, { clock, heartbeatMs: 40, heartbeatTimeoutMs: 60_000 });
  const worker = await server.register();
  await new Client({ store }).push({ class: "Try", args: [] });
  await server.send("take", { worker, take: 1, limit: 1, wait: 30 });
  // A program leaves a gateway whose reply is 5 s late.
  lateMs = 5_000;
  await until(() => ticks > TICKS);
  assert(collected <= 1, `${collected}: expected at most that of the last heartbeat`);
});

onBothStores("a gateway asks nothing more while the store doesn't answer", async ({ store }) => {
  const TICKS = 20;
  let ticks = 0;
  let isStalled = false;
  const calls: Record<string, number> = { heartbeat: 0, collect: 0 };
  const recovery = Promise.withResolvers<void>();
  const workers = new Proxy(store.workers, {
    get: (target, name) => async (...args: unknown[]) => {
      if (isStalled && Object.hasOwn(calls, name)) {
        calls[String(name)]!++;
        await recovery.promise;
      }
      return await (target as Answer)[name](...args);
    },
  });
  const sleep: Clock["sleep"] = (ms, signal) => {
    if (isStalled && ms === 10) ticks++;
    return systemClock.sleep(ms, signal);
  };
  await using server = new Server({ ...store, workers }, { clock: { ...systemClock, sleep }, heartbeatMs: 40 });
  const worker = await server.register();
  await new Client({ store }).push({ class: "Try", args: [] });
  const { jobs: [{ token }] } = await server.send("take", { worker, take: 1, limit: 1, wait: 30 });
  isStalled = true;
  const beats: Promise<unknown>[] = [];
  await until(() => {
    beats.push(server.send("heartbeat", { worker, running: [{ token }] }));
    return ticks > TICKS;
  });
  assertEquals(calls, { heartbeat: 1, collect: 1 });
  recovery.resolve();
  await Promise.all(beats);
});

onBothStores(
  "a program keeps its jobs if another gateway can't register it, whichever step fails",
  async ({ store }) => {
    await using first = new Server(store);
    const worker = await first.register({ registration: 1, taken: 0 });
    await new Client({ store }).push({ class: "Try", args: [] });
    const { jobs: [job] } = await first.send("take", { worker, take: 1, limit: 10, wait: 30 });
    for (const failing of ["workers.heartbeat", "jobs.stillLeased"]) {
      const full = interceptStore(store, async ({ verb, pass }) => {
        if (verb === failing) throw new StoreError("full", "No space");
        return await pass();
      });
      await using second = new Server(full);
      const { error } = await second.send("register", { ...REGISTRATION, registration: 2, running: [job], taken: 1 });
      assertEquals(error?.message, "No space");
      assertEquals(await store.jobs.stillLeased(worker), [job.token]);
    }
    const outcomes = [{ token: job.token, end: "succeeded" }];
    assertEquals(await first.send("settle", { worker, outcomes }), { lost: [] });
  },
);

onBothStores("a job that another gateway has given counts from there", async ({ store }) => {
  const HOUR_MS = 3_600_000;
  const later = { ...systemClock, now: () => systemClock.now() + HOUR_MS };
  const client = new Client({ store });
  const jid = await client.push({ class: "Try", args: [] });
  const first = new Server(store);
  const worker = await first.register();
  const { jobs: [job] } = await first.send("take", { worker, take: 1, limit: 10, wait: 30 });
  await using second = new Server(store, { clock: later });
  await second.register({ running: [job] });
  await second.send("settle", { worker, outcomes: [{ token: job.token, end: "succeeded" }] });
  const ended = await client.result(jid!);
  assertMatch(ended!.state, /succeeded/);
  assert(ended!.elapsedMs! >= HOUR_MS, `${ended!.elapsedMs}`);
  await first[Symbol.asyncDispose]();
});

onBothStores("a heartbeat during the deregistration of a worker doesn't register it again", async ({ store }) => {
  const gone = Promise.withResolvers<void>();
  const reply = Promise.withResolvers<void>();
  const { workers } = store;
  const deregister = workers.deregister.bind(workers);
  workers.deregister = async (id) => {
    await deregister(id);
    gone.resolve();
    await reply.promise;
  };
  await using server = new Server(store, { heartbeatMs: 1 });
  const worker = await server.register();
  const leaving = server.send("deregister", { worker });
  await gone.promise;
  await server.send("heartbeat", { worker, running: [] });
  reply.resolve();
  await leaving;
  assertEquals(await store.workers.list(), []);
});

onBothStores(
  "an end or a request that is refused names its field and the cure, and its job continues",
  async ({ store }) => {
    await using server = new Server(store);
    const [worker, other] = [await server.register(), await server.register({ nonce: "000000000002" })];
    const jid = await new Client({ store }).push({ class: "Try", args: [] });
    const { jobs: [{ token }] } = await server.send("take", { worker, take: 1, limit: 1, wait: 30 });
    const ended = (end: object) => ["settle", { worker, outcomes: [{ token, ...end }] }] as const;
    const step = { call: 1, kind: "step", name: "a" };
    const refusals: readonly (readonly [string, object, string, string, RegExp])[] = [
      ...[
        [...ended({ end: "snooze" }), "invalid", "outcomes[0].in", /Missing .* for example "5m"/],
        [...ended({ end: "done" }), "invalid", "outcomes[0].end", /expected succeeded, failed,/],
        [...ended({ end: "failed", error: "x" }), "invalid", "outcomes[0].error", /expected an object/],
        [
          "settle",
          { worker, outcomes: Array(1_001).fill({ token, end: "failed" }) },
          "too_large",
          "outcomes",
          /at most 1000/,
        ],
        ["step", { worker, token, ...step, result: { end: "snooze" } }, "invalid", "result.in", /for example "5m"/],
        ["step", { worker: other, token, ...step }, "conflict", "token", /leave its handler/],
        ["stream", { worker: other, token, from: 0, chunks: ["a"] }, "conflict", "token", /leave its handler/],
        ["stream", { worker, token, from: 0, chunks: ["a", "😀".repeat(32_768)] }, "invalid", "chunks[1]", /split it/],
        ["take", { worker: "box:1:00000000000f", take: 1, limit: 1 }, "not_found", "worker", /register again/],
        [
          "register",
          { ...REGISTRATION, protocol: 2 },
          "invalid",
          "protocol",
          /expected 1: use a client of this version/,
        ],
        ["register", { ...REGISTRATION, hostname: "a\0" }, "invalid", "hostname", /expected a name/],
        ["register", { ...REGISTRATION, runtime: "\x1b[31m" }, "invalid", "runtime", /such as python/],
      ] as const,
    ];
    for (const [verb, body, code, field, cure] of refusals) {
      const { error } = await server.send(verb, body);
      assertEquals([verb, error?.code, error?.field], [verb, code, field], JSON.stringify(error));
      assertMatch(error.message, cure);
    }
    const foreign = { worker: other, outcomes: [{ token, end: "discard" }] };
    assertEquals(await server.send("settle", foreign), { lost: [token] });
    assertEquals(await server.send(...ended({ end: "succeeded" })), { lost: [] });
    assertEquals((await new Client({ store }).result(jid!))?.state, "succeeded");
  },
);

onBothStores("the options of a child or a member are those of a push: unknown ones are refused", async ({ store }) => {
  await using server = new Server(store);
  const worker = await server.register();
  const client = new Client({ store, onUnregistered: () => {} });
  const { id } = await client.batches.open();
  await client.push("Try", [], { batch: id });
  const { jobs: [{ token }] } = await server.send("take", { worker, take: 1, limit: 1, wait: 30 });
  let call = 0;
  const use = (kind: string, options: object) =>
    server.send("step", { worker, token, call: ++call, kind, name: "a", class: "Mail", args: [], options });
  const refusals: readonly (readonly [object, string])[] = [
    [{ retrys: 3 }, 'unknown field "retrys"; did you mean "retry"?'],
    [{ tenant: "acme" }, 'unknown field "tenant"; put your fields into "fields"'],
    [{ parent: { jid: "x", step: "y" } }, 'unknown field "parent"; put your fields into "fields"'],
    [{ fields: { occurrence: "x" } }, '"fields.occurrence" is written by jobs alone: choose another name'],
    [{ fields: { retry: 1 } }, '"fields.retry" is an option: put it next to "class"'],
    [{ fields: 1 }, 'invalid "fields": expected an object such as { "tenant": "acme" }'],
  ];
  for (const [options, message] of refusals) {
    assertEquals((await use("child", options)).failed.message, `Job "Mail" of step "a": ${message}`);
    assertEquals((await use("member", options)).failed.message, `Job "Mail": ${message}`);
  }
  const { done } = await use("member", { fields: { tenant: "acme" }, retry: 2 });
  const [member] = await store.jobs.find([done.value]);
  const { tenant, retry, fields } = JSON.parse(member!.payload);
  assertEquals([tenant, retry, fields], ["acme", 2, undefined]);
  assertEquals(await use("child", { giveUpAfter: "1h", fields: { tenant: "acme" }, queue: "low" }), { ends: true });
  const { entries: [child] } = await store.admin.page({ in: "queue", queue: "low" }, { limit: 1 });
  assertEquals(JSON.parse(child!.payload).tenant, "acme");
});

/** Returns the chunks of a job's stream, shortened, and the numbers of those that are missing as `FROM-TO`. */
async function chunksOf(store: Store, jid: string): Promise<string[]> {
  const chunks: string[] = [];
  const { signal } = new AbortController();
  for await (const items of followStream(store, jid, { clock: systemClock, after: 0, signal })) {
    const texts = items.map((item) => "chunk" in item ? JSON.parse(item.chunk) : `${item.gapFrom}-${item.number}`);
    chunks.push(...texts.map((text) => text.slice(0, 5)));
  }
  return chunks;
}

/** Holds the writes of streams until `release` is called. */
function holdStreams(store: Store): { store: Store; asked: Promise<void>; release: () => void } {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const held = interceptStore(store, async ({ verb, pass }) => {
    if (verb === "streams.append") {
      asked.resolve();
      await released.promise;
    }
    return await pass();
  });
  return { store: held, asked: asked.promise, release: released.resolve };
}

onBothStores("a stream continues at the next gateway without a lost or repeated chunk", async ({ store }) => {
  const first = new Server(store);
  await using second = new Server(store);
  const worker = await first.register({ registration: 1, taken: 0 });
  const jid = (await new Client({ store }).push({ class: "Try", args: [] }))!;
  const { jobs: [job] } = await first.send("take", { worker, take: 1, limit: 1, wait: 30 });
  const { token } = job;
  assertEquals(await first.send("stream", { worker, token, from: 0, chunks: ["a", "b"] }), {});
  assertEquals(await first.send("stream", { worker, token, from: 2, chunks: ["c"] }), {});
  await first[Symbol.asyncDispose]();
  await second.register({ registration: 2, running: [job], taken: 1 });
  // The answer to the last request may have been lost.
  assertEquals(await second.send("stream", { worker, token, from: 2, chunks: ["c", "d"] }), {});
  assertEquals(await second.send("stream", { worker, token, from: 4, chunks: ["e"] }), {});
  await second.send("settle", { worker, outcomes: [{ token, end: "succeeded" }] });
  assertEquals(await chunksOf(store, jid), ["a", "b", "c", "d", "e"]);
});

onBothStores(
  "secrets in a stream are masked, in texts as in values, and nothing else is cut",
  async ({ store, visitor }) => {
    await using server = new Server(store);
    const worker = await server.register();
    const jid = (await new Client({ store }).push({ class: "Try", args: [] }))!;
    const { jobs: [{ token }] } = await server.send("take", { worker, take: 1, limit: 1, wait: 30 });
    const secret = `whsec_${"QUJD".repeat(8)}`;
    const long = "word ".repeat(8_000);
    const chunks = [`key ${secret}.`, { note: secret }, long, { long }];
    await server.send("stream", { worker, token, from: 0, chunks });
    await server.send("settle", { worker, outcomes: [{ token, end: "succeeded" }] });
    const { text } = await visitor().send(`/api/v1/jobs/${jid}/stream`);
    const shown = [...text.matchAll(/^data: (\{"number".*)$/gm)].map(([, data]) => JSON.parse(data!).chunk);
    assertEquals(shown, ["key ••••••.", { note: "••••••" }, long, { long }]);
    const page = await visitor().send(`/jobs/${jid}`);
    assertEquals([page.text.includes("key ••••••."), page.text.includes(secret)], [true, false]);
  },
);

onBothStores("chunks keep their order when a request is repeated that waits for room", async ({ store }) => {
  const held = holdStreams(store);
  await using server = new Server(held.store);
  const worker = await server.register();
  const jid = (await new Client({ store }).push({ class: "Try", args: [] }))!;
  const { jobs: [{ token }] } = await server.send("take", { worker, take: 1, limit: 1, wait: 30 });
  const large = ["1", "2", "3", "4", "5", "6", "7"].map((name) => name.padEnd(60_000, "."));
  const request = { worker, token, from: 0, chunks: large };
  const sent = [server.send("stream", request)];
  await held.asked;
  sent.push(server.send("stream", request));
  sent.push(server.send("stream", { worker, token, from: large.length, chunks: ["8"] }));
  await server.send("heartbeat", { worker, running: [{ token }], taken: 1 });
  held.release();
  assertEquals(await Promise.all(sent), [{}, {}, {}]);
  await server.send("settle", { worker, outcomes: [{ token, end: "succeeded" }] });
  assertEquals(await chunksOf(store, jid), ["1....", "2....", "3....", "4....", "5....", "6....", "7....", "8"]);
});

onBothStores("the end of a job is answered when it is stored, after the rest of its stream", async ({ store }) => {
  const held = holdStreams(store);
  await using server = new Server(held.store);
  const worker = await server.register();
  const jid = (await new Client({ store }).push({ class: "Try", args: [] }))!;
  const { jobs: [{ token }] } = await server.send("take", { worker, take: 1, limit: 1, wait: 30 });
  await server.send("stream", { worker, token, from: 0, chunks: ["a"] });
  await held.asked;
  const settle = async () => {
    const answer = await server.send("settle", { worker, outcomes: [{ token, end: "succeeded" }] });
    return [answer, (await store.results.read({ jids: [jid] })).records.length];
  };
  const settled = Promise.all([settle(), settle()]);
  await server.send("heartbeat", { worker, running: [{ token }] });
  held.release();
  assertEquals(await settled, [[{ lost: [] }, 1], [{ lost: [] }, 1]]);
});

onBothStores(
  "the end of a job that its gateway leaves before it is stored counts at the next one",
  async ({ store }) => {
    const held = holdStreams(store);
    const first = new Server(held.store);
    await using second = new Server(store);
    const worker = await first.register({ registration: 1, taken: 0 });
    const jid = (await new Client({ store }).push({ class: "Try", args: [] }))!;
    const { jobs: [job] } = await first.send("take", { worker, take: 1, limit: 1, wait: 30 });
    const { token } = job;
    await first.send("stream", { worker, token, from: 0, chunks: ["a"] });
    await held.asked;
    const outcomes = [{ token, end: "succeeded", result: 1 }];
    const settling = first.send("settle", { worker, outcomes });
    const stopped = first[Symbol.asyncDispose]();
    await second.register({ registration: 2, running: [job], taken: 1 });
    held.release();
    assertEquals((await settling).error?.code, "unavailable");
    assertEquals(await second.send("settle", { worker, outcomes }), { lost: [] });
    await stopped;
    const { records } = await store.results.read({ jids: [jid] });
    assertEquals(records.map((record) => readEnded(record).result), [1]);
  },
);

onBothStores("a gateway that leaves a worker doesn't answer that its jobs are lost", async ({ store }) => {
  await using server = new Server(store);
  const worker = await server.register({ registration: 1, taken: 0 });
  await new Client({ store }).push({ class: "Try", args: [] });
  const { jobs: [job] } = await server.send("take", { worker, take: 1, limit: 1, wait: 30 });
  const { token } = job;
  const waiting = server.send("heartbeat", { worker, running: [{ token }], taken: 1, wait: "30s" });
  assertEquals(await server.register({ registration: 2, running: [job], taken: 1 }), worker);
  const { aborted, lost } = await waiting;
  assertEquals([aborted, lost], [[], []]);
  assertEquals(await server.send("settle", { worker, outcomes: [{ token, end: "succeeded" }] }), { lost: [] });
});

onBothStores(
  "a push into the job's batch is stored once, also if it is repeated at the next gateway",
  async ({ store }) => {
    await using first = new Server(store);
    await using second = new Server(store);
    const client = new Client({ store, onUnregistered: () => {} });
    const { id } = await client.batches.open();
    const worker = await first.register({ registration: 1, taken: 0 });
    await client.push("Try", [], { batch: id });
    const { jobs: [job] } = await first.send("take", { worker, take: 1, limit: 1, wait: 30 });
    const { token } = job;
    const add = (server: Server, call: number) =>
      server.send("step", {
        worker,
        token,
        call,
        kind: "member",
        class: "Mail",
        args: [1],
        options: { queue: "mail" },
      });
    const added = await add(first, 1);
    await second.register({ registration: 2, running: [job], taken: 1 });
    assertEquals(await add(second, 1), added);
    const other = await add(second, 2);
    const { entries } = await store.admin.page({ in: "queue", queue: "mail" }, { limit: 10 });
    assertEquals(entries.map(({ payload }) => JSON.parse(payload).jid), [added.done.value, other.done.value]);
    assertEquals((await client.batches.get(id))?.total, 3);
  },
);

/** Takes a job at one gateway, lets `run` run it there, and continues with it at the next one, which has the given clock. */
async function moving(
  store: Store,
  options: object,
  run: (server: Server, at: { worker: string; token: string }) => Promise<void>,
  clock: Clock = systemClock,
): Promise<{ server: Server; jid: string; worker: string; token: string; known: readonly string[] }> {
  const server = new Server(store, { clock });
  const first = new Server(store);
  const worker = await first.register({ registration: 1, taken: 0 });
  const jid = (await new Client({ store }).push({ class: "Try", args: [], ...options }))!;
  const { jobs: [job] } = await first.send("take", { worker, take: 1, limit: 1, wait: 30 });
  const { token } = job;
  await run(first, { worker, token });
  await first[Symbol.asyncDispose]();
  const answer = await server.send("register", { ...REGISTRATION, registration: 2, running: [job], taken: 1 });
  return { server, jid, worker, token, known: answer.running };
}

onBothStores("a job that continues at the next gateway keeps its steps when it runs again", async ({ store }) => {
  const step = { call: 1, kind: "step", name: "charge" };
  const { server, worker, token } = await moving(store, {}, async (first, at) => {
    await first.send("step", { ...at, ...step });
    const result = { end: "succeeded", result: 5 };
    assertEquals(await first.send("step", { ...at, ...step, result }), { done: { value: 5 } });
  });
  await using _ = server;
  await server.send("settle", { worker, outcomes: [{ token, end: "snooze", in: 0.001 }] });
  await until(async () => {
    await store.jobs.promote(1);
    return (await store.admin.stats()).queues[0]?.size === 1;
  });
  const { jobs: [again] } = await server.send("take", { worker, take: 2, limit: 1, wait: 30 });
  assertEquals(await server.send("step", { worker, token: again.token, ...step }), { done: { value: 5 } });
});

onBothStores("the stream of a job that continues at the next gateway ends with the job", async ({ store }) => {
  const { server, jid, worker, token } = await moving(store, { result_ttl: "1h" }, async (first, at) => {
    await first.send("stream", { ...at, from: 0, chunks: ["a"] });
  });
  await using _ = server;
  await server.send("settle", { worker, outcomes: [{ token, end: "succeeded" }] });
  assertEquals((await store.streams.read(jid, 0))?.ended, true);
});

onBothStores("a job that continues at the next gateway doesn't expire", async ({ store }) => {
  const later = { ...systemClock, now: () => systemClock.now() + 3_600_000 };
  const job = { expires_in: 600, result_ttl: "1d" };
  const { server, jid, worker, token, known } = await moving(store, job, () => Promise.resolve(), later);
  await using _ = server;
  assertEquals(known, [token]);
  await server.send("settle", { worker, outcomes: [{ token, end: "succeeded" }] });
  const { records: [record] } = await store.results.read({ jids: [jid] });
  assertEquals(readEnded(record!).state, "succeeded");
});
