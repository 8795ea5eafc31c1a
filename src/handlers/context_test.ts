import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { jobContext } from "../../tests/support/job.ts";
import { KeptLog } from "../../tests/support/log.ts";
import { Registry } from "./registry.ts";

Deno.test("a job's log has its fields on every line, and the last line is remembered", () => {
  const log = new KeptLog();
  const ctx = jobContext({ class: "HardJob", jid: "b".repeat(24), queue: "low", attempt: 3, log });
  assertEquals(ctx.lastLine, undefined);
  ctx.log.info("first", { n: 1 });
  ctx.log.with({ part: 2 }).warn("second");
  const job = { class: "HardJob", jid: "b".repeat(24), queue: "low", attempt: 3 };
  assertEquals(log.lines, [
    { level: "info", message: "first", fields: { ...job, n: 1 } },
    { level: "warn", message: "second", fields: { ...job, part: 2 } },
  ]);
  assertEquals(ctx.lastLine, "second");
  assertEquals(ctx.lastLines, ["first", "second"]);
  for (let i = 1; i <= 30; i++) ctx.log.debug(`line ${i}`);
  assertEquals(ctx.lastLines, Array.from({ length: 20 }, (_, i) => `line ${i + 11}`));
});

Deno.test("a handler may log and note anything, of any length", () => {
  const log = new KeptLog();
  const ctx = jobContext({ log });
  const fail = () => {
    throw new Error("looked at");
  };
  const say = ctx.log.info as (message: unknown) => void;
  const note = ctx.progress.bind(ctx) as (done: unknown, note?: unknown) => void;
  for (
    const value of [undefined, null, Symbol("x"), Object.create(null), { toString: fail, toJSON: fail }, 5n, () => {}]
  ) {
    say(value);
    assertEquals(typeof ctx.lastLine, "string");
    note(value, value);
    assertEquals(typeof ctx.lastProgress?.done, "number");
    assertEquals(typeof ctx.lastProgress?.note, value === undefined ? "undefined" : "string");
  }
  assertEquals(log.said.slice(0, 3), ["info undefined", "info null", "info Symbol(x)"]);
  say("x".repeat(1_000_000));
  note(50, "x".repeat(1_000_000));
  assertEquals([ctx.lastLine?.length, ctx.lastLines?.at(-1)?.length, ctx.lastProgress?.note?.length], [200, 200, 200]);
});

Deno.test("progress is kept and told", () => {
  const told: unknown[] = [];
  const ctx = jobContext({ onProgress: (progress) => told.push(progress) });
  assertEquals(ctx.lastProgress, undefined);
  ctx.progress(10);
  ctx.progress(99.5, "percent");
  assertEquals(ctx.lastProgress, { done: 99.5, note: "percent" });
  assertEquals(told, [{ done: 10, note: undefined }, { done: 99.5, note: "percent" }]);
});

Deno.test("the signal aborts with the reason, whether it was asked for before or after", () => {
  const reason = new Error("stopping");
  const before = jobContext();
  const { signal } = before;
  before.throwIfAborted();
  before.abort(reason);
  before.abort(new Error("later"));
  const after = jobContext();
  after.abort(reason);
  for (const ctx of [before, after]) {
    assertStrictEquals(ctx.signal.reason, reason);
    assertStrictEquals(ctx.abortedBy, reason);
    assertStrictEquals(assertThrows(() => ctx.throwIfAborted()), reason);
  }
  assertStrictEquals(before.signal, signal);
});

Deno.test("a job's level drops what is below it: what the push says, else what the class says", () => {
  const registry = new Registry().add("HardJob", () => {}, { log_level: "warn" });
  const said = (payload: Record<string, unknown>) => {
    const log = new KeptLog();
    const ctx = jobContext({ log, registry, payload });
    for (const level of ["debug", "info", "warn", "error"] as const) ctx.log.with({ part: 1 })[level](level);
    assertEquals(ctx.lastLines?.length, log.lines.length);
    return log.lines.map(({ level }) => level);
  };
  assertEquals(said({}), ["warn", "error"]);
  assertEquals(said({ log_level: "error" }), ["error"]);
  assertEquals(said({ log_level: "debug" }), ["debug", "info", "warn", "error"]);
  assertEquals(said({ log_level: "loud" }), ["warn", "error"]);
});
