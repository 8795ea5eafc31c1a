import { assertEquals, assertThrows } from "@std/assert";
import { formatDuration, parseDuration } from "./duration.ts";

Deno.test("parseDuration reads seconds, units and combinations", () => {
  const read: [string, number][] = [
    ["0", 0],
    ["90", 90_000],
    ["0.5", 500],
    ["250ms", 250],
    ["30s", 30_000],
    ["5m", 300_000],
    ["2h", 7_200_000],
    ["1d", 86_400_000],
    ["1h30m", 5_400_000],
    ["1.5h", 5_400_000],
    ["1m500ms", 60_500],
    [" 5m ", 300_000],
    ["0.0001s", 0],
  ];
  for (const [text, ms] of read) assertEquals(parseDuration(text), ms, text);
});

Deno.test("parseDuration rejects an invalid duration with examples of valid ones", () => {
  for (
    const text of [
      "",
      "soon",
      "-5m",
      "5 m",
      "5M",
      "5w",
      "m",
      "1e3",
      ".5",
      "5.",
      "1h-30m",
      "NaN",
      "36526d",
      "9".repeat(15),
      "9".repeat(400),
    ]
  ) {
    assertThrows(() => parseDuration(text), RangeError, "expected for example 90 (seconds), 250ms, 30s", text);
  }
});

Deno.test("every duration that the error names is valid", () => {
  const { message } = assertThrows(() => parseDuration("soon"), RangeError);
  const [, named] = /expected for example (.*)$/.exec(message)!;
  const texts = named!.replace(" (seconds)", "").split(/, | or /);
  assertEquals(texts.length, 7);
  for (const text of texts) parseDuration(text);
});

Deno.test("formatDuration returns at most two units, and never sixty of one", () => {
  const shown: [number, string][] = [
    [0, "0ms"],
    [249.6, "250ms"],
    [999.7, "1s"],
    [1_500, "1.5s"],
    [59_940, "59.9s"],
    [59_960, "1m"],
    [60_000, "1m"],
    [200_000, "3m20s"],
    [3_599_400, "59m59s"],
    [3_599_600, "1h"],
    [7_500_000, "2h5m"],
    [86_369_000, "23h59m"],
    [86_371_000, "1d"],
    [349_200_000, "4d1h"],
  ];
  for (const [ms, text] of shown) assertEquals(formatDuration(ms), text);
});
