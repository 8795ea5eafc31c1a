import { assertEquals, assertThrows } from "@std/assert";
import { parseLossless, stringifyLossless } from "./json.ts";

Deno.test("Integers that a number cannot hold are bigints, all others numbers", () => {
  const text = `[9007199254740991,9007199254740992,-9007199254740993,1234567890123456,12345678901234567890.5,` +
    `12345678901234567890e2,{"id":18446744073709551615},"12345678901234567890"]`;
  assertEquals(parseLossless(text), [
    9007199254740991,
    9007199254740992n,
    -9007199254740993n,
    1234567890123456,
    12345678901234567890.5,
    12345678901234567890e2,
    { id: 18446744073709551615n },
    "12345678901234567890",
  ]);
  assertEquals(parseLossless(`{"id":9007199254740993}`), { id: 9007199254740993n });
});

Deno.test("Numbers and bigints come back as what they were", () => {
  const value = [2 ** 60, -(2 ** 53), 1e20, 1e21, 1.5e300, 0.1, 2n ** 60n, -(2n ** 63n), 5, "x", null, {
    a: [2n ** 64n - 1n],
  }];
  assertEquals(parseLossless(stringifyLossless(value)!), value);
  assertEquals(stringifyLossless([2n ** 60n, 2 ** 60]), "[1152921504606846976,1.152921504606847e+18]");
});

Deno.test("A key __proto__ is a key like any other", () => {
  for (const text of [`{"__proto__":{"admin":true}}`, `{"__proto__":{"admin":true},"n":12345678901234567890}`]) {
    const value = parseLossless(text) as Record<string, unknown>;
    assertEquals([value.admin, Object.getPrototypeOf(value)], [undefined, Object.prototype]);
    assertEquals(stringifyLossless(value), text);
  }
});

Deno.test("Depth bombs are read, or refused as unreadable", () => {
  const bomb = (inside: string) => "[".repeat(100_000) + inside + "]".repeat(100_000);
  assertEquals(Array.isArray(parseLossless(bomb("1"))), true);
  assertThrows(() => parseLossless(bomb("12345678901234567890")), SyntaxError, "Nested too deeply");
});

Deno.test("A bigint stays an integer where the program taught JSON to write bigints as texts", () => {
  const prototype = BigInt.prototype as { toJSON?: unknown };
  prototype.toJSON = function (this: bigint) {
    return String(this);
  };
  try {
    assertEquals(stringifyLossless({ id: 2n ** 60n, text: "x" }), `{"id":1152921504606846976,"text":"x"}`);
  } finally {
    delete prototype.toJSON;
  }
});
