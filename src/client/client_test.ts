import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type Clock, systemClock } from "../clock.ts";
import { defineJob } from "../handlers/handler.ts";
import { InvalidPayload } from "../job/errors.ts";
import type { PushMiddleware } from "./middleware.ts";
import type { DeclaredClass } from "../store/port/classes.ts";
import type { EnqueueResult, NewJob } from "../store/port/jobs.ts";
import { BulkInterrupted, Client, type ClientOptions, type JobRequest, type PushResult } from "./client.ts";

const NOW = 1_700_000_000_123;
const clock: Clock = { ...systemClock, now: () => NOW };

/** The part of a store that a client uses. Records jobs, holds unique locks, and fails on demand. */
class Recorder {
  readonly calls: NewJob[][] = [];
  failAfter = Infinity;
  readonly #locks = new Map<string, string>();

  get stored(): NewJob[] {
    return this.calls.flat();
  }

  get payloads(): Record<string, unknown>[] {
    return this.stored.map((job) => JSON.parse(job.payload));
  }

  readonly jobs = { enqueue: (jobs: readonly NewJob[]) => this.#enqueue(jobs) };

  #enqueue(jobs: readonly NewJob[]): Promise<EnqueueResult[]> {
    if (this.calls.length >= this.failAfter) return Promise.reject(new Error("disk full"));
    const results = jobs.map((job): EnqueueResult => {
      const holder = job.unique && this.#locks.get(job.unique.key);
      if (holder !== undefined) return { kind: "duplicate", holder };
      if (job.unique) this.#locks.set(job.unique.key, job.jid);
      return { kind: "stored" };
    });
    this.calls.push(jobs.filter((_job, i) => results[i]!.kind === "stored"));
    return Promise.resolve(results);
  }
}

function recorded(options: Partial<ClientOptions> = {}): { store: Recorder; client: Client } {
  const store = new Recorder();
  return { store, client: new Client({ store, clock, ...options }) };
}

async function all(results: AsyncIterable<PushResult>): Promise<PushResult[]> {
  const list: PushResult[] = [];
  for await (const result of results) list.push(result);
  return list;
}

/** Returns a middleware that sets fields. */
function setting(fields: Record<string, unknown>): PushMiddleware {
  return (context, next) => {
    context.job = { ...context.job, ...fields };
    return next();
  };
}

Deno.test("A push stores one job and returns its jid", async () => {
  const { store, client } = recorded();
  const jid = await client.push({ class: "HardJob", args: ["bob", 5], queue: "low" });
  assertMatch(jid!, /^[0-9a-f]{24}$/);
  assertEquals(store.payloads, [
    { class: "HardJob", args: ["bob", 5], jid, queue: "low", retry: true, created_at: 1700000000.123 },
  ]);
  assertEquals(store.stored[0], { jid: jid!, queue: "low", payload: store.stored[0]!.payload });
});

Deno.test("A class name and a definition push the same job", async () => {
  const { store, client } = recorded({ classOptions: (name) => name === "Known" ? { queue: "known" } : undefined });
  const Greet = defineJob("Greet", (_ctx, name: string, times: number) => name.repeat(times), {
    queue: "hi",
    retry: 1,
  });
  await client.push("HardJob", ["bob"], { in: "5m", jid: "mine" });
  await client.push(Greet, ["bob", 2], { retry: 3 });
  await client.push("Known", []);
  assertEquals(store.stored.map(({ queue, delayMs }) => [queue, delayMs]), [["default", 300_000], ["hi", undefined], [
    "known",
    undefined,
  ]]);
  assertEquals(store.payloads.map(({ class: name, retry }) => [name, retry]), [["HardJob", true], ["Greet", 3], [
    "Known",
    true,
  ]]);
  assertEquals(store.payloads[0]!.jid, "mine");
});

