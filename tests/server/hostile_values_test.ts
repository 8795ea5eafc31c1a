/**
 * Values from outside that cannot be read: thrown, returned and reported in each place that receives one. The job ends as any
 * other, and its processor performs the next one.
 */
import { assertEquals } from "@std/assert";
import { Registry, startServer } from "../../src/mod.ts";
import type { HandlerExport, HandlerOptions } from "../../src/handlers/handler.ts";
import type { ServerOptions } from "../../src/embed/start.ts";
import { openStore } from "../../src/store/open.ts";
import { MAX_ARGS, MAX_LEVELS } from "../../src/job/performable.ts";
import { getField } from "../../src/job/raw.ts";
import { Bench } from "../support/bench.ts";
import { until } from "../support/eventually.ts";
import { HOSTILE_NAMES, HOSTILE_VALUES } from "../support/hostile_values.ts";

let stores = 0;

/** Performs one job for each value with one processor, and then an ordinary one. Returns where each job is, by value. */
async function perform(
  handler: HandlerExport,
  options: HandlerOptions = {},
  server: Partial<ServerOptions> = {},
): Promise<Map<string, { readonly place: string; readonly payload: Record<string, unknown> }>> {
  const url = `sqlite::memory:hostile-${++stores}`;
  await using store = await openStore(url);
  const registry = new Registry().add("Hostile", handler, { retry: 1, ...options }).add("Last", () => {});
  await using worker = await startServer({
    ...server,
    store: url,
    registry,
    log: false,
    settings: { concurrency: 1, shutdownTimeout: "10s" },
  });
  const jids = new Map<string, string>();
  for (const name of HOSTILE_NAMES) jids.set(name, (await worker.client.push({ class: "Hostile", args: [name] }))!);
  const last = await worker.client.push({ class: "Last", args: [] }) as string;
  await until(
    async () => (await store.results.read({ jids: [last] })).records[0] !== undefined,
    "the processor performs the job after them",
  );
  const ended = new Map<string, { place: string; payload: Record<string, unknown> }>();
  for (const [name, jid] of jids) {
    const [found] = await store.jobs.find([jid]);
    ended.set(name, { place: found?.place.in ?? "ended", payload: JSON.parse(found?.payload ?? "{}") });
  }
  assertEquals((await store.admin.stats()).running ?? 0, 0);
  return ended;
}

function make(name: string): unknown {
  return HOSTILE_VALUES[name]!();
}

/** Asserts that each job failed once and waits for its retry. A snooze isn't a failure. */
function assertRetried(ended: Awaited<ReturnType<typeof perform>>): void {
  for (const [name, { place, payload }] of ended) {
    if (name.startsWith("snooze")) assertEquals(place, "scheduled", name);
    else assertEquals([name, place, payload["retry_count"]], [name, "retry", 0]);
  }
}

Deno.test("a job whose handler throws a value that cannot be read fails and is retried", async () => {
  const ended = await perform((_ctx, name) => {
    throw make(name);
  });
  assertRetried(ended);
  const { error_class, error_message } = ended.get("apiError")!.payload;
  assertEquals([error_class, error_message], ["ApiError", "x (its name cannot be read)"]);
});

Deno.test("a job whose step throws a value that cannot be read fails and is retried", async () => {
  assertRetried(
    await perform((ctx, name) =>
      ctx.step("charge", () => {
        throw make(name);
      })
    ),
  );
});

Deno.test("a job with a timeout or middleware that throws a value that cannot be read fails and is retried", async () => {
  const throwing = (_ctx: unknown, name: string) => {
    throw make(name);
  };
  assertRetried(await perform(throwing, { timeout: "1m" }));
  const middleware: ServerOptions["performMiddleware"] = [(ctx, next) => {
    if (ctx.class === "Hostile") throw make(ctx.payload.args[0] as string);
    return next();
  }];
  assertRetried(await perform(() => {}, {}, { performMiddleware: middleware }));
});

Deno.test("hooks and retryIn that throw or return such values don't change the outcome of a job", async () => {
  const fail = () => {
    throw new Error("plain");
  };
  const throwing = (_count: number, _error: unknown, { args }: { readonly args: readonly unknown[] }) => {
    throw make(args[0] as string);
  };
  const returning = (_count: number, _error: unknown, { args }: { readonly args: readonly unknown[] }) =>
    make(args[0] as string) as number;
  const assertAll = (ended: Awaited<ReturnType<typeof perform>>, expected: string) =>
    assertEquals([...ended].filter(([_, { place }]) => place !== expected), []);
  assertAll(await perform(fail, { retryIn: throwing }), "retry");
  assertAll(await perform(fail, { retryIn: returning }), "retry");
  const hooks: ServerOptions["hooks"] = {
    error: (_error, job) => {
      throw make(job.payload.args[0] as string);
    },
    death: (payload) => {
      throw make(payload.args[0] as string);
    },
  };
  assertAll(await perform(fail, {}, { hooks }), "retry");
  assertAll(await perform(fail, { retry: 0 }, { hooks }), "dead");
});

