import { assertEquals } from "@std/assert";
import { shareText } from "./groups.ts";

Deno.test("a share is a percentage with a decimal below 10 %, and never 0", () => {
  const texts = [1, 0.666667, 0.1, 0.0949, 0.001, 0.0001].map(shareText);
  assertEquals(texts, ["100 %", "67 %", "10 %", "9.5 %", "0.1 %", "<0.1 %"]);
  assertEquals(shareText(undefined), "");
});
