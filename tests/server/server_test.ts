/** A worker inside a program: the outcomes of jobs, and the hooks. On a real file. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  ConfigError,
  defineJob,
  Discard,
  type Hooks,
  type JobContext,
  Kill,
  openStore,
  type PerformMiddleware,
  Registry,
  type Server,
  Snooze,
  startServer,
  type Store,
} from "../../src/mod.ts";
import { until } from "../support/eventually.ts";
import { temporaryFolder } from "../support/process.ts";
import { ShiftedClock } from "../support/stores.ts";

/** A worker with jobs that a test controls, and a second connection to the store. */
async function open(
  perform: (ctx: JobContext, ...args: never[]) => unknown,
  more: { options?: Record<string, unknown>; hooks?: Hooks; middleware?: PerformMiddleware[] } = {},
): Promise<{ server: Server; store: Store; clock: ShiftedClock } & AsyncDisposable> {
  const folder = await temporaryFolder();
  const url = `sqlite:${folder.path}/jobs.db`;
  const clock = new ShiftedClock();
  const store = await openStore(url, { clock });
  const server = await startServer({
    store: url,
    storeOptions: { clock },
    jobs: [defineJob("Act", perform as (ctx: JobContext, ...args: unknown[]) => unknown, more.options)],
    settings: { shutdownTimeout: "100ms" },
    log: false,
    ...(more.hooks && { hooks: more.hooks }),
    ...(more.middleware && { performMiddleware: more.middleware }),
  });
  return {
    server,
    store,
    clock,
    async [Symbol.asyncDispose]() {
      await server.stop();
      await store[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Waits until the store has these counts. */
async function counted(store: Store, isSo: (stats: Awaited<ReturnType<Store["admin"]["stats"]>>) => boolean) {
  await until(async () => isSo(await store.admin.stats()), async () => JSON.stringify(await store.admin.stats()));
}

Deno.test("at the deadline a job's signal aborts before the job returns to its queue", async () => {
  const started = Promise.withResolvers<void>();
  const found = Promise.withResolvers<string[]>();
  await using t = await open(async (ctx) => {
    started.resolve();
    await new Promise((_, reject) =>
      ctx.signal.addEventListener("abort", () => {
        // The state of the store at this moment.
        found.resolve(t.store.jobs.find([ctx.jid]).then((entries) => entries.map((entry) => entry.place.in)));
        reject(ctx.signal.reason);
      })
    );
  });
  await t.server.client.push("Act", []);
  await started.promise;
  await t.server.stop();
  assertEquals(await found.promise, ["running"]);
  const { failed, retry, enqueued } = await t.store.admin.stats();
  assertEquals([failed, retry, enqueued], [0, 0, 1], "a stop doesn't count as a failure");
});

Deno.test("hooks are called in order, and for every failure", async () => {
  const told: string[] = [];
  const tell = (what: string) => () => void told.push(what);
  {
    await using t = await open((_ctx, message: string) => {
      throw new Error(message);
    }, {
      options: { retry: 1, retryIn: () => 0.001 },
      hooks: {
        startup: tell("startup"),
        quiet: tell("quiet"),
        shutdown: tell("shutdown"),
        error: (error, job) => void told.push(`error ${(error as Error).message} ${job.attempt}`),
        death: (payload, error) => {
          told.push(`death ${payload.class} ${(error as Error).message}`);
          throw new Error("A hook that fails changes nothing");
        },
      },
    });
    await t.server.client.push("Act", ["no"]);
    await counted(t.store, ({ dead }) => dead === 1);
  }
  assertEquals(told, ["startup", "error no 1", "error no 2", "death Act no", "quiet", "shutdown"]);
});

Deno.test("a retry by hand runs the next attempt, and uses none of the retries", async () => {
  const attempts: number[] = [];
  await using t = await open((ctx) => {
    attempts.push(ctx.attempt);
    if (ctx.attempt < 4) throw new Error("no");
  }, { options: { retry: 1, retryIn: () => 0.001, result_ttl: "1h" } });
  const jid = (await t.server.client.push("Act", []))!;
  await counted(t.store, ({ dead }) => dead === 1);
  const retryByHand = async () => {
    const [entry] = await t.store.jobs.find([jid]);
    assertEquals(await t.store.jobs.edit([entry!.ref], "requeue"), 1);
  };
  await retryByHand();
  await counted(t.store, ({ failed, dead }) => failed === 3 && dead === 1);
  await retryByHand();
  await counted(t.store, ({ processed, running }) => processed === 4 && running === 0);
  const { state, attempt } = (await t.server.client.result(jid))!;
  assertEquals([attempts, state, attempt], [[1, 2, 3, 4], "succeeded", 4]);
});

Deno.test("an error in the startup hook fails the start, and leaves nothing behind", async () => {
  await using folder = await temporaryFolder();
  const url = `sqlite:${folder.path}/jobs.db`;
  const hooks = { startup: () => Promise.reject(new Error("no database")) };
  await assertRejects(() => startServer({ store: url, hooks, log: false }), Error, "no database");
  await using store = await openStore(url);
  assertEquals(await store.workers.list(), []);
});

Deno.test("an unknown setting is rejected, and a registry stays unchanged, so that several workers can share it", async () => {
  const start = (settings: Record<string, unknown>) => startServer({ store: "sqlite::memory:", settings, log: false });
  await assertRejects(() => start({ concurrency: 0 }), ConfigError, 'settings: invalid "concurrency" 0: expected ');
  await assertRejects(() => start({ concurency: 5 }), ConfigError, 'did you mean "concurrency"?');
  const registry = new Registry().add("A", () => {});
  const jobs = [defineJob("B", () => {})];
  for (let i = 0; i < 2; i++) {
    await using _server = await startServer({ store: "sqlite::memory:", registry, jobs, log: false });
  }
  assertEquals(registry.classes(), ["A"]);
});

Deno.test("Discard, Kill, Snooze and retry: false decide about a failed job", async () => {
  await using t = await open((ctx, how: string) => {
    if (how === "discard") throw new Discard();
    if (how === "kill") throw new Kill("enough");
    if (how === "snooze" && ctx.attempt === 1) throw new Snooze("1h");
    throw new Error("no");
  });
  const { client } = t.server;
  await client.push("Act", ["discard"]);
  const killed = await client.push("Act", ["kill"]);
  const snoozed = await client.push("Act", ["snooze"]);
  await client.push("Act", ["fail"], { retry: false });
  await counted(t.store, ({ processed, scheduled }) => processed === 3 && scheduled === 1);
  assertEquals((await t.store.jobs.find([killed!])).map((entry) => entry.place.in), ["dead"]);
  const [entry] = await t.store.jobs.find([snoozed!]);
  assertEquals([entry!.place.in, "retry_count" in JSON.parse(entry!.payload)], ["scheduled", false]);
  const { retry, dead, enqueued, running } = await t.store.admin.stats();
  assertEquals({ retry, dead, enqueued, running }, { retry: 0, dead: 1, enqueued: 0, running: 0 });
});

Deno.test("unknown fields are kept, byte for byte, through failure, retry and death", async () => {
  await using t = await open(() => {
    throw new Error("no");
  }, { options: { retryIn: () => 0.001 } });
  const odd = '{ "class":"Act","args":[1.0, 12345678901234567890, {"b": 1e2}],"jid":"aaaaaaaaaaaaaaaaaaaaaaaa",' +
    '"queue":"default" , "unknown": {"x" : [ ]}, "retry": 2}';
  await t.store.jobs.enqueue([{ jid: "aaaaaaaaaaaaaaaaaaaaaaaa", queue: "default", payload: odd }]);
  await counted(t.store, ({ dead }) => dead === 1);
  const [entry] = await t.store.jobs.find(["aaaaaaaaaaaaaaaaaaaaaaaa"]);
  assert(entry!.payload.startsWith(odd.slice(0, -1)), entry!.payload);
  assertEquals(JSON.parse(entry!.payload).retry_count, 2);
});

Deno.test("the handler receives large integers unchanged", async () => {
  const got = Promise.withResolvers<unknown[]>();
  await using t = await open((_ctx, ...args) => got.resolve(args));
  await t.server.client.push("Act", [12345678901234567890n, 5, { deep: [-9223372036854775808n] }]);
  assertEquals(await got.promise, [12345678901234567890n, 5, { deep: [-9223372036854775808n] }]);
});

Deno.test("an unreadable payload moves to the dead set unchanged", async () => {
  await using t = await open(() => {});
  for (const payload of ["{not json}", '{"class":5,"args":[]}', '"text"']) {
    await t.store.jobs.enqueue([{ jid: "x", queue: "default", payload }]);
  }
  await counted(t.store, ({ dead }) => dead === 3);
  const { entries } = await t.store.admin.page({ in: "dead" });
  assert(entries.some((entry) => entry.payload.startsWith("{not json")));
});

Deno.test("middleware wraps perform in order, and an error that it throws is a failure", async () => {
  const told: string[] = [];
  const layer = (name: string): PerformMiddleware => async (_ctx, next) => {
    told.push(`${name} in`);
    const result = await next();
    told.push(`${name} out`);
    return result;
  };
  const guard: PerformMiddleware = (ctx, next) => {
    if (ctx.payload.args[0] === "refuse") throw new Error("refused");
    return next();
  };
  await using t = await open(() => void told.push("act"), { middleware: [layer("a"), guard, layer("b")] });
  await t.server.client.push("Act", []);
  await counted(t.store, ({ processed }) => processed === 1);
  assertEquals(told, ["a in", "b in", "act", "b out", "a out"]);
  await t.server.client.push("Act", ["refuse"], { retry: 0 });
  await counted(t.store, ({ dead }) => dead === 1);
});

Deno.test("a scheduled job runs at its time, and an earlier one that is pushed later wakes the poller", async () => {
  const ran: string[] = [];
  await using t = await open((_ctx, name: string, due: number) => {
    assert(t.clock.now() >= due, "it is time");
    ran.push(name);
  });
  const last = await t.server.client.push("Act", ["last", 0], { in: "1h" });
  for (const [i, name] of ["first", "second"].entries()) {
    await t.server.client.push("Act", [name, t.clock.now() + 50], { in: "50ms", retry: false });
    await counted(t.store, ({ processed }) => processed === i + 1);
  }
  assertEquals(ran, ["first", "second"]);
  assertEquals((await t.store.jobs.find([last!])).map((entry) => entry.place.in), ["scheduled"]);
});

Deno.test("a quiet worker takes no jobs until resume", async () => {
  await using t = await open(() => {});
  await t.server.quiet();
  await t.server.client.push("Act", []);
  assertEquals((await t.store.admin.stats()).enqueued, 1);
  t.server.resume();
  await counted(t.store, ({ processed }) => processed === 1);
});

Deno.test("the dead set keeps its maximum, and retry_queue and tags apply", async () => {
  await using t = await open(() => {
    throw new Error("no");
  }, { options: { retry_queue: "again", tags: ["slow"], queue: "first" } });
  const jid = await t.server.client.push("Act", []);
  await counted(t.store, ({ retry }) => retry === 1);
  const payload = JSON.parse((await t.store.jobs.find([jid!]))[0]!.payload);
  assertEquals([payload.queue, payload.tags, payload.error_class], ["again", ["slow"], "Error"]);
});
