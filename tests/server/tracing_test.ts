/** OpenTelemetry, with real processes and a real collector. */
import { assert, assertEquals, assertMatch, assertNotEquals, assertRejects } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { startServer } from "../../src/server/start.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import { hasProvider, openTracing } from "../../src/tracing/tracing.ts";
import { Bench } from "../support/bench.ts";
import { Collector, type Span } from "../support/collector.ts";
import { jobs } from "../support/process.ts";
import { freePort, startRedis } from "../support/redis.ts";
import { denoCommand, outputOf } from "../../scripts/deno_command.ts";

const HANDLERS = new URL("../support/tracing_handlers.js", import.meta.url).pathname;
const PRODUCER = 4;
const CONSUMER = 5;
const ERROR = 2;

/** Pushes from the command line, with tracing on. Returns the jid. */
async function push(bench: Bench, collector: Collector, args: string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await jobs(["push", ...args, "--store", bench.url], {
    env: { ...collector.env, ...env },
  });
  assertEquals(code, 0, stderr);
  return stdout.trim();
}

/** Returns the spans of one job's attempts. */
async function performs(collector: Collector, jid: string, count = 1): Promise<Span[]> {
  return await collector.received(
    (span) => span.kind === CONSUMER && span.attributes["messaging.message.id"] === jid,
    count,
  );
}

function linkTo({ traceId, spanId }: Span): { traceId: string; spanId: string }[] {
  return [{ traceId, spanId }];
}

function linksOf({ links }: Span): { traceId: string; spanId: string }[] {
  return links.map(({ traceId, spanId }) => ({ traceId, spanId }));
}

for (const kind of ["SQLite", "Redis"]) {
  Deno.test(`on ${kind}, the span of an attempt is linked to the span of its push, and both name the job`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    await using collector = new Collector();
    await using server = await bench.server([HANDLERS], { ...collector.env, OTEL_SERVICE_NAME: "shop" });
    const jid = await push(bench, collector, ["Traced"]);
    const send = await collector.span("send default", jid);
    const [process] = await performs(collector, jid) as [Span];
    assertEquals([send.kind, process.kind, process.name], [PRODUCER, CONSUMER, "process default"]);
    assertEquals(linksOf(process), linkTo(send));
    assertNotEquals(process.traceId, send.traceId);
    const common = {
      "messaging.system": "jobs",
      "messaging.destination.name": "default",
      "messaging.message.id": jid,
      "messaging.jobs.class": "Traced",
    };
    assertEquals(send.attributes, {
      ...common,
      "messaging.operation.name": "send",
      "messaging.operation.type": "send",
    });
    assertEquals(process.attributes, {
      ...common,
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
      "messaging.jobs.attempt": 1,
      "messaging.jobs.outcome": "succeeded",
    });
    assertEquals([send.status.code ?? 0, process.status.code ?? 0], [0, 0]);
    assertEquals([send.resource["service.name"], process.resource["service.name"]], ["jobs", "shop"]);

    const inner = await collector.span("inner");
    assertEquals([inner.traceId, inner.parentSpanId], [process.traceId, process.spanId]);
    for (const message of ["Within a span", "Done"]) {
      const { trace_id, span_id } = await server.logged(message, { jid });
      assertEquals([trace_id, span_id], [process.traceId, process.spanId], message);
    }
  });

  Deno.test(`on ${kind}, each failed attempt has a span with the error, linked to the one push`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    await using collector = new Collector();
    await using server = await bench.server([], collector.env);
    const jid = await push(bench, collector, ["Fail", "no luck at all"]);
    const send = await collector.span("send default", jid);
    const tries = await performs(collector, jid, 3);
    assertEquals(tries.map((span) => span.attributes["messaging.jobs.attempt"]), [1, 2, 3]);
    for (const span of tries) {
      assertEquals(linksOf(span), linkTo(send));
      assertEquals(span.attributes["error.type"], "RangeError");
      assertEquals(span.attributes["messaging.jobs.outcome"], "failed");
      assertEquals(span.status, { code: ERROR, message: "RangeError: no luck at all" });
      assertEquals(span.events.map(({ name }) => name), ["exception"]);
      assertEquals(span.events[0]!.attributes["exception.message"], "no luck at all");
      assertMatch(String(span.events[0]!.attributes["exception.stacktrace"]), /at .*Fail .*handlers\.js/);
    }
    const { trace_id } = await server.logged("Failed for good, moved to dead", { jid });
    assertEquals(trace_id, tries[2]!.traceId);
  });

  Deno.test(`on ${kind}, a bulk push has one span for all of its jobs`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    await using collector = new Collector();
    await using _server = await bench.server([], collector.env);
    const file = `${bench.folder}/bulk.ndjson`;
    await Deno.writeTextFile(file, "[]\n".repeat(7));
    const jids = (await push(bench, collector, ["Noop", "--bulk", file])).split("\n");
    assertEquals(jids.length, 7);
    const performed = await collector.received((span) => span.kind === CONSUMER, 7);
    const [send, ...more] = collector.spans.filter((span) => span.kind === PRODUCER) as [Span];
    assertEquals([send.name, more.length], ["send default", 0]);
    assertEquals(send.attributes["messaging.batch.message_count"], 7);
    for (const span of performed) assertEquals(linksOf(span), linkTo(send));
  });
}

