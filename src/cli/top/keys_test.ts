import { assertEquals } from "@std/assert";
import { KeyReader } from "./keys.ts";

const encoder = new TextEncoder();

function keys(...pieces: string[]): string[] {
  const reader = new KeyReader();
  return pieces.flatMap((piece) => reader.read(encoder.encode(piece)));
}

Deno.test("keys have the same names in both modes of the terminal", () => {
  assertEquals(keys("jk\r\t\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[Z\x7f\x03"), [
    ...["j", "k", "enter", "tab", "up", "down", "page-up", "page-down", "back-tab", "backspace", "ctrl-c"],
  ]);
  assertEquals(keys("\x1b[1;5A\x1b[3;2~q"), ["up", "q"]);
  assertEquals(keys("漢"), ["漢"]);
});

Deno.test("an escape alone is a key; a sequence in pieces is one key", () => {
  assertEquals(keys("\x1b"), ["escape"]);
  assertEquals(keys("\x1b[", "A"), ["up"]);
  assertEquals(keys("\x1b[1", ";5", "B", "x"), ["down", "x"]);
  const bytes = encoder.encode("ä");
  const reader = new KeyReader();
  assertEquals([reader.read(bytes.subarray(0, 1)), reader.read(bytes.subarray(1))], [[], ["ä"]]);
});

Deno.test("pasted text is one key; unterminated sequences are dropped at a bound", () => {
  assertEquals(keys("\x1b[200~Sy", "q\x1b[201~j"), ["paste:Syq", "j"]);
  assertEquals(keys("\x1b[200~" + "x".repeat(20_000), "j"), ["j"]);
  assertEquals(keys("\x1b[" + "1".repeat(100), "j"), ["j"]);
});