Deno.test("A rejected push stores nothing", async () => {
  const { store, client } = recorded({ maxPayloadBytes: 200 });
  const refused: [unknown, string][] = [
    [{ args: [] }, "class is undefined"],
    [{ class: "A", args: null }, "args is null; expected an array"],
    [{ class: "A", args: [{ at: new Date(0) }] }, "args[0].at is a Date"],
    [{ class: "A", args: [], queue: "a b" }, "queue is"],
    [null, "job is null"],
    [undefined, "job is undefined"],
  ];
  for (const [job, message] of refused) {
    await assertRejects(() => client.push(job as JobRequest), InvalidPayload, message);
  }
  assertEquals(store.calls.length, 0);
});

Deno.test("Jobs without args have no arguments, however they are pushed; what isn't an array is rejected", async () => {
  const { store, client } = recorded();
  await client.push("A");
  await client.push({ class: "A" });
  await client.tryPush({ class: "A", in: "5m" });
  for await (const { refused } of client.pushMany([{ class: "A" }, { class: "A", args: undefined as never }])) {
    assertEquals(refused, undefined);
  }
  assertEquals(store.payloads.map(({ args }) => args), [[], [], [], [], []]);
  const results = await client.pushBulk("A", [[], undefined as never]);
  assertEquals(results[1], {
    kind: "refused",
    refused: "args is undefined; expected an array of the handler's arguments",
  });
  for (const args of [null, "x", {}]) {
    await assertRejects(() => client.push({ class: "A", args: args as never }), InvalidPayload, "expected an array");
  }
});

Deno.test("The limit of a payload counts bytes exactly", async () => {
  const { store, client } = recorded();
  await client.push("A", ["€"]);
  const bytes = new TextEncoder().encode(store.stored[0]!.payload).length;
  assertEquals(bytes, store.stored[0]!.payload.length + 2);
  await recorded({ maxPayloadBytes: bytes }).client.push("A", ["€"]);
  await assertRejects(
    () => recorded({ maxPayloadBytes: bytes - 1 }).client.push("A", ["€"]),
    InvalidPayload,
    `payload is ${bytes}; expected at most ${bytes - 1} bytes`,
  );
  await assertRejects(() => client.push("A", ["x".repeat(1024 * 1024)]), InvalidPayload, "at most 1048576 bytes");
});

Deno.test("Times have the format of the configured Sidekiq version", async () => {
  const { store, client } = recorded({ sidekiqWire: 8 });
  await client.push("A", []);
  assertMatch(store.stored[0]!.payload, /"created_at":1700000000123\}$/);
});

Deno.test("A unique job has its lock, and a duplicate is not stored", async () => {
  const { store, client } = recorded();
  const push = (args: unknown[], more = {}) => client.push("A", args, { unique_for: "1h", ...more });
  const first = await push([1, { a: 1 }]);
  assertEquals(await push([1, { a: 1 }]), undefined);
  for (const args of [[1, { a: 2 }], ["1", { a: 1 }], []]) assertEquals(typeof await push(args), "string");
  assertEquals(typeof await push([1, { a: 1 }], { queue: "other" }), "string");
  assertEquals(typeof await push([1, { a: 1 }], { unique_for: false }), "string");
  const [job] = store.stored;
  assertEquals([job!.jid, job!.unique!.ttlMs, job!.unique!.key.length], [first!, 3_600_000, 43]);
  assertEquals([store.payloads[0]!.unique_for, store.payloads[0]!.unique_key], [3_600, job!.unique!.key]);
});

Deno.test("A unique lock also holds until the job is due", async () => {
  const { store, client } = recorded();
  await client.push("A", [1], { unique_for: 10, in: 60 });
  await client.push("A", [2], { unique_for: 10, at: new Date(NOW + 5_000) });
  await client.push("A", [3], { unique_for: 10, at: new Date(NOW - 5_000) });
  assertEquals(store.stored.map((job) => job.unique!.ttlMs), [70_000, 15_000, 10_000]);
});

