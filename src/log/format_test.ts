import { assertEquals, assertMatch } from "@std/assert";
import { formatJson, formatPretty, type LogLine } from "./format.ts";

const LINE: LogLine = {
  time: Date.UTC(2026, 10, 21, 8, 0, 0, 123),
  level: "info",
  name: "processor-3",
  message: "Done",
  fields: { class: "HardJob", elapsedMs: 5 },
};

function json(fields: Record<string, unknown>, more: Partial<LogLine> = {}): Record<string, unknown> {
  const text = formatJson({ ...LINE, ...more, fields });
  assertHarmless(text);
  return JSON.parse(text);
}

function pretty(fields: Record<string, unknown>, more: Partial<LogLine> = {}): string {
  const text = formatPretty({ ...LINE, ...more, fields }, false);
  assertHarmless(text);
  return text;
}

function assertHarmless(text: string): void {
  // deno-lint-ignore no-control-regex -- matches control characters
  assertMatch(text, /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]*$/);
}

const HOSTILE = [..."\n\r\t\0\x1b\x7f\x9b\x85\u2028\u2029\u202e\u2066"];

Deno.test("a pretty line has time, level, name, message and fields", () => {
  assertEquals(
    formatPretty(LINE, false),
    "2026-11-21 08:00:00.123 INFO  processor-3 Done class=HardJob elapsedMs=5",
  );
  assertEquals(
    formatPretty(LINE, true),
    "\x1b[2m2026-11-21 08:00:00.123\x1b[0m \x1b[32mINFO \x1b[0m \x1b[2mprocessor-3\x1b[0m Done" +
      " \x1b[2mclass=\x1b[0mHardJob \x1b[2melapsedMs=\x1b[0m5",
  );
});

Deno.test("a pretty line quotes values of several words, and omits undefined", () => {
  assertEquals(
    pretty({ a: "two words", b: 'say "x"', c: "k=v", d: "", e: undefined, f: null, g: { h: [1] }, "odd key": true }),
    "2026-11-21 08:00:00.123 INFO  processor-3 Done " +
      String.raw`a="two words" b="say \"x\"" c="k=v" d="" f=null g={"h":[1]} "odd key"=true`,
  );
});

Deno.test("a JSON line has ts, level, name and msg, then the fields", () => {
  assertEquals(
    formatJson(LINE),
    '{"ts":"2026-11-21T08:00:00.123Z","level":"info","name":"processor-3","msg":"Done","class":"HardJob","elapsedMs":5}',
  );
  assertEquals(json({ gone: undefined, kept: null }), { ...json({}), kept: null });
});

Deno.test("a field cannot replace a fixed key", () => {
  const line = json({ ts: "then", level: "error", name: "bob", msg: "forged" });
  assertEquals(line, { ...json({}), ts_: "then", level_: "error", name_: "bob", msg_: "forged" });
});

Deno.test("control characters are escaped in every position", () => {
  for (const c of HOSTILE) {
    const text = `a${c}b`;
    const line = json({ [text]: text, list: [text], two: `${text} words` }, { message: text, name: text });
    assertEquals(line, { ...json({}), name: text, msg: text, [text]: text, list: [text], two: `${text} words` });
    pretty({ [text]: text, list: [text], two: `${text} words`, error: new Error(text) }, { message: text, name: text });
  }
  assertEquals(
    pretty({}, { message: "\x1b[2J\nforged" }),
    "2026-11-21 08:00:00.123 INFO  processor-3 \\u001b[2J\\nforged",
  );
});

Deno.test("any value that a handler logs is one line, and valid JSON", () => {
  const cyclic: Record<string, unknown> = { a: 1 };
  cyclic["self"] = cyclic;
  const nothing = Object.create(null);
  const cases: [given: unknown, expected: unknown][] = [
    [12345678901234567890n, 12345678901234567000],
    [{ big: 12345678901234567890n }, { big: "12345678901234567890" }],
    [cyclic, { a: 1, self: "[circular]" }],
    [[cyclic, cyclic], [{ a: 1, self: "[circular]" }, { a: 1, self: "[circular]" }]],
    [function hello() {}, "[function hello]"],
    [{ f: () => 1, s: Symbol("x") }, { f: "[function f]", s: "Symbol(x)" }],
    [Symbol("x"), "Symbol(x)"],
    [NaN, "NaN"],
    [[Infinity, undefined], ["Infinity", null]],
    [new TypeError("bad"), "TypeError: bad"],
    [{ cause: new TypeError("bad") }, { cause: "TypeError: bad" }],
    [new Map([["a", new Set([1])]]), [["a", [1]]]],
    [new Date(0), "1970-01-01T00:00:00.000Z"],
    [new Date(NaN), null],
    [nothing, {}],
    [new Uint8Array(1000), "[Uint8Array of 1000 bytes]"],
    ["\ud800", "\ud800"],
    [false, false],
  ];
  for (const [given, expected] of cases) {
    assertEquals(json({ value: given })["value"], expected, Deno.inspect(given));
    pretty({ value: given });
  }
});

Deno.test("a value that throws when it is read is shown as unreadable", () => {
  const fail = () => {
    throw null;
  };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const error = new Error("x");
  Object.defineProperty(error, "message", { get: fail });
  for (
    const value of [
      { toJSON: fail },
      { a: { toJSON: fail } },
      Object.defineProperty({}, "a", { get: fail, enumerable: true }),
      new Proxy({}, { ownKeys: fail }),
      new Proxy({}, { getPrototypeOf: fail }),
      revoked.proxy,
      error,
      { error },
      Object.assign(() => {}, { toJSON: fail }),
    ]
  ) {
    assertEquals(json({ value, after: 1 }), { ...json({}), value: "[unreadable]", after: 1 });
    pretty({ value });
  }
});

Deno.test("a long value is truncated without being built first", () => {
  const long = "x".repeat(20_000_000);
  const list = Array.from({ length: 1000 }, () => long);
  assertEquals(json({ long })["long"], `${"x".repeat(10_000)}… (20000000 characters)`);
  for (const value of [{ long }, list, { list }, new Array(10_000_000).fill(long), [[long]], new Map([[1, long]])]) {
    assertEquals((json({ value })["value"] as string).length, 10_001);
    assertEquals(pretty({ value }).length < 20_000, true);
  }
  let layers: unknown[] = [1];
  for (let i = 0; i < 50; i++) layers = new Array(100).fill(layers);
  assertEquals(formatJson({ ...LINE, fields: { layers } }).length < 20_000, true);
  assertEquals(json({}, { message: long })["msg"], `${"x".repeat(10_000)}… (20000000 characters)`);
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`key${i}`, long]));
  assertEquals(formatJson({ ...LINE, fields: many }).length < 150_000, true);
  assertEquals(json(many)["more"], "…");
  assertEquals(pretty(many).length < 150_000, true);
  assertEquals(pretty({ [long]: 1 }).length < 11_000, true);
  assertEquals(formatJson({ ...LINE, fields: { [long]: 1 } }).length < 11_000, true);
});