Deno.test("the spans of an isolated handler are children of its job's span, also when its process ends at once", async () => {
  await using bench = await Bench.open();
  await using collector = new Collector();
  // Nothing is exported in between: a span that arrives was sent because the process was about to end.
  const env = { ...collector.env, OTEL_BSP_SCHEDULE_DELAY: "3600000" };
  await using server = await bench.server([HANDLERS], env);
  const jid = await push(bench, collector, ["TracedApart"]);
  await server.logged("Done", { jid });
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
  const [process] = await performs(collector, jid) as [Span];
  const apart = await collector.span("apart");
  assertEquals([apart.traceId, apart.parentSpanId], [process.traceId, process.spanId]);
  assertNotEquals(apart.resource["process.pid"], process.resource["process.pid"]);
  const [pushed] = await collector.received((span) => span.parentSpanId === process.spanId && span.kind === PRODUCER);
  assertEquals([pushed!.traceId, pushed!.name], [process.traceId, "send default"]);
});

for (const isolate of [false, true]) {
  Deno.test(`a durable step has a span in that of its attempt, ${isolate ? "in an isolated process" : "inline"}`, async () => {
    await using bench = await Bench.open();
    await using collector = new Collector();
    await using server = await bench.server([HANDLERS, ...(isolate ? ["--isolate", "Stepped"] : [])], collector.env);
    const jid = await push(bench, collector, ["Stepped"]);
    await server.logged("Done", { jid });
    server.kill("SIGTERM");
    await server.status();
    const [process] = await performs(collector, jid) as [Span];
    const step = await collector.span("step charge");
    assertEquals([step.traceId, step.parentSpanId], [process.traceId, process.spanId]);
    assertEquals([step.attributes["messaging.jobs.step"], step.attributes["messaging.jobs.step_attempt"]], [
      "charge",
      1,
    ]);
    assertEquals((await collector.span("inside")).parentSpanId, step.spanId);
  });
}

Deno.test("a job that a handler pushes is in its trace, and linked to it", async () => {
  await using bench = await Bench.open();
  await using collector = new Collector();
  await using _server = await bench.server([HANDLERS], collector.env);
  const [outer] = await performs(collector, await push(bench, collector, ["PushMore"])) as [Span];
  const [send] = await collector.received((span) => span.parentSpanId === outer.spanId) as [Span];
  assertEquals([send.kind, send.traceId], [PRODUCER, outer.traceId]);
  const [inner] = await performs(collector, String(send.attributes["messaging.message.id"])) as [Span];
  assertEquals(linksOf(inner), linkTo(send));
});

Deno.test("a program receives its job's span in TRACEPARENT, and a job that it pushes with jobs push is in the trace", async () => {
  await using bench = await Bench.open();
  await using collector = new Collector();
  const script = `${bench.folder}/program.sh`;
  await Deno.writeTextFile(script, `#!/bin/sh\necho "$TRACEPARENT" > ${bench.notes}\n`, { mode: 0o755 });
  const exec = JSON.stringify([{ class: "Program", exec: [script] }]);
  await using _server = await bench.server([], { ...collector.env, JOBS_EXEC: exec });
  const [process] = await performs(collector, await push(bench, collector, ["Program"])) as [Span];
  const traceparent = `00-${process.traceId}-${process.spanId}-01`;
  assertEquals(await bench.readNotes(), [traceparent]);
  const jid = await push(bench, collector, ["Noop"], { TRACEPARENT: traceparent });
  const send = await collector.span("send default", jid);
  assertEquals([send.traceId, send.parentSpanId], [process.traceId, process.spanId]);
});