Deno.test("pushBulk stores 1,000 jobs per call, and returns a result for each job", async () => {
  const { store, client } = recorded();
  const args: unknown[][] = Array.from({ length: 2_500 }, (_, i) => [i]);
  args[1_500] = [undefined];
  args[3] = "no array" as unknown as unknown[];
  const results = await client.pushBulk({ class: "A", args, queue: "low", at: new Date(NOW + 1_000) });
  assertEquals(store.calls.map((batch) => batch.length), [999, 999, 500]);
  assertEquals(results.length, 2_500);
  assertEquals(results[3], {
    kind: "refused",
    refused: `args is "no array"; expected an array of the handler's arguments`,
  });
  assertEquals(results[1_500]?.refused?.startsWith("args[0] is undefined"), true);
  assertEquals(results.flatMap((result) => result.jid ?? []), store.stored.map((job) => job.jid));
  assertEquals(store.payloads.map((payload) => (payload.args as number[])[0]).slice(0, 5), [0, 1, 2, 4, 5]);
  assertEquals(new Set(store.stored.map((job) => `${job.queue} ${job.at}`)), new Set([`low ${NOW + 1_000}`]));
});

Deno.test("pushBulk accepts a class by its name, as push does", async () => {
  const { store, client } = recorded();
  assertEquals((await client.pushBulk("Mail", [[1], [2]], { queue: "low" })).length, 2);
  const shown = store.payloads.map(({ class: name, args, queue }) => [name, args, queue]);
  assertEquals(shown, [["Mail", [1], "low"], ["Mail", [2], "low"]]);
});

Deno.test("pushBulk rejects an invalid shared option before anything is stored", async () => {
  const { store, client } = recorded();
  await assertRejects(() => client.pushBulk({ class: "A", args: [[]], queue: "a b" }), InvalidPayload, "queue");
  await assertRejects(() => client.pushBulk({ class: "A", args: [[]], jid: "one" }), InvalidPayload, "jid");
  await assertRejects(() => client.pushBulk({ class: "A", args: 5 as never }), InvalidPayload, "args is 5");
  await assertRejects(() => client.pushBulk({ class: "A", args: [[]], spread: "-1m" }), InvalidPayload, "spread");
  assertEquals([await client.pushBulk({ class: "A", args: [] }), store.calls.length], [[], 0]);
});

Deno.test("pushMany reads at most one batch ahead", async () => {
  const { store, client } = recorded();
  let read = 0;
  const jobs = (async function* () {
    for (; read < 3_000; read++) {
      yield await Promise.resolve({ class: "A", args: [read], queue: read % 2 ? "odd" : "even" });
    }
  })();
  const results = client.pushMany(jobs);
  await results.next();
  assertEquals([store.calls.length, read < 1_001], [1, true]);
  const rest = await all(results);
  assertEquals([rest.length, store.stored.length], [2_999, 3_000]);
  assertEquals(store.stored.map((job) => job.queue).slice(0, 3), ["even", "odd", "even"]);
});

Deno.test("A batch of large jobs has fewer jobs", async () => {
  const { store, client } = recorded();
  const text = "x".repeat(1024 * 1023);
  await all(client.pushMany(Array.from({ length: 20 }, () => ({ class: "A", args: [text] }))));
  assertEquals(store.calls.map((batch) => batch.length), [5, 5, 5, 5]);
});

Deno.test("A rejected job and a duplicate among many do not affect the others", async () => {
  const { store, client } = recorded();
  const results = await all(client.pushMany([
    { class: "A", args: [1], unique_for: 60, jid: "holder" },
    { class: "A", args: [1n ** 1n, 2n ** 70n] },
    { class: "A", args: [1], unique_for: 60 },
    { class: "A", args: [2], jid: "same" },
    { class: "A", args: [1], unique_for: 60 },
    { class: "A", args: [3], jid: "same" },
    null as unknown as JobRequest,
  ]));
  const held = {
    kind: "duplicate",
    refused: 'duplicate of job "holder", which holds the unique lock',
    duplicateOf: "holder",
  };
  assertEquals(results[1]?.refused?.startsWith("args[1] is 1180591620717411303424n"), true);
  assertEquals(results[6]?.refused?.startsWith("job is null"), true);
  assertEquals([results[0], results[2], results[3], results[4], results[5]], [
    { kind: "stored", jid: "holder" },
    held,
    { kind: "stored", jid: "same" },
    held,
    { kind: "stored", jid: "same" },
  ]);
  assertEquals(store.payloads.map((payload) => payload.args), [[1], [2], [3]]);
});

