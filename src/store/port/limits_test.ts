import { assertEquals, assertThrows } from "@std/assert";
import { formatStarts, MAX_STARTS, parseStarts } from "./limits.ts";

Deno.test("parseStarts accepts a count per duration, or per unit of time", () => {
  const minute = { count: 100, perMs: 60_000 };
  for (const text of ["100/1m", "100/m", "100/60", "100/60s", " 100 / 1m "]) {
    assertEquals(parseStarts(text), minute, text);
  }
  assertEquals(parseStarts("5/s"), { count: 5, perMs: 1_000 });
  assertEquals(parseStarts("1/1h30m"), { count: 1, perMs: 5_400_000 });
  assertEquals(parseStarts("10/250ms"), { count: 10, perMs: 250 });
});

Deno.test("parseStarts rejects other texts, and names the text", () => {
  const wrong = [
    "",
    "5",
    "/m",
    "5/",
    "0/m",
    "-5/m",
    "1.5/m",
    "5/0s",
    "5/x",
    "5/1x",
    "5/m/s",
    "5/31d",
    `${MAX_STARTS + 1}/m`,
  ];
  for (const text of wrong) {
    assertThrows(() => parseStarts(text), RangeError, `Invalid number of starts "${text}"`, text);
  }
});

Deno.test("parseStarts reads what formatStarts writes", () => {
  for (const text of ["100/1m", "5/1s", "1/90m", "10/250ms", "7/30d", "3/61s"]) {
    assertEquals(formatStarts(parseStarts(text)), text);
  }
  assertEquals(formatStarts(parseStarts("5/60s")), "5/1m");
});
