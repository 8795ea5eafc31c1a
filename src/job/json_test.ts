import { assertEquals, assertThrows } from "@std/assert";
import { parseLossless, stringifyLossless } from "./json.ts";

Deno.test("parseLossless returns bigints for integers that a number cannot represent, and numbers for others", () => {
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

Deno.test("Numbers and bigints survive writing and reading", () => {
  const value = [2 ** 60, -(2 ** 53), 1e20, 1e21, 1.5e300, 0.1, 2n ** 60n, -(2n ** 63n), 5, "x", null, {
    a: [2n ** 64n - 1n],
  }];
  assertEquals(parseLossless(stringifyLossless(value)!), value);
  assertEquals(stringifyLossless([2n ** 60n, 2 ** 60]), "[1152921504606846976,1.152921504606847e+18]");
});

Deno.test("A key __proto__ is an ordinary key", () => {
  for (const text of [`{"__proto__":{"admin":true}}`, `{"__proto__":{"admin":true},"n":12345678901234567890}`]) {
    const value = parseLossless(text) as Record<string, unknown>;
    assertEquals([value.admin, Object.getPrototypeOf(value)], [undefined, Object.prototype]);
    assertEquals(stringifyLossless(value), text);
  }
});

Deno.test("parseLossless reads arrays nested 100,000 deep", () => {
  const nested = (inside: string) => "[".repeat(100_000) + inside + "]".repeat(100_000);
  for (const inside of ["1", "12345678901234567890"]) {
    assertEquals(Array.isArray(parseLossless(nested(inside))), true);
  }
});

Deno.test("parseLossless reads integers of up to 1,300 digits, and rejects longer ones", () => {
  const longest = "9".repeat(1_300);
  assertEquals(parseLossless(`{"n":-${longest}}`), { n: -BigInt(longest) });
  assertThrows(
    () => parseLossless(`{"n":${"9".repeat(1_000_000)}}`),
    SyntaxError,
    "Integer of 1000000 digits at position 5; expected at most 1300 digits",
  );
  const digits = "9".repeat(1_000_000);
  assertEquals(parseLossless(`["${digits}",0.${digits},1e-12345678901234567]`), [digits, 1, 0]);
});

Deno.test("parseLossless takes time in proportion to the text for half a million numbers and one long integer", () => {
  const value = parseLossless(`[${"1,".repeat(500_000)}12345678901234567890]`) as unknown[];
  assertEquals([value.length, value[0], value.at(-1)], [500_001, 1, 12345678901234567890n]);
});

Deno.test("parseLossless ignores digits within a string", () => {
  const digits = "12345678901234567890";
  for (const text of [digits, `"${digits}`, `\\"${digits}`, `\\${digits}\\`, `a" ,${digits},"b`, `\n${digits}`]) {
    const value = [text, 12345678901234567890n, { [text]: text, "1": 1, 'k"': 12345678901234567891n }];
    assertEquals(parseLossless(stringifyLossless(value)!), value);
  }
});

Deno.test("parseLossless rejects invalid JSON around a long integer", () => {
  const digits = "12345678901234567890";
  for (
    const text of [`0${digits}`, `+${digits}`, `--${digits}`, `{${digits}:1}`, `[${digits}`, `${digits}.`, `"${digits}`]
  ) {
    assertThrows(() => parseLossless(text), SyntaxError, undefined, text);
  }
});

Deno.test("A bigint stays an integer in a program that gives bigints a toJSON", () => {
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
