import { assertEquals } from "@std/assert";
import { textWidth } from "../terminal/text_width.ts";
import { boundLines, COLOURS, fitTo, NOTHING, paintLine, wrapTo } from "./text.ts";

Deno.test("fitTo fills exactly the given columns, for any characters", () => {
  assertEquals(fitTo("abc", 5), "abc  ");
  assertEquals(fitTo("abc", 5, true), "  abc");
  assertEquals(fitTo("abcdef", 4), "abc…");
  assertEquals(fitTo("abc", 0), "");
  for (const text of ["漢字漢字漢字", "🙂🙂🙂🙂", "a漢b漢c漢", "e\u0301".repeat(20), "\u0301".repeat(5_000), "👨‍👩‍👧"]) {
    for (const width of [1, 2, 3, 7, 8]) assertEquals(textWidth(fitTo(text, width)), width, `${text} in ${width}`);
  }
});

Deno.test("control characters are removed, and styles don't count as width", () => {
  const hostile = "a\x1b[2J\x1b]0;title\x07\r\nb\u202ec\u200bd\u009b31m\u{e0001}e";
  const painted = paintLine([[hostile, "bad"], ["rest"]], 200, NOTHING);
  // deno-lint-ignore no-control-regex -- the characters that must be absent
  assertEquals(/[\u0000-\u001f\u007f-\u009f\p{Cf}]/u.test(painted), false, JSON.stringify(painted));
  assertEquals(paintLine([["abc", "bad"], ["def"], ["ghi", "good"]], 5, COLOURS), "\x1b[31mabc\x1b[0md…");
  assertEquals(paintLine([["abc", "bad"]], 5, NOTHING), "abc");
});

Deno.test("long lines wrap", () => {
  assertEquals(wrapTo("abcdefg", 3), ["abc", "def", "g"]);
  assertEquals(wrapTo("", 3), [""]);
  assertEquals(wrapTo("漢字漢", 4), ["漢字", "漢"]);
  assertEquals(wrapTo("漢", 1), ["漢"]);
  assertEquals(wrapTo("→→→", 2), ["→→", "→"]);
  assertEquals(wrapTo("e\u0301".repeat(3), 2), ["e\u0301".repeat(2), "e\u0301"]);
});

Deno.test("an open text is cut to 20,000 characters a line, 200,000 in total and 5,000 lines, with the number of missing lines", () => {
  assertEquals(boundLines(["a", "", "b"]), ["a", "", "b"]);
  assertEquals(boundLines(["x".repeat(30_000)]), [`${"x".repeat(20_000)}… (30000 characters)`]);
  const many = boundLines(Array<string>(1_000_000).fill("x"));
  assertEquals([many.length, many.at(-1)], [5_001, "… (995000 more lines)"]);
  const long = boundLines(Array<string>(20).fill("x".repeat(30_000)));
  assertEquals([long.length, long.at(-1)], [10, "… (11 more lines)"]);
});
