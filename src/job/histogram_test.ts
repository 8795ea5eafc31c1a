import { assertEquals } from "@std/assert";
import { Histogram } from "./histogram.ts";

Deno.test("a duration counts at the first bound that it does not exceed, or after the last bound", () => {
  const histogram = new Histogram([0.5, 2]);
  for (const ms of [-5_000, 0, 500, 501, 2_000, 2_001, 1e9]) histogram.add(ms);
  assertEquals(histogram.counts, [3, 2, 2]);
  assertEquals(histogram.sum, 1_000_005.002);
});
