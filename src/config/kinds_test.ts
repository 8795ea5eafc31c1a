import { assertEquals } from "@std/assert";
import {
  bytes,
  duration,
  type Kind,
  oneOf,
  optionalText,
  programs,
  queues,
  text,
  texts,
  wholeNumber,
} from "./kinds.ts";

/** Values of a configuration file → parsed; undefined is invalid. */
function reads<T>(kind: Kind<T>, cases: readonly (readonly [given: unknown, expected: T | undefined])[]): void {
  for (const [given, expected] of cases) assertEquals(kind.parse(given, false), expected, Deno.inspect(given));
}

/** The same for text from a flag or an environment variable. */
function readsText<T>(kind: Kind<T>, cases: readonly (readonly [given: string, expected: T | undefined])[]): void {
  for (const [given, expected] of cases) assertEquals(kind.parse(given, true), expected, given);
}

Deno.test("rejects an empty text, unless it is optional", () => {
  reads(text, [["a", "a"], ["", undefined], [5, undefined], [null, undefined], [["a"], undefined]]);
  reads(optionalText, [["a", "a"], ["", ""], [5, undefined], [null, undefined]]);
});

Deno.test("reads texts from a list, one text, or separated by commas", () => {
  reads(texts, [
    [["a", "b"], ["a", "b"]],
    [[], []],
    ["a,b", ["a,b"]],
    [["a", ""], undefined],
    [["a", 5], undefined],
    [{ a: 1 }, undefined],
    [null, undefined],
  ]);
  readsText(texts, [["a, b,,c ", ["a", "b", "c"]], ["a", ["a"]]]);
  readsText(texts, [["t:push(class=A|B,queue=b):s, c(", ["t:push(class=A|B,queue=b):s", "c("]]]);
});

Deno.test("keeps whole numbers within bounds, and rejects texts in a file", () => {
  reads(wholeNumber(1, 10), [
    [1, 1],
    [10, 10],
    [0, undefined],
    [11, undefined],
    [2.5, undefined],
    [NaN, undefined],
    [true, undefined],
    ["5", undefined],
    [[5], undefined],
    [null, undefined],
  ]);
  readsText(wholeNumber(0, 10), [
    ["5", 5],
    ["007", 7],
    ["-1", undefined],
    ["1e1", undefined],
    ["0x5", undefined],
    [" 5", undefined],
    ["", undefined],
    ["9".repeat(400), undefined],
  ]);
});

Deno.test("reads one of several values from text", () => {
  reads(oneOf(7, 8), [[7, 7], ["8", 8], [9, undefined], ["", undefined], [null, undefined]]);
  reads(oneOf("full", "normal"), [["full", "full"], ["FULL", undefined], [["full"], undefined]]);
});

Deno.test("reads durations in seconds or with a unit, rounded to milliseconds", () => {
  reads(duration(0), [
    [90, 90_000],
    [0, 0],
    [1.5, 1_500],
    [0.0001, 0],
    ["30s", 30_000],
    ["1h30m", 5_400_000],
    [-5, undefined],
    [NaN, undefined],
    [Infinity, undefined],
    ["soon", undefined],
    ["", undefined],
    [[5], undefined],
    [true, undefined],
    [null, undefined],
    [{}, undefined],
  ]);
  readsText(duration(50), [["50ms", 50], ["49ms", undefined], ["9".repeat(400), undefined], ["1000000d", undefined]]);
  assertEquals(duration(50).expected, "a duration such as 90 (seconds), 30s, 5m, 2h or 1d, at least 0.05s");
});

Deno.test("reads amounts of memory in bytes or with a unit", () => {
  reads(bytes, [["64k", 64 * 1024], [1_000, 1_000], [0, 0], [[5], undefined], [null, undefined], ["much", undefined]]);
});

Deno.test("accepts programs with a class, a command and known options", () => {
  const thumbnail = { class: "Thumbnail", exec: ["./thumb.sh", ""], timeout: "30s" };
  reads(programs, [
    [[thumbnail], [thumbnail]],
    [[], []],
    [thumbnail, undefined],
    [[null], undefined],
    [[{ class: "", exec: ["./a"] }], undefined],
    [[{ class: "A", exec: [] }], undefined],
    [[{ class: "A", exec: [""] }], undefined],
    [[{ class: "A", exec: "./a" }], undefined],
    [[{ class: "A", exec: ["./a", 5] }], undefined],
    [[{ class: "A", exec: ["./a"], timeuot: 5 }], undefined],
    [[{ ...thumbnail, env: { A: "1" }, cwd: "app", user: "backup" }], [{
      ...thumbnail,
      env: { A: "1" },
      cwd: "app",
      user: "backup",
    }]],
    [[{ ...thumbnail, env: { A: 1 } }], undefined],
    [[{ ...thumbnail, env: { "A=B": "1" } }], undefined],
    [[{ ...thumbnail, env: ["A=1"] }], undefined],
    [[{ ...thumbnail, cwd: "" }], undefined],
    [[{ ...thumbnail, user: "-x" }], undefined],
    [[{ ...thumbnail, user: "a:b" }], undefined],
  ]);
  readsText(programs, [[JSON.stringify([thumbnail]), [thumbnail]], ["./thumb.sh", undefined], ["{}", undefined]]);
});

Deno.test("reads queues with and without weights in every form", () => {
  const weighted = [{ name: "critical", weight: 2 }, { name: "default", weight: 0 }];
  reads(queues, [
    [["critical,2", "default"], weighted],
    [[["critical", 2], "default"], weighted],
    [[["critical", "2"], ["default"]], weighted],
    ["critical,2 default", weighted],
    [{ critical: 2, default: 1 }, [{ name: "critical", weight: 2 }, { name: "default", weight: 1 }]],
  ]);
  readsText(queues, [["critical,2 default", weighted], [" a  b ", [{ name: "a", weight: 0 }, {
    name: "b",
    weight: 0,
  }]]]);
});

Deno.test("rejects invalid queue names and weights", () => {
  for (const name of ["a_B-9:x.y", "q".repeat(255), "constructor", "a b", "billing/invoices", "größe", "{x}"]) {
    reads(queues, [[[name], [{ name, weight: 0 }]]]);
  }
  for (
    const bad of [
      ["a,0"],
      ["a,1001"],
      ["a,1.5"],
      ["a,"],
      ["a,1,2"],
      ["a,b"],
      ["a|b"],
      ["*"],
      ["mail*"],
      ["a\n"],
      [""],
      [5],
      [null],
      [["a", 2, 3]],
      [["a", null]],
      [{ a: 2 }],
      [],
      {},
      "",
      5,
      null,
      { a: 0 },
      { a: "x" },
    ]
  ) reads(queues, [[bad, undefined]]);
});
