import { assertEquals } from "@std/assert";
import { progressText } from "./progress.ts";

Deno.test("progress is rounded to what people read, and any number is a text", () => {
  const texts = [8.333333333333334, 100, 0.0012345, 0, -2.5, 1234567.891, 1e21, NaN, Infinity].map((done) =>
    progressText({ done })
  );
  assertEquals(texts, ["8.33", "100", "0.0012", "0", "-2.5", "1234567.89", "1e+21", "NaN", "Infinity"]);
  assertEquals(progressText({ done: 1 / 3, note: "of 800" }), "0.33 of 800");
});
