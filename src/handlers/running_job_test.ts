import { assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { runningJob } from "../../tests/support/job.ts";
import { KeptLog } from "../../tests/support/log.ts";
import { StepError } from "../steps/errors.ts";
import { Registry } from "./registry.ts";
import { setTrace } from "./running_context.ts";
import { traceFields } from "./running_job.ts";

Deno.test("adds the job's fields to each line of its log, and keeps the last lines", () => {
  const log = new KeptLog();
  const job = runningJob({ class: "HardJob", jid: "b".repeat(24), queue: "low", attempt: 3, log });
  assertEquals(job.lastLine, undefined);
  job.context.log.info("first", { n: 1 });
  job.context.log.with({ part: 2 }).warn("second");
  const fields = { class: "HardJob", jid: "b".repeat(24), queue: "low", attempt: 3 };
  assertEquals(log.lines, [
    { level: "info", message: "first", fields: { ...fields, n: 1 } },
    { level: "warn", message: "second", fields: { ...fields, part: 2 } },
  ]);
  assertEquals(job.lastLine, "WARN second part=2");
  assertEquals(job.lastLines, ["first n=1", "WARN second part=2"]);
  for (let i = 1; i <= 30; i++) job.context.log.debug(`line ${i}`);
  assertEquals(job.lastLines, Array.from({ length: 20 }, (_, i) => `DEBUG line ${i + 11}`));
});

Deno.test("rejects steps and chunks of code that runs after its handler, and never throws", async () => {
  const job = runningJob({ log: new KeptLog() });
  const { context } = job;
  void job.finishSteps();
  const calls: readonly (() => Promise<unknown>)[] = [
    () => context.step("late", () => 1),
    () => context.sleep("late", "1m"),
    () => context.waitFor("late", { key: "late", timeout: "1m" }),
    () => context.run("late", "Add", [1]),
    () => context.each("late", () => [1], () => {}),
  ];
  for (const call of calls) {
    const called = call();
    await assertRejects(() => called, StepError, "after its handler has ended");
  }
  const written = context.stream("late");
  await assertRejects(() => written, TypeError);
});

Deno.test("keeps the fields of its last lines, in at most 500 bytes each", () => {
  const job = runningJob({ log: new KeptLog() });
  const kept = (message: string, fields: unknown, bound = {}) => {
    job.context.log.with(bound).info(message, fields as Record<string, unknown>);
    return job.lastLine!;
  };
  assertEquals(
    kept("Importing", { file: "a b.csv", rows: 12, skip: undefined, at: [1] }, { part: 2 }),
    'Importing part=2 file="a b.csv" rows=12 at=[1]',
  );
  assertEquals(kept("Failed", new TypeError("no\nrow")).startsWith('Failed error="TypeError: no\\nrow" stack='), true);
  const bytes = (line: string) => new TextEncoder().encode(line).length;
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`field${i}`, "😀".repeat(1_000)]));
  const cut = kept("x".repeat(300), many);
  assertEquals([bytes(cut) <= 500, bytes(cut) > 490, cut.isWellFormed(), cut.at(-1)], [true, true, true, "…"]);
  assertEquals(bytes(kept("😀".repeat(300), {})), 400);
  assertEquals(kept("x".repeat(200), { a: "y".repeat(297) }).length, 500);
  assertEquals(kept("x".repeat(200), { a: "y".repeat(298) }).endsWith("y…"), true);
});

Deno.test("accepts log messages and progress notes of any type and length", () => {
  const log = new KeptLog();
  const job = runningJob({ log });
  const fail = () => {
    throw new Error("looked at");
  };
  const write = job.context.log.info as (message: unknown) => void;
  const note = job.context.progress.bind(job.context) as (done: unknown, note?: unknown) => void;
  for (
    const value of [undefined, null, Symbol("x"), Object.create(null), { toString: fail, toJSON: fail }, 5n, () => {}]
  ) {
    write(value);
    assertEquals(typeof job.lastLine, "string");
    note(value, value);
    assertEquals(typeof job.progress?.done, "number");
    assertEquals(typeof job.progress?.note, value === undefined ? "undefined" : "string");
  }
  assertEquals(log.said.slice(0, 3), ["info undefined", "info null", "info Symbol(x)"]);
  write("x".repeat(1_000_000));
  note(50, "x".repeat(1_000_000));
  assertEquals([job.lastLine?.length, job.lastLines?.at(-1)?.length, job.progress?.note?.length], [200, 200, 200]);
});

Deno.test("keeps the latest progress report, and forwards each one", () => {
  const reports: unknown[] = [];
  const job = runningJob({ onProgress: (progress) => reports.push(progress) });
  assertEquals(job.progress, undefined);
  job.context.progress(10);
  job.context.progress(99.5, "percent");
  assertEquals(job.progress, { done: 99.5, note: "percent" });
  assertEquals(reports, [{ done: 10, note: undefined }, { done: 99.5, note: "percent" }]);
});

Deno.test("aborts the signal with the first reason, whether the handler read the signal before or afterwards", () => {
  const reason = new Error("stopping");
  const before = runningJob();
  const { signal } = before.context;
  before.context.throwIfAborted();
  before.abort(reason);
  before.abort(new Error("later"));
  const after = runningJob();
  after.abort(reason);
  for (const job of [before, after]) {
    assertStrictEquals(job.context.signal.reason, reason);
    assertStrictEquals(job.abortedBy, reason);
    assertStrictEquals(assertThrows(() => job.context.throwIfAborted()), reason);
  }
  assertStrictEquals(before.context.signal, signal);
});

Deno.test("drops log lines below the log_level of the push, or else of the class", () => {
  const registry = new Registry().add("HardJob", () => {}, { log_level: "warn" });
  const loggedWith = (payload: Record<string, unknown>) => {
    const log = new KeptLog();
    const job = runningJob({ log, registry, payload });
    for (const level of ["debug", "info", "warn", "error"] as const) job.context.log.with({ part: 1 })[level](level);
    assertEquals(job.lastLines?.length, log.lines.length);
    return log.lines.map(({ level }) => level);
  };
  assertEquals(loggedWith({}), ["warn", "error"]);
  assertEquals(loggedWith({ log_level: "error" }), ["error"]);
  assertEquals(loggedWith({ log_level: "debug" }), ["debug", "info", "warn", "error"]);
  assertEquals(loggedWith({ log_level: "loud" }), ["warn", "error"]);
});

Deno.test("shows handlers the span of their job, which middleware sets", () => {
  const job = runningJob();
  assertEquals(job.context.trace, undefined);
  const trace = { traceId: "1".repeat(32), spanId: "2".repeat(16), carrier: {} };
  setTrace(job.context, trace);
  assertStrictEquals(job.context.trace, trace);
  assertEquals(traceFields(job), { trace_id: trace.traceId, span_id: trace.spanId });
});
