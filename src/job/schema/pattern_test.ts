import { assertEquals, assertThrows } from "@std/assert";
import { compilePattern } from "./pattern.ts";
import { Run } from "./problem.ts";

/** The pattern of zod for addresses. */
const ADDRESS =
  "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$";

const PATTERNS = [
  ...["", "^$", "^a+$", "^(a+)+$", "a|b|", "x{2,3}", "^x{2,}y?$", "^(?:ab|cd){0,2}$", "^(a?){3}$", "a*?b", "^()*$"],
  ...[
    "\\bfoo\\b",
    "^\\Boo",
    "^\\p{L}+$",
    "^[\\]\\[a-c]$",
    "^[^a]$",
    "^.$",
    "(?<n>a)b",
    "\\d{4}-\\d\\d",
    "\\\\",
    "\\cA",
  ],
  ...["^\\uD83D\\uDE00$", "^\\u{1F600}$", "[\\b]", "a(?=b)", "a(?!b)", "^(?=.*\\d)(?=.*[a-z]).{3,}$", ADDRESS],
];
const TEXTS = [
  ...[
    "",
    "a",
    "aaa",
    "b",
    "ab",
    "aab",
    "ac",
    "xx",
    "xxx",
    "xxxx",
    "xy",
    "xxy",
    "abcd",
    "ababab",
    "foo",
    "a foo b",
    "food",
  ],
  ...[
    "ada@example.com",
    "a..b@c.de",
    ".a@c.de",
    "a@b",
    "ÄÖü",
    "é1",
    "]",
    "[",
    "😀",
    "2020-12",
    "\\",
    "\n",
    "\u0001",
    "\b",
  ],
];

Deno.test("a pattern matches the texts that JavaScript's own engine matches", () => {
  const differing = PATTERNS.flatMap((source) => {
    const pattern = compilePattern(source);
    const native = new RegExp(source, "u");
    return TEXTS.filter((text) => pattern(text, new Run()) !== native.test(text)).map((text) => [source, text]);
  });
  assertEquals(differing, []);
});

Deno.test("a pattern takes steps in proportion to the text, where a backtracking engine takes hours", () => {
  let steps = 0;
  const pattern = compilePattern("^(a+)+$");
  assertEquals(pattern(`${"a".repeat(5_000)}!`, { count: () => void steps++ }), false);
  assertEquals(steps < 100_000, true);
});

Deno.test("a pattern that is invalid, too large or not matchable in linear time is rejected", () => {
  for (const source of ["(", "a{1,100000}", "(?:(?:(?:a{99}){99}){99}){99}", "a".repeat(2_001)]) {
    assertThrows(() => compilePattern(source), SyntaxError);
  }
  assertThrows(() => compilePattern("(a)\\1"), SyntaxError, "backreferences aren't supported");
  assertThrows(() => compilePattern("(?<=a)b"), SyntaxError, "lookbehind");
});
