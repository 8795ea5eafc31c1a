import { assertEquals } from "@std/assert";
import { blankControls, escapeControls } from "./output.ts";

Deno.test("control characters and text direction marks aren't printed", () => {
  for (const character of ["\x1b", "\x07", "\u009b", "\u061c", "\u200e", "\u200f", "\u202e", "\u2066"]) {
    assertEquals(blankControls(`a${character}b`), "a b");
    const value = { a: `x${character}y` };
    const text = escapeControls(JSON.stringify(value, undefined, 2));
    assertEquals([text.includes(character), JSON.parse(text)], [false, value]);
  }
  assertEquals(escapeControls("{\n  1\n}"), "{\n  1\n}");
});
