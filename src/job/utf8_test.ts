import { assertEquals, assertThrows } from "@std/assert";
import { decodeLine, decodeText, Utf8Error } from "./utf8.ts";

const bytes = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));

Deno.test("decodes UTF-8 without the mark at its beginning, and keeps every other character", () => {
  const text = "größe\n\ufeffa\0b\r\n🙂";
  assertEquals(decodeText(new TextEncoder().encode(text)), text);
  assertEquals(decodeText(new TextEncoder().encode(`\ufeff${text}`)), text);
  assertEquals(decodeText(new Uint8Array()), "");
});

Deno.test("names the first line that isn't UTF-8, and UTF-16", () => {
  const cases: [string, string][] = [
    ["\xe9", "line 1 isn't UTF-8"],
    ["a\nb\ngr\xf6\xdfe\n\xff", "line 3 isn't UTF-8"],
    ["a\nb\xc3\n\xb6", "line 2 isn't UTF-8"],
    ["\xed\xa0\x80", "line 1 isn't UTF-8"], // half of a surrogate pair
    ["\xc0\xaf", "line 1 isn't UTF-8"], // an overlong slash
    ["\xff\xfea\0", "it is UTF-16, expected UTF-8"],
  ];
  for (const [text, message] of cases) assertThrows(() => decodeText(bytes(text)), Utf8Error, message);
  assertEquals([decodeLine(bytes("a\xc3\xb6")), decodeLine(bytes("a\xc3"))], ["aö", undefined]);
});