Deno.test("spread delays each job by a random part of the interval", async () => {
  const { store, client } = recorded();
  const args = Array.from({ length: 1_000 }, () => []);
  await client.pushBulk({ class: "A", args, spread: "1m" });
  const delays = store.stored.map((job) => job.delayMs ?? 0);
  assertEquals(delays.every((ms) => ms >= 0 && ms < 60_000), true);
  for (const third of [0, 20_000, 40_000]) {
    assertEquals(delays.filter((ms) => ms >= third && ms < third + 20_000).length > 200, true);
  }
  const due = NOW + 1e6;
  const jobs = args.map((_args, i) => ({ class: "A", args: [i], at: new Date(due), unique_for: 1 }));
  await all(client.pushMany(jobs, { spread: 0.01 }));
  const spread = store.stored.slice(1_000);
  assertEquals([...new Set(spread.map((job) => job.at! - due))].sort(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assertEquals(spread.every((job) => job.unique!.ttlMs === 1_000 + job.at! - NOW), true);
});

Deno.test("An interrupted bulk push reports the jobs that are done", async () => {
  const { store, client } = recorded();
  store.failAfter = 2;
  const args = Array.from({ length: 3_500 }, (_, i) => i === 5 ? [NaN] : [i]);
  const error = await assertRejects(
    () => client.pushBulk({ class: "A", args }),
    BulkInterrupted,
    "after 2000 jobs: disk full",
  );
  assertEquals([error.done, error.results.length, error.results[5]?.jid], [2_000, 2_000, undefined]);
  assertEquals(error.results.flatMap((result) => result.jid ?? []), store.stored.map((job) => job.jid));
  store.failAfter = 3;
  const seen: PushResult[] = [];
  const interrupted = await assertRejects(async () => {
    for await (const result of client.pushMany(args.map((one) => ({ class: "A", args: one })))) seen.push(result);
  }, BulkInterrupted);
  assertEquals([interrupted.done, seen.length, store.stored.length], [1_000, 1_000, 2_998]);
});

for (const middleware of [[], [setting({})]]) {
  const how = middleware.length > 0 ? "Through middleware, " : "Without middleware, ";

  Deno.test(`${how}a bulk push whose iterable throws reports the jobs that are stored`, async () => {
    const { store, client } = recorded({ middleware });
    const rows = function* (count: number) {
      for (let i = 0; i < count; i++) yield [i];
      throw new RangeError("cursor closed");
    };
    const error = await assertRejects(() => client.pushBulk("A", rows(2_500)), BulkInterrupted, "cursor closed");
    assertEquals([error.done, error.cause instanceof RangeError], [2_000, true]);
    assertEquals(error.results.map(({ jid }) => jid), store.stored.map(({ jid }) => jid));
    // Nothing of it is stored.
    await assertRejects(() => client.pushBulk("A", rows(999)), RangeError);
    assertEquals(store.stored.length, 2_000);
  });

  Deno.test(`${how}a function that isn't a class is rejected, and doesn't affect the other jobs`, async () => {
    const { store, client } = recorded({ middleware });
    const greet = (() => {}) as never;
    const results = await all(client.pushMany([{ class: "A" }, { class: greet }, { class: "B" }]));
    assertEquals(results.map(({ refused }) => refused), [
      undefined,
      'class is the function greet; expected what defineJob returns, such as defineJob("greet", greet)',
      undefined,
    ]);
    assertEquals(store.payloads.map((payload) => payload.class), ["A", "B"]);
    await assertRejects(() => client.push(greet, []), InvalidPayload, "defineJob");
  });
}

Deno.test("Each job of a batch that middleware stops is rejected", async () => {
  const { store, client } = recorded({ middleware: [setting({})], batchMiddleware: [() => Promise.resolve()] });
  const refused = { kind: "refused", refused: "stopped by middleware" };
  assertEquals(await client.pushBulk("A", [[1], [2]]), [refused, refused] as PushResult[]);
  assertEquals(store.calls.length, 0);
});

Deno.test("A single push rejects with the error of the store", async () => {
  const { store, client } = recorded();
  store.failAfter = 0;
  const error = await assertRejects(() => client.push("A", []), Error, "disk full");
  assertEquals(error instanceof BulkInterrupted, false);
});

Deno.test("Middleware receives the whole job, may change it, and receives the jid", async () => {
  const seen: unknown[] = [];
  const watching: PushMiddleware = async (context, next) => {
    seen.push({ ...context.job });
    seen.push(await next());
    return "another";
  };
  const { store, client } = recorded({
    middleware: [watching, setting({ queue: "changed", trace: "t" })],
    classOptions: () => ({ retry: 2, retryIn: () => 1 }),
  });
  assertEquals(await client.push("A", [1]), "another");
  const { jid } = store.stored[0]!;
  assertEquals(seen, [{ class: "A", args: [1], queue: "default", retry: 2, jid }, jid]);
  const { queue, trace, retry } = store.payloads[0]!;
  assertEquals([queue, trace, retry], ["changed", "t", 2]);
});

Deno.test("Middleware may stop a push, and its changes are checked", async () => {
  const stopping = recorded({ middleware: [() => Promise.resolve(undefined)] });
  assertEquals([await stopping.client.push("A", []), stopping.store.calls.length], [undefined, 0]);
  const breaking = recorded({ middleware: [setting({ args: [new Map()] })] });
  await assertRejects(() => breaking.client.push("A", []), InvalidPayload, "args[0] is a Map");
  const untouched = recorded({ middleware: [() => Promise.reject(new Error("reached"))] });
  await assertRejects(() => untouched.client.push("A", [NaN]), InvalidPayload);
});

Deno.test("An option that middleware removes does not come back from the class", async () => {
  const without: PushMiddleware = (context, next) => {
    const { tags: _tags, ...job } = context.job;
    context.job = job as JobRequest;
    return next();
  };
  const { store, client } = recorded({ middleware: [without], classOptions: () => ({ tags: ["x"] }) });
  await client.push("A", []);
  assertEquals("tags" in store.payloads[0]!, false);
});

Deno.test("Many jobs through middleware share one call to the store, and keep their order", async () => {
  const some: PushMiddleware = async (context, next) => {
    const [number] = context.job.args as [number];
    if (number === 1) return undefined;
    if (number === 2) throw new TypeError("not this one");
    return await next();
  };
  const { store, client } = recorded({ middleware: [some] });
  const args = Array.from({ length: 1_200 }, (_, i) => [i]);
  const results = await client.pushBulk({ class: "A", args, queue: "low" });
  assertEquals(store.calls.map((batch) => batch.length), [998, 200]);
  assertEquals(results.slice(1, 3), [{ kind: "refused", refused: "stopped by middleware" }, {
    kind: "refused",
    refused: "TypeError: not this one",
  }]);
  assertEquals(results.flatMap((result) => result.jid ?? []), store.stored.map((job) => job.jid));
  assertEquals(store.stored.every((job) => job.queue === "low"), true);
});

Deno.test("Through middleware, a duplicate returns the jid that holds the lock", async () => {
  const { client } = recorded({ middleware: [(_context, next) => next()] });
  const results = await client.pushBulk({ class: "A", args: [[1], [2], [1]], unique_for: 60 });
  const [first, second, again] = results;
  assertEquals(typeof second?.jid, "string");
  assertEquals(again?.refused?.startsWith(`duplicate of job "${first?.jid}"`), true);
});

Deno.test("Through middleware, jobs with and without a unique lock are stored in order", async () => {
  const { store, client } = recorded({ middleware: [(_context, next) => next()] });
  const jobs = Array.from({ length: 30 }, (_, i): JobRequest => ({
    class: "A",
    args: [i, "x".repeat((30 - i) * 10_000)],
    ...(i % 3 < 2 && { unique_for: 60 }),
  }));
  await all(client.pushMany(jobs));
  assertEquals(store.payloads.map(({ args }) => (args as unknown[])[0]), jobs.map((_, i) => i));
});

Deno.test("Through middleware, a failing store interrupts the bulk push", async () => {
  const { store, client } = recorded({ middleware: [(_context, next) => next()] });
  store.failAfter = 1;
  const args = Array.from({ length: 1_500 }, (_, i) => [i]);
  const error = await assertRejects(() => client.pushBulk({ class: "A", args }), BulkInterrupted, "disk full");
  assertEquals([error.done, error.results.length, store.stored.length], [1_000, 1_000, 1_000]);
  store.failAfter = 2;
  const jobs = args.map((one) => ({ class: "A", args: one }));
  assertEquals((await assertRejects(() => all(client.pushMany(jobs)), BulkInterrupted)).done, 1_000);
});

/** A store in which workers have registered the class `Told`. */
class WithTold extends Recorder {
  options = '{"queue":"told","retry":2,"unique_for":60,"big":12345678901234567890}';
  reads: string[] = [];

  readonly classes = {
    read: (names?: readonly string[]) => {
      this.reads.push(...names ?? []);
      return Promise.resolve(names?.includes("Told") ? [{ name: "Told", options: this.options }] : []);
    },
  };
}

Deno.test("Registered options apply to every kind of push, unless the push overrides them", async () => {
  const store = new WithTold();
  const client = new Client({ store, clock });
  await client.push("Told", [1]);
  await client.push({ class: "Told", args: [2], queue: "mine", retry: false });
  await client.pushBulk({ class: "Told", args: [[3]] });
  await all(client.pushMany([{ class: "Told", args: [4] }, { class: "Else", args: [5] }]));
  await new Client({ store, clock, middleware: [(_context, next) => next()] }).push("Told", [6]);
  assertEquals(store.payloads.map(({ queue, retry }) => [queue, retry]), [
    ["told", 2],
    ["mine", false],
    ["told", 2],
    ["told", 2],
    ["default", true],
    ["told", 2],
  ]);
  assertEquals(store.stored.map(({ unique }) => unique !== undefined), [true, true, true, true, false, true]);
  assertMatch(store.stored[0]!.payload, /"big":12345678901234567890/);
  assertEquals([await client.optionsOf("Told"), await client.optionsOf("Else")].map((told) => told["queue"]), [
    "told",
    undefined,
  ]);
  assertEquals(store.reads, ["Told", "Else", "Told"]);
});

Deno.test("A path that a worker has registered gives each push its group, and a path to nothing is refused", async () => {
  const store = new WithTold();
  store.options = '{"queue":"exports","group":"args[0].customer"}';
  const client = new Client({ store, clock });
  await client.push("Told", [{ customer: "acme" }]);
  await client.push("Told", [{ customer: 7 }]);
  await client.push("Told", [{}], { group: "other" });
  assertEquals(store.stored.map(({ queue, group }) => [queue, group]), [
    ["exports", "acme"],
    ["exports", "7"],
    ["exports", "other"],
  ]);
  assertEquals(store.payloads[0]!["group"], "acme");
  await assertRejects(() => client.push("Told", [{}]), InvalidPayload, "group");
  await assertRejects(() => client.push("Told", [{ customer: "x".repeat(257) }]), InvalidPayload, "group");
});

Deno.test("Through middleware, jobs whose class must be read from the store keep their order", async () => {
  const store = new WithTold();
  const client = new Client({
    store,
    clock,
    middleware: [(_context, next) => next()],
    classOptions: (name) => name === "Known" ? {} : undefined,
  });
  const jobs = Array.from({ length: 6 }, (_, i) => ({ class: i % 2 === 0 ? "Told" : "Known", args: [i] }));
  // The reply takes a turn of the event loop, as that of a real store.
  const read = store.classes.read;
  store.classes.read = (names) => systemClock.turn().then(() => systemClock.turn()).then(() => read(names));
  await all(client.pushMany(jobs));
  assertEquals(store.payloads.map(({ args }) => (args as unknown[])[0]), [0, 1, 2, 3, 4, 5]);
  store.classes.read = () => Promise.reject(new Error("gone"));
  const unknown = [{ class: "Other", args: [] }];
  assertEquals((await assertRejects(() => all(client.pushMany(unknown)), BulkInterrupted, "gone")).done, 0);
});

Deno.test("A class is read again after half a minute, and never if this program registers it", async () => {
  let now = 0;
  const store = new WithTold();
  const classOptions = (name: string) => name === "Own" ? { queue: "own" } : undefined;
  const client = new Client({ store, clock: { ...clock, monotonic: () => now }, classOptions });
  await Promise.all([client.push("Told", [1]), client.push("Told", [2]), client.push("Own", [])]);
  assertEquals(store.reads, ["Told"]);
  store.options = '{"queue":"later"}';
  now = 30_001;
  await client.push("Told", [3]);
  assertEquals(store.payloads.map(({ queue }) => queue).sort(), ["later", "own", "told", "told"]);
});

Deno.test("Invalid registered options are ignored, and an unreachable store is an error", async () => {
  const store = new WithTold();
  const useless = ["[1]", "null", "nonsense", '{"queue":5}', '{"queue":"a","retry":"lots"}', '{"queue":"a","jid":"x"}'];
  for (const options of useless) {
    store.options = options;
    await new Client({ store, clock }).push("Told", [options]);
  }
  assertEquals(store.payloads.map(({ queue }) => queue), useless.map(() => "default"));
  const down = Object.assign(new Recorder(), { classes: { read: () => Promise.reject(new Error("down")) } });
  await assertRejects(() => new Client({ store: down, clock }).push("Told", []), Error, "down");
  const client = new Client({ store: down, clock });
  const interrupted = all(client.pushMany([{ class: "Told", args: [] }]));
  await assertRejects(() => interrupted, BulkInterrupted, "after 0 jobs: down");
  assertEquals(down.stored, []);
  Object.assign(down.classes, { read: () => Promise.resolve([]) });
  await client.push("Told", []);
  assertEquals(down.stored.length, 1, "the class is read again after a failure");
});

/** A store with the given registered classes. */
class Registering extends Recorder {
  readonly reads: string[] = [];
  constructor(readonly declared: Readonly<Record<string, string>>) {
    super();
  }

  readonly classes = {
    read: (names?: readonly string[]) => {
      this.reads.push(...names ?? []);
      return Promise.resolve(
        (names ?? Object.keys(this.declared)).flatMap((name) => {
          const options = this.declared[name];
          return options === undefined ? [] : [{ name, options } as DeclaredClass];
        }),
      );
    },
  };
}

Deno.test("the options of a definition apply to every push of it: single, bulk, many, and by name afterwards", async () => {
  const { store, client } = recorded();
  const News = defineJob("News", (_ctx, id: number) => id, { queue: "news", retry: 2 });
  await client.push(News, [1]);
  await client.pushBulk(News, [[2]], { tags: ["bulk"] });
  await client.pushBulk({ class: News, args: [[3]] });
  await all(client.pushMany(News, [{ args: [4], queue: "urgent" }]));
  await all(client.pushMany([{ class: News, args: [5] }]));
  await client.push({ class: News, args: [6] });
  await client.pushBulk({ class: "News", args: [[7]] });
  assertEquals(
    store.payloads.map(({ class: name, args, queue, retry }) => [name, (args as number[])[0], queue, retry]),
    [1, 2, 3, 4, 5, 6, 7].map((n) => ["News", n, n === 4 ? "urgent" : "news", 2]),
  );
});

Deno.test("classes among the options of a client are registered for its first push by name", async () => {
  const News = defineJob("News", () => {}, { queue: "news" });
  const store = new Registering({});
  const client = new Client({ store, clock, jobs: [News], strict: true });
  await client.pushBulk({ class: "News", args: [[]] });
  assertEquals([store.payloads[0]!.queue, store.reads], ["news", []]);
});

Deno.test("an unregistered class is reported once", async () => {
  const reported: string[] = [];
  const store = new Registering({ Known: '{"queue":"low"}' });
  const client = new Client({ store, clock, onUnregistered: (name) => void reported.push(name) });
  for (const name of ["Known", "Unregistered", "Unregistered"]) await client.push(name, []);
  await client.pushBulk({ class: "Unregistered", args: [[], []] });
  await all(client.pushMany([{ class: "Other", args: [] }, { class: "Unregistered", args: [] }]));
  assertEquals(reported, ["Unregistered", "Other"]);
  assertEquals(store.payloads.map(({ queue }) => queue)[0], "low");
});

Deno.test("a registered class of nearly the same name is suggested, for the first unregistered classes only", async () => {
  const reported: (string | undefined)[] = [];
  const store = new Registering({ Greet: "{}", Charge: "{}" });
  const client = new Client({ store, clock, onUnregistered: (_name, meant) => void reported.push(meant) });
  for (const name of ["Greeet", "greet", "Rate"]) await client.push(name, []);
  assertEquals(reported, ["Greet", "Greet", undefined]);
  for (let i = 0; i < 20; i++) await client.push(`Charge${i}`, []);
  assertEquals(reported.filter((meant) => meant === "Charge").length, 17);
  const strict = new Client({ store, clock, strict: true });
  await assertRejects(() => strict.push("Charg", []), InvalidPayload, "has registered; did you mean Charge?");
});

Deno.test("a strict client rejects an unregistered class, and accepts others", async () => {
  const store = new Registering({ Known: "{}" });
  const client = new Client({ store, clock, strict: true });
  const refusal = 'class is "Unregistered"; expected a class that this client or a worker has registered';
  await assertRejects(() => client.push("Unregistered", []), InvalidPayload, refusal);
  await assertRejects(() => client.pushBulk({ class: "Unregistered", args: [[]] }), InvalidPayload, refusal);
  const many = await all(client.pushMany([{ class: "Known", args: [] }, { class: "Unregistered", args: [] }]));
  assertEquals([typeof many[0]!.jid, many[1]!.refused], ["string", refusal]);
  assertEquals(store.stored.length, 1);
});

Deno.test("types: arguments that JSON would change do not compile", () => {
  const check = (client: Client) => {
    const Mail = defineJob(
      "Mail",
      (_ctx, to: string, opts?: { cc?: string; tags: readonly string[] }) => to + opts?.cc,
    );
    const Dated = defineJob("Dated", (_ctx, _when: Date) => {});
    const Counted = defineJob("Counted", (_ctx, _count: bigint) => {});
    const rows: { id: number; to: string }[] = [];
    return [
      () => client.push(Mail, ["a@b.c"]),
      () => client.push(Mail, ["a@b.c", { tags: ["x"] }]),
      () => client.pushBulk(Mail, rows.map(({ to }) => [to])),
      () => client.push("Any", [{ id: 2n ** 60n }]), // no types are known for a name
      // @ts-expect-error a Date
      () => client.push(Dated, [new Date()]),
      // @ts-expect-error a bigint, which a handler may receive as a number
      () => client.push(Counted, [1n]),
      // @ts-expect-error a wrong type
      () => client.pushBulk(Mail, rows.map(({ id }) => [id])),
      // @ts-expect-error a missing argument
      () => client.pushMany(Mail, [{ args: [] }]),
      // @ts-expect-error a Date within an object
      () => client.push("Any", [{ at: new Date() }]),
      // @ts-expect-error a Map
      () => client.push("Any", [new Map()]),
      // @ts-expect-error undefined
      () => client.push("Any", [undefined]),
    ];
  };
  assertEquals(typeof check, "function");
});