Deno.test("a result, a progress note or a log line that cannot be read doesn't fail its job", async () => {
  const rejecting = ["thenableThrows", "thenGetterThrows", "thenableRejects", "proxy", "proxyOfError"];
  const rejects = (name: string) => rejecting.includes(name) || name.startsWith("revoked") && name !== "revokedMembers";
  for (const [name, { place }] of await perform((_ctx, name) => make(name))) {
    // To await such a value fails, as in any async function.
    assertEquals([name, place], [name, rejects(name) ? "retry" : "ended"]);
  }
  const reporting: HandlerExport = (ctx, name) => {
    ctx.progress(make(name) as number, make(name) as string);
    ctx.log.info(make(name) as string, make(name) as Record<string, unknown>);
    ctx.log.with(make(name) as Record<string, unknown>).error("message", { value: make(name), error: make(name) });
  };
  for (const [name, { place }] of await perform(reporting)) assertEquals([name, place], [name, "ended"]);
});

Deno.test("a payload of another program that no handler can receive is dead with a plain reason", async () => {
  const url = `sqlite::memory:hostile-${++stores}`;
  await using store = await openStore(url);
  let calls = 0;
  const registry = new Registry().add("Count", () => void calls++);
  await using _worker = await startServer({ store: url, registry, log: false, settings: { concurrency: 1 } });
  const deep = "[".repeat(3_000) + "]".repeat(3_000);
  const many = `[${new Array(130_000).fill(0)}]`;
  const most = `[${new Array(MAX_ARGS).fill(0)}]`;
  const levels = (count: number) => `${"[".repeat(count - 1)}${"]".repeat(count - 1)}`;
  const args = [deep, many, levels(MAX_LEVELS + 1), most, levels(MAX_LEVELS), '["[[[{\\\\"]'];
  const jids = args.map((_, i) => `${i}`.padStart(24, "0"));
  await store.jobs.enqueue(args.map((text, i) => ({
    jid: jids[i]!,
    queue: "default",
    payload: `{"class":"Count","args":${text},"jid":"${jids[i]}","queue":"default","enqueued_at":1,"retry":5}`,
  })));
  await until(async () => calls === 3 && (await store.admin.stats()).dead === 3, "all have ended");
  const reasons = await Promise.all(
    jids.slice(0, 3).map(async (jid) => {
      const payload = (await store.jobs.find([jid]))[0]!.payload;
      return getField(payload, "error_message");
    }),
  );
  const tooDeep = "The payload has more than 100 levels of arrays and objects; flatten its data";
  assertEquals(reasons, [tooDeep, "args has 130000 arguments; expected at most 10000: pass one list", tooDeep]);
});

Deno.test("an isolated job that throws, returns or reports a value that cannot be read ends as one that isn't isolated", async () => {
  await using bench = await Bench.open();
  const module = `${bench.folder}/isolated.js`;
  const table = new URL("../support/hostile_values.ts", import.meta.url).href;
  await Deno.writeTextFile(
    module,
    `import { HOSTILE_VALUES } from ${JSON.stringify(table)};
     const make = (name) => HOSTILE_VALUES[name]();
     export function Throw(_ctx, name) { throw make(name); }
     export function Step(ctx, name) { return ctx.step("charge", () => { throw make(name); }); }
     export function Return(_ctx, name) { return { value: make(name) }; }
     export function Report(ctx, name) {
       ctx.progress(make(name), make(name));
       ctx.log.info(make(name), make(name));
       ctx.log.with(make(name)).info("message", { value: make(name) });
     }
     for (const handler of [Throw, Step, Return, Report]) handler.options = { isolate: true, retry: 0 };`,
  );
  await using server = await bench.server([module, "-c", "2"]);
  const jobs = ["Throw", "Step", "Return", "Report"].flatMap((name) =>
    HOSTILE_NAMES.map((value) => [name, value] as const)
  );
  const jids = new Map(jobs.map(([name, value], i) => [`${i}`.padStart(24, "0"), `${name} ${value}`]));
  const pushed = [...jids].map(([jid, job]) => ({ class: job.split(" ")[0]!, args: [job.split(" ")[1]], jid }));
  await Array.fromAsync(bench.client.pushMany(pushed));
  const places = new Map<string, string>();
  await bench.until(async () => {
    for (const [jid, job] of jids) {
      const found = (await bench.store.jobs.find([jid]))[0]?.place.in;
      places.set(job, found ?? "ended");
    }
    return ![...places.values()].some((place) => place === "queue" || place === "running");
  }, "all have ended");
  for (const [job, place] of places) {
    const [name, value] = job.split(" ");
    const failed = value!.startsWith("snooze") ? "scheduled" : "dead";
    assertEquals([job, place], [job, name === "Throw" || name === "Step" ? failed : "ended"]);
  }
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
});