Deno.test("with traceStyle child, push and perform are in one trace", async () => {
  await using bench = await Bench.open();
  await using collector = new Collector();
  await using _server = await bench.server([], { ...collector.env, JOBS_TRACE_STYLE: "child" });
  const jid = await push(bench, collector, ["Noop"]);
  const send = await collector.span("send default", jid);
  const [process] = await performs(collector, jid) as [Span];
  assertEquals([process.traceId, process.parentSpanId, process.links.length], [send.traceId, send.spanId, 0]);
});

Deno.test("a job that a cron entry enqueued has both spans", async () => {
  await using bench = await Bench.open();
  await using collector = new Collector();
  const config = `${bench.folder}/jobs.json`;
  await Deno.writeTextFile(config, JSON.stringify({ cron: [{ name: "often", rule: "* * * * * *", class: "Noop" }] }));
  await using _server = await bench.server(["-C", config], collector.env);
  const [process] = await collector.received((span) => span.kind === CONSUMER) as [Span];
  const send = await collector.span("send default", String(process.attributes["messaging.message.id"]));
  assertEquals(linksOf(process), linkTo(send));
});

Deno.test("a context in a payload, as Ruby's Sidekiq writes it, is kept and linked; an invalid one is ignored", async () => {
  await using bench = await Bench.open();
  await using collector = new Collector();
  await using _server = await bench.server([], collector.env);
  const [traceId, spanId] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];
  const traceparent = `00-${traceId}-${spanId}-01`;
  const file = `${bench.folder}/bulk.ndjson`;
  await Deno.writeTextFile(file, JSON.stringify({ class: "Noop", args: [], traceparent }));
  for (
    const jid of [
      await bench.push("Noop", [], { traceparent }), // by a program that traces nothing
      await push(bench, collector, ["--bulk", file]), // by one that does
    ]
  ) {
    const [process] = await performs(collector, jid) as [Span];
    assertEquals(linksOf(process), [{ traceId, spanId }]);
  }
  for (const nonsense of ["00-zz", 5, null, ["a"], "0".repeat(100_000)]) {
    const jid = await bench.push("Noop", [], { traceparent: nonsense, tracestate: nonsense, baggage: nonsense });
    assertEquals((await performs(collector, jid))[0]!.links, []);
  }
});

Deno.test("the span of a snoozed job has no error", async () => {
  await using bench = await Bench.open();
  await using collector = new Collector();
  const horses = new URL("../support/horse_handlers.js", import.meta.url).pathname;
  await using _server = await bench.server([horses], collector.env);
  const [snoozed] = await performs(collector, await bench.push("Verdict", ["Snooze"])) as [Span];
  assertEquals([snoozed.attributes["messaging.jobs.outcome"], snoozed.status.code ?? 0], ["snoozed", 0]);
  const [killed] = await performs(collector, await bench.push("Verdict", ["Kill"])) as [Span];
  assertEquals([killed.attributes["error.type"], killed.status.code], ["Kill", ERROR]);
});

Deno.test("the spans of jobs that a stop returned to their queue have the outcome released", async () => {
  await using bench = await Bench.open();
  await using collector = new Collector();
  await using server = await bench.server(["-t", "100ms"], collector.env);
  const hung = await bench.push("Hang", [bench.notes]);
  await bench.noted(`start ${hung}`);
  server.kill("SIGTERM");
  await server.status();
  const [process] = await performs(collector, hung) as [Span];
  assertEquals([process.attributes["messaging.jobs.outcome"], process.status.code ?? 0], ["released", 0]);
});

Deno.test("the span of a lost job has the outcome lost and no error, and the span of its next attempt counts", async () => {
  await using bench = await Bench.open();
  await using collector = new Collector();
  await using server = await bench.server([], collector.env);
  const jid = await bench.push("Listen", [bench.notes]);
  await bench.noted(`start ${jid}`);
  // As if the worker were offline: its jobs return to their queue.
  const [process] = await bench.store.workers.list();
  await bench.store.workers.deregister(process!.id);
  await server.logged("Stopped after losing its lease: the job runs again", { jid });
  await Deno.writeTextFile(`${bench.notes}.go`, "");
  const ended = (outcome: string) =>
    collector.received((span) => span.attributes["messaging.jobs.outcome"] === outcome);
  // A job that was taken before the worker registered again may be lost again.
  for (const span of [...await ended("lost"), ...await ended("succeeded"), ...await performs(collector, jid)]) {
    assertNotEquals(span.attributes["messaging.jobs.outcome"], "failed");
    assertEquals([span.attributes["error.type"], span.status.code ?? 0, span.events], [undefined, 0, []]);
  }
});

