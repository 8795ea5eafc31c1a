import { assertEquals } from "@std/assert";
import { meter, sparkline } from "./spark.ts";

Deno.test("a sparkline ranges from 0 to its highest value, the latest to the right", () => {
  assertEquals(sparkline([0, 1, 4, 8], 6), "  ▁▂▅█");
  assertEquals(sparkline([9, 9, 0, 1_000_000, 1], 3), "▁█▂");
  assertEquals(sparkline([0, 0], 2), "▁▁");
  assertEquals(sparkline([], 3), "   ");
  assertEquals(sparkline([1], 0), "");
});

Deno.test("a meter shows small shares as one block, and is never longer than its width", () => {
  assertEquals(meter(0, 10, 5), "·····");
  assertEquals(meter(1, 100, 5), "■····");
  assertEquals(meter(5, 10, 4), "■■··");
  assertEquals(meter(30, 10, 4), "■■■■");
  assertEquals(meter(0, 0, 4), "····");
});
