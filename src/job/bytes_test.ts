import { assertEquals, assertThrows } from "@std/assert";
import { formatBytes, parseBytes } from "./bytes.ts";

Deno.test("parseBytes reads amounts with and without a unit", () => {
  for (
    const [text, bytes] of [
      ["0", 0],
      ["1048576", 1_048_576],
      ["64k", 65_536],
      ["512M", 536_870_912],
      ["512MB", 536_870_912],
      ["512 MiB", 536_870_912],
      ["1.5g", 1_610_612_736],
    ] as const
  ) assertEquals(parseBytes(text), bytes, text);
});

Deno.test("parseBytes rejects an invalid amount with an example of valid ones", () => {
  for (const text of ["", "much", "-1", "1T", "1 2"]) {
    assertThrows(() => parseBytes(text), RangeError, `Invalid amount "${text}"; expected bytes, or for example 64k`);
  }
});

Deno.test("formatBytes uses the largest unit that fits", () => {
  assertEquals([640, 65_536, 536_870_912, 1_610_612_736].map(formatBytes), ["640 B", "64 KB", "512 MB", "1.5 GB"]);
});
