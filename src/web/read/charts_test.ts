import { assertEquals } from "@std/assert";
import { countedSince } from "./charts.ts";

Deno.test("counts the attempts of the running minute, which workers haven't stored yet", () => {
  const samples = [[0, 100, 1], [50, 110, 1], [62, 500, 2], [80, 986, 4]].map(([at, processed, failed]) => ({
    ...{ at: at! * 1_000, processed: processed!, failed: failed!, retrying: 0 },
  }));
  assertEquals(countedSince(samples, 60_000), { processed: 876, failed: 3 });
  assertEquals(
    countedSince(samples.slice(2), 60_000),
    { processed: 486, failed: 2 },
    "the first samples of the process",
  );
  assertEquals(countedSince(samples, 81_000), { processed: 0, failed: 0 }, "a minute without a sample");
  assertEquals(countedSince([], 60_000), { processed: 0, failed: 0 });
});