Deno.test("with the collector down, jobs run, one warning is logged, and a stop does not wait long", async () => {
  await using bench = await Bench.open();
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${freePort()}`,
    OTEL_EXPORTER_OTLP_TIMEOUT: "500",
    OTEL_BSP_SCHEDULE_DELAY: "10",
  };
  const pushed = await jobs(["push", "Noop", "--store", bench.url], { env });
  assertEquals(pushed.code, 0);
  assertMatch(pushed.stderr, /^jobs: Traces cannot be exported, jobs continue: .*ECONNREFUSED.*$/m);
  await using server = await bench.server([], env);
  const [warning] = [
    await server.logged(
      "Traces cannot be exported, jobs continue: connect ECONNREFUSED " + env.OTEL_EXPORTER_OTLP_ENDPOINT.slice(7),
    ),
  ];
  assertEquals([warning.level, warning.name], ["warn", "tracing"]);
  for (let i = 0; i < 20; i++) await server.logged("Done", { jid: await bench.push("Noop", []) });
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 0);
  assertEquals(server.complaints.length, 1, JSON.stringify(server.lines));
});

Deno.test("with tracing off, payloads have no trace fields, and no OpenTelemetry package is loaded", async () => {
  await using bench = await Bench.open();
  for (const env of [{}, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9", OTEL_SDK_DISABLED: "true" }]) {
    const { stdout } = await jobs(["push", "Sleep", "--store", bench.url], { env });
    const { payload } = (await bench.store.jobs.find([stdout.trim()]))[0]!;
    assert(!/trace|baggage/.test(payload), payload);
  }
  const graph = await outputOf(denoCommand("info", "--json", "src/mod.ts"));
  const { modules } = JSON.parse(graph.stdout) as {
    modules: { specifier: string; dependencies?: { specifier: string; isDynamic?: boolean }[] }[];
  };
  const eager = modules.flatMap(({ specifier, dependencies = [] }) =>
    /\/src\/tracing\/(?!tracing)/.test(specifier) ? [] : dependencies.filter(({ isDynamic }) => !isDynamic)
  ).map(({ specifier }) => specifier);
  assert(eager.length > 20, "the graph was read");
  assertEquals(eager.filter((one) => /opentelemetry|tracing\/(?!tracing)/.test(one)), []);
});

Deno.test("an invalid setting causes a warning, and the default applies", async () => {
  await using bench = await Bench.open();
  await using collector = new Collector();
  const { stderr } = await jobs(["push", "Noop", "--store", bench.url], {
    env: { ...collector.env, OTEL_TRACES_SAMPLER: "sometimes", OTEL_EXPORTER_OTLP_HEADERS: "x-team=blue" },
  });
  assertMatch(stderr, /^jobs: OTEL_TRACES_SAMPLER is "sometimes"; expected always_on, always_off or traceidratio/);
  await collector.span("send default");
  assertEquals(collector.headers[0]!.get("x-team"), "blue");
});

Deno.test("always_off samples no span, and the payload carries that decision", async () => {
  await using bench = await Bench.open();
  await using collector = new Collector();
  const jid = await push(bench, collector, ["Noop"], { OTEL_TRACES_SAMPLER: "always_off" });
  const payload = JSON.parse((await bench.store.jobs.find([jid]))[0]!.payload);
  assertMatch(payload.traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  assertEquals(collector.spans, []);
});

Deno.test("with Deno's built-in OpenTelemetry, its provider exports the spans", async () => {
  await using bench = await Bench.open();
  await using collector = new Collector();
  const env = { ...collector.env, OTEL_DENO: "true", OTEL_SERVICE_NAME: "native" };
  await using _server = await bench.server([], env);
  const jid = await push(bench, collector, ["Noop"], env);
  const send = await collector.span("send default", jid);
  const [process] = await performs(collector, jid) as [Span];
  assertEquals(linksOf(process), linkTo(send));
  assertEquals([send.resource["service.name"], send.resource["telemetry.sdk.language"]], ["native", "deno-rust"]);
});

/** Sets variables of this process, until it is disposed of. */
function environment(variables: Readonly<Record<string, string>>): Disposable {
  const before = Object.keys(variables).map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(variables)) Deno.env.set(name, value);
  return {
    [Symbol.dispose]() {
      for (const [name, value] of before) value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
    },
  };
}

Deno.test("an embedding program traces its client and its worker", async () => {
  await using bench = await Bench.open();
  await using collector = new Collector();
  using _variables = environment(collector.env);
  // A failed start leaves nothing behind that the next start would mistake for another program's configuration.
  await assertRejects(() => startServer({ store: `${bench.url}/inside-a-file.db`, log: false }), StoreError);
  assert(!hasProvider());
  await using tracing = await openTracing();
  const client = new Client({ store: bench.store, ...tracing?.client });
  const jid = (await client.push("Greet", ["bob"]))!;
  const [first, second] = await client.pushBulk({ class: "Greet", args: [["eve"], ["joe"]] });
  assert(first?.jid !== undefined && second?.jid !== undefined);
  await using _server = await startServer({
    store: bench.url,
    jobs: [Object.assign(() => {}, { class: "Greet", options: {} })],
    log: false,
  });
  const send = await collector.span("send default", jid);
  assertEquals(linksOf((await performs(collector, jid))[0]!), linkTo(send));
  const [batch] = await collector.received((span) => "messaging.batch.message_count" in span.attributes) as [Span];
  assertEquals(linksOf((await performs(collector, second.jid))[0]!), linkTo(batch));
});

Deno.test("of several workers in one program, each is traced until it stops, in whatever order they do", async () => {
  await using collector = new Collector();
  using _variables = environment(collector.env);
  const start = () => startServer({ store: "sqlite::memory:", log: false });
  const [first, second] = await Promise.all([start(), start()]);
  for (const stopped of [first, second]) {
    const jid = (await second.client.push("Greet", []))!;
    await collector.span("send default", jid);
    await stopped.stop();
  }
  assert(!hasProvider());
});

Deno.test("a worker that starts while the spans of the one before are exported is traced", async () => {
  await using collector = new Collector();
  const held = Promise.withResolvers<void>();
  const exporting = Promise.withResolvers<void>();
  await using slow = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async () => {
    exporting.resolve();
    await held.promise;
    return Response.json({});
  });
  using _answer = { [Symbol.dispose]: () => held.resolve() };
  const push = async (tracing: Awaited<ReturnType<typeof openTracing>>) => {
    await using bench = await Bench.open();
    return (await new Client({ store: bench.store, ...tracing?.client }).push("Greet", []))!;
  };
  const slowly = { ...collector.env, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${slow.addr.port}` };
  let before: Awaited<ReturnType<typeof openTracing>>;
  {
    using _variables = environment(slowly);
    before = await openTracing();
  }
  await push(before);
  const ended = before![Symbol.asyncDispose]();
  await exporting.promise;
  using _variables = environment(collector.env);
  await using tracing = await openTracing();
  await collector.span("send default", await push(tracing));
  held.resolve();
  await ended;
  await collector.span("send default", await push(tracing));
});

