import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { describeError, showValue } from "./describe_error.ts";
import { Cancelled, Discard, HandlerMissing, InvalidPayload, Kill, Snooze, Timeout, WorkerDied } from "./errors.ts";
import { Unperformable } from "./performable.ts";
import { RemoteError } from "../handlers/isolation/remote_error.ts";
import { verdictOf } from "./verdict.ts";

Deno.test("InvalidPayload names the field, the value and what was expected", () => {
  const error = new InvalidPayload("args[1].user.born", new Date(0), "its ISO 8601 text");
  assertEquals(
    error.message,
    `args[1].user.born is a Date "1970-01-01T00:00:00.000Z"; expected its ISO 8601 text`,
  );
  assertEquals([error.field, error.expected], ["args[1].user.born", "its ISO 8601 text"]);
  assertEquals(new InvalidPayload("queue", "x".repeat(5000), "less").message.length < 200, true);
});

Deno.test("an error that the worker itself throws about a job has no stack: no code of the job has thrown it", () => {
  for (
    const error of [
      new Timeout(1_000),
      new HandlerMissing("Report", []),
      new WorkerDied(3),
      new Unperformable("too deep"),
    ]
  ) assertEquals([error.name, describeError(error).stack], [error.name, []]);
});

Deno.test("showValue returns one line for any value, and never throws", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  const shown: [unknown, string][] = [
    [undefined, "undefined"],
    [null, "null"],
    [-0, "-0"],
    [NaN, "NaN"],
    [5n, "5n"],
    ["a\nb", `"a\\nb"`],
    [Symbol("s"), "Symbol(s)"],
    [() => 1, "a function"],
    [function born() {}, "the function born"],
    [[1, "a"], `[1,"a"]`],
    [{ a: 1 }, `{"a":1}`],
    [new Map(), "a Map"],
    [new Error("no"), `an Error "no"`],
    [new Date(NaN), "a Date"],
    [cyclic, "an object"],
    [new Proxy({}, { get: () => broken() }), "an object"],
    ["x".repeat(200), `"${"x".repeat(99)}…`],
  ];
  for (const [value, text] of shown) assertEquals(showValue(value), text);
});

Deno.test("describeError returns the class, the message and the lines of the stack", () => {
  class Refused extends Error {}
  const described = describeError(new Refused("two\nlines"));
  assertEquals([described.class, described.message], ["Refused", "two\nlines"]);
  assertEquals(described.stack[0]?.includes("errors_test.ts"), true);
  assertEquals(described.stack.every((line) => line.startsWith("at ")), true);
  assertEquals(describeError(new TypeError("no")).class, "TypeError");
});

Deno.test("describeError lists the chain of causes, and the stack of each after its line", () => {
  const inner = new RangeError("inner", { cause: "a text" });
  const { causes, stack } = describeError(new Error("outer", { cause: new TypeError("middle", { cause: inner }) }));
  assertEquals(causes, ["caused by TypeError: middle", "caused by RangeError: inner", 'caused by "a text"']);
  assertEquals(stack.filter((line) => !line.startsWith("at ")), causes);
});

Deno.test("describeError lists the members of an AggregateError, each with its causes", () => {
  const refused = new Error("refused", { cause: new Error("port closed") });
  const { causes } = describeError(new AggregateError([refused, new TypeError("timed out")], "all failed"));
  assertEquals(causes, ["1 of 2: Error: refused", "caused by Error: port closed", "2 of 2: TypeError: timed out"]);
});

Deno.test("describeError limits the number and length of causes, and ends at a cycle", () => {
  const circle = new RangeError("circle");
  circle.cause = new Error("half", { cause: circle });
  assertEquals(describeError(circle).causes, ["caused by Error: half"]);
  const many = new AggregateError(Array.from({ length: 50_000 }, () => new Error("x".repeat(9_000))), "many");
  const { causes, stack } = describeError(many);
  assertEquals([causes.length, causes.at(-1), stack.length <= 200], [10, "…", true]);
  assertEquals(causes.every((line) => line.length <= 500), true);
});

