import { assertEquals, assertThrows } from "@std/assert";
import { InvalidPayload } from "./errors.ts";
import { MAX_ARGS } from "./performable.ts";
import { checkArgs, checkValue } from "./values.ts";

class Invoice {
  id = 1;
}

Deno.test("checkValue rejects a value that JSON would change or drop, with its path and the remedy", () => {
  const refused: [unknown, string][] = [
    [undefined, "args[0] is undefined; expected a JSON value; use null for no value"],
    [[1, undefined], "args[0][1] is undefined; expected a JSON value"],
    // deno-lint-ignore no-sparse-arrays -- the subject of the test
    [[1, , 2], "args[0][1] is undefined; expected an array without holes"],
    [
      { user: { born: new Date(0) } },
      `args[0].user.born is a Date "1970-01-01T00:00:00.000Z"; expected a JSON value, such as date.toISO`,
    ],
    [{ "a b": { a: NaN } }, `args[0]["a b"].a is NaN; expected a finite number`],
    [[-Infinity], "args[0][0] is -Infinity"],
    [() => 1, "args[0] is a function; expected a JSON value: text, number"],
    [Symbol("s"), "args[0] is Symbol(s)"],
    [{ [Symbol("key")]: 1 }, "args[0][Symbol(key)] is Symbol(key); expected keys that are texts"],
    [2n ** 64n, "args[0] is 18446744073709551616n; expected an integer from -2^63 to 2^64-1, or a text"],
    [-(2n ** 63n) - 1n, "args[0] is -9223372036854775809n"],
    [new Map([[1, 2]]), "args[0] is a Map; expected a JSON value, such as Object.fromEntries(map)"],
    [new Set(), "args[0] is a Set; expected a JSON value, such as [...set]"],
    [new Uint8Array(2), "args[0] is an Uint8Array; expected a JSON value, such as its bytes in base64"],
    [new Invoice(), "args[0] is an Invoice; expected a JSON value: a plain object with its data"],
    [Object.assign([], { toJSON: () => 1 }), "args[0].toJSON is the function toJSON"],
    [{ toJSON: () => 1 }, "args[0].toJSON is the function toJSON"],
    [new Error("no"), `args[0] is an Error "no"`],
    [/x/, "args[0] is a RegExp"],
    [new String("x"), "args[0] is a String"],
    ["half \ud83d", 'args[0] is "half \\ud83d"; expected text without half characters; toWellFormed() repairs it'],
    [{ "\ud83d": 1 }, "expected a key without half characters"],
  ];
  for (const [value, message] of refused) {
    assertThrows(() => checkValue(value, "args[0]"), InvalidPayload, message);
  }
});

Deno.test("checkValue names the path at which a value contains itself", () => {
  const self: Record<string, unknown> = { name: "x" };
  self.me = self;
  assertThrows(
    () => checkValue({ a: self }, "args[0]"),
    InvalidPayload,
    "args[0].a.me is an object; expected a value that does not contain itself",
  );
  const list: unknown[] = [];
  list.push({ inner: { list } });
  const error = assertThrows(() => checkValue(list, "args[0]"), InvalidPayload, "does not contain itself");
  assertEquals(error.field.length < 40, true, error.field);
});

Deno.test("checkValue limits depth, and stops early for an object that is reachable in a billion ways", () => {
  const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));
  checkValue(nested(98), "args[0]", 2);
  assertThrows(() => checkValue(nested(99), "args[0]", 2), InvalidPayload, "at most 100 levels");
  assertThrows(() => checkValue(nested(100_000), "args[0]"), InvalidPayload, "at most 100 levels");
  let many: unknown = "x".repeat(1_000_000);
  for (let i = 0; i < 60; i++) many = [many, many];
  assertThrows(() => checkValue(many, "args[0]"), InvalidPayload, "many megabytes");
});

Deno.test("checkValue accepts values that JSON keeps, and reports large integers", () => {
  const shared = { x: 1 };
  const value = [
    0,
    -0,
    1.5,
    "😀",
    true,
    null,
    [],
    new (class extends Array {})(),
    {},
    [shared, shared],
    Object.assign(Object.create(null), { a: 1 }),
  ];
  assertEquals(checkValue(value, "args[0]"), false);
  assertEquals(checkValue(JSON.parse(`{"__proto__":{"a":[1]}}`), "args[0]"), false);
  assertThrows(
    () => checkValue(Object.defineProperty({}, "__proto__", { value: NaN, enumerable: true }), "x"),
    InvalidPayload,
    "x.__proto__ is NaN",
  );
  for (const large of [[1n], { a: 2 ** 53 }, [[-1e20]], 2n ** 64n - 1n]) {
    assertEquals(checkValue(large, "args[0]"), true);
  }
  for (const small of [2 ** 53 - 1, 1e-5, 0.1]) assertEquals(checkValue(small, "args[0]"), false);
});

Deno.test("checkArgs rejects more arguments than a handler can receive, with their number", () => {
  assertEquals(checkArgs(new Array(MAX_ARGS).fill(0)), false);
  const message = "args.length is 130000; expected at most 10000 arguments; pass one list";
  assertThrows(() => checkArgs(new Array(130_000).fill(0)), InvalidPayload, message);
});