Deno.test("a job pushed over the HTTP API is part of the trace of the request", async () => {
  await using bench = await Bench.open();
  await using collector = new Collector();
  await using server = await bench.server(["--web", `127.0.0.1:${freePort()}`], collector.env);
  const { web } = await server.logged("Ready");
  const [traceId, spanId] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];
  const answer = await fetch(new URL("/api/v1/jobs", String(web)), {
    method: "POST",
    headers: { "content-type": "application/json", traceparent: `00-${traceId}-${spanId}-01` },
    body: JSON.stringify({ class: "Noop", args: [] }),
  });
  const { jid } = await answer.json();
  const send = await collector.span("send default", jid);
  assertEquals([send.traceId, send.parentSpanId], [traceId, spanId]);
  assertEquals(linksOf((await performs(collector, jid))[0]!), linkTo(send));
});

Deno.test("an unreadable reply of the collector and an invalid endpoint each cause one clear warning", async () => {
  await using bench = await Bench.open();
  await using garbage = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    await request.arrayBuffer();
    return new Response("garbage", { headers: { "content-type": "application/x-protobuf" } });
  });
  const push = async (env: Record<string, string>) =>
    (await jobs(["push", "A", "--store", bench.url], { env })).stderr.split("\n").filter((line) =>
      /OTEL|Open/.test(line)
    );
  const { port } = garbage.addr as Deno.NetAddr;
  const said = await push({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` });
  assertEquals(said.length, 1, said.join("\n"));
  assertMatch(said[0]!, /could not deserialize response/);
  assertEquals(await push({ OTEL_EXPORTER_OTLP_ENDPOINT: "foo" }), [
    'jobs: OTEL_EXPORTER_OTLP_ENDPOINT is "foo"; expected an address such as http://127.0.0.1:4318; no traces are exported',
  ]);
});