Deno.test("describeError accepts any thrown value", () => {
  const hostile = Object.defineProperties(new Error(), {
    message: { get: broken },
    name: { get: broken },
    stack: { get: broken },
    constructor: { get: broken },
    cause: { get: broken },
  });
  assertEquals(describeError(hostile), {
    class: "Error",
    message: "(its message cannot be read)",
    causes: [],
    stack: [],
  });
  const trap = new Proxy(new Error("x"), { get: () => broken(), getPrototypeOf: () => broken() });
  assertEquals(describeError(trap).class, "NotAnError");
  for (const thrown of [null, undefined, 1, "text", Symbol("s"), {}, [], () => {}, Object.create(null)]) {
    const described = describeError(thrown);
    assertEquals(described.class, "NotAnError");
    assertStringIncludes(described.message, " was thrown");
  }
  assertEquals(describeError("boom").message, `"boom" was thrown`);
});

Deno.test("describeError truncates long messages, and repairs half characters", () => {
  const { message } = describeError(new Error("😀".repeat(9_000)));
  assertEquals([message.length, message.isWellFormed()], [10_000, true]);
  assertEquals(describeError(new Error("a" + "😀".repeat(9_000))).message.isWellFormed(), true);
});

Deno.test("verdictOf reads the mark of this library's errors, also of another copy, and never a name", () => {
  assertEquals(verdictOf(new Discard()), { kind: "discard" });
  assertEquals(verdictOf(new Kill()), { kind: "kill" });
  assertEquals(verdictOf(new Snooze("5m")), { kind: "snooze", delayMs: 300_000 });
  class Gone extends Discard {}
  assertEquals(verdictOf(new Gone()), { kind: "discard" });
  const copied = Object.assign(new Error(), { [Symbol.for("jobs.verdict")]: "kill" });
  assertEquals(verdictOf(copied), { kind: "kill" });
  for (const name of RESERVED) {
    assertEquals(verdictOf(Object.assign(new Error(), { name, delayMs: 1 })), undefined, name);
    assertEquals(verdictOf(new RemoteError({ class: name, message: "", causes: [], stack: [] })), undefined, name);
  }
  assertEquals(verdictOf(new Cancelled()), undefined, "only an abort cancels");
  assertEquals(verdictOf(Object.defineProperty(new Error(), Symbol.for("jobs.verdict"), { get: broken })), undefined);
  for (
    const thrown of [null, "Discard", { name: "Kill" }, { [Symbol.for("jobs.verdict")]: "kill" }, new Error("Kill")]
  ) {
    assertEquals(verdictOf(thrown), undefined);
  }
});

/** The names of errors that this library gives a meaning. */
const RESERVED = [
  ...["Discard", "Kill", "Snooze", "Cancelled", "Shutdown", "Timeout", "LeaseLost", "WorkerDied", "HandlerMissing"],
  ...["StepFailed", "ChildFailed", "StepError", "Released", "Unperformable", "Expired", "AttemptEnded", "Aborted"],
];

Deno.test("Snooze accepts seconds or a duration, and rejects anything else", () => {
  assertEquals(new Snooze(90).delayMs, 90_000);
  assertEquals(new Snooze("1h30m").message, "Again in 1h30m");
  assertThrows(() => new Snooze("soon"), RangeError);
  assertThrows(() => new Snooze(-1), RangeError);
});

function broken(): never {
  throw new Error("broken on purpose");
}

Deno.test("a Snooze with an invalid delay uses the default, and reports the problem", () => {
  const snooze = (more: object) => verdictOf(Object.assign(new Snooze(1), { delayMs: undefined }, more));
  assertEquals(snooze({ delayMs: 5_000 }), { kind: "snooze", delayMs: 5_000 });
  const wrong: [object, string][] = [[{}, "undefined"], [{ delayMs: "5m" }, '"5m"'], [{ delayMs: NaN }, "NaN"], [
    { delayMs: -1 },
    "-1",
  ], [{ delayMs: Infinity }, "Infinity"]];
  for (const [more, shown] of wrong) {
    const problem = `delayMs is ${shown}; expected milliseconds`;
    assertEquals(snooze(more), { kind: "snooze", delayMs: 60_000, problem });
  }
});
