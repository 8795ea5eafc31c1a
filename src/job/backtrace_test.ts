import { assertEquals } from "@std/assert";
import { deflateSync } from "node:zlib";
import { decodeBacktrace, encodeBacktrace } from "./backtrace.ts";

Deno.test("A stack comes back line by line", () => {
  const lines = ["at perform (jobs.js:1:2)", "at ünïcode 😀", ""];
  assertEquals(decodeBacktrace(encodeBacktrace(lines)), lines);
});

Deno.test("Line breaks as Ruby's MIME encoding sets them are read over", () => {
  const packed = encodeBacktrace(Array.from({ length: 30 }, (_, i) => `at ${i * 7919}`));
  assertEquals(decodeBacktrace(packed.replace(/.{60}/g, "$&\n") + "\n")?.length, 30);
});

Deno.test("What is no packed stack is told by undefined, and a bomb does not go off", () => {
  const pack = (text: string | Uint8Array) => deflateSync(text).toString("base64");
  for (const text of [undefined, 5, "", "!", "aGVsbG8=", pack("{}"), pack("[1]"), pack("[")]) {
    assertEquals(decodeBacktrace(text), undefined);
  }
  assertEquals(decodeBacktrace(pack(`["${"x".repeat(5 * 1024 * 1024)}"]`)), undefined);
});
