import { assertEquals } from "@std/assert";
import { HEAT_LEVELS, heatMap } from "./heat_map.ts";

Deno.test("a heat map has the buckets with runs, in levels that keep rare runs visible", () => {
  const map = heatMap([[0, 0, 400, 0, 0], [0, 0, 0, 0, 0], [0, 0, 100, 1, 0]], 60_000)!;
  assertEquals([map.columnMs, map.firstBucket, map.lastBucket], [60_000, 2, 3]);
  assertEquals(map.columns, [
    { runs: 400, levels: [HEAT_LEVELS, 0], topBucket: 2 },
    { runs: 0, levels: [0, 0], topBucket: undefined },
    { runs: 101, levels: [HEAT_LEVELS / 2, 1], topBucket: 2 },
  ]);
});

Deno.test("a heat map combines the steps of a long window, and is absent without runs", () => {
  const map = heatMap(Array.from({ length: 432 }, (_, i) => [i === 0 ? 1 : 0, 1]), 600_000)!;
  assertEquals([map.columns.length, map.columnMs], [144, 1_800_000]);
  assertEquals(map.columns[0]!.runs, 4);
  assertEquals(heatMap([[0, 0], [0, 0]], 60_000), undefined);
  assertEquals(heatMap([], 60_000), undefined);
});
