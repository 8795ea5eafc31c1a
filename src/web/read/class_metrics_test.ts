import { assertAlmostEquals, assertEquals } from "@std/assert";
import { quantile, RUN_BOUNDS_MS, runBucket } from "../../store/port/metrics.ts";
import { measuredClasses, windowOf } from "./class_metrics.ts";

function histogramOf(...runs: number[]): number[] {
  const histogram = new Array(RUN_BOUNDS_MS.length + 1).fill(0);
  for (const ms of runs) histogram[runBucket(ms)]++;
  return histogram;
}

Deno.test("counts a duration at the first bound above it", () => {
  assertEquals([0, 19.9, 20, 334_999, 335_000, 1e9].map(runBucket), [0, 0, 1, 24, 25, 25]);
});

Deno.test("estimates a quantile within its bucket; beyond the last bound, as that bound", () => {
  const runs = [...new Array(90).fill(5), ...new Array(9).fill(120), 400_000];
  const histogram = histogramOf(...runs);
  assertAlmostEquals(quantile(histogram, 0.5)!, 20 * 50 / 90, 1e-9);
  assertAlmostEquals(quantile(histogram, 0.95)!, 100 + 50 * 5 / 9, 1e-9);
  assertEquals(quantile(histogram, 0.99), 150);
  assertEquals(quantile(histogram, 1), 335_000);
  assertEquals(quantile(histogramOf(), 0.5), undefined);
  for (const run of [1, 25, 1_000, 300_000]) {
    const found = quantile(histogramOf(run), 0.95)!;
    assertEquals(found <= RUN_BOUNDS_MS[runBucket(run)]! && found >= (RUN_BOUNDS_MS[runBucket(run) - 1] ?? 0), true);
  }
});

Deno.test("computes the mean of successful attempts, and none if all failed", () => {
  const sums = { failed: 2, workedMs: 300, histogram: histogramOf(100, 200), series: [4], failedSeries: [2] };
  const { classes: [some, none], more } = measuredClasses("1h", [
    { ...sums, class: "Some", processed: 4 },
    { class: "None", processed: 2, failed: 2, workedMs: 0, histogram: histogramOf(), series: [2], failedSeries: [2] },
  ]);
  assertEquals([some!.meanMs, none!.meanMs, none!.p50Ms, more], [150, undefined, undefined, 0]);
});

Deno.test("estimates percentiles that are consistent with sum and count", () => {
  const of = (...runs: number[]) => {
    const workedMs = runs.reduce((sum, ms) => sum + ms, 0);
    const one = {
      class: "A",
      processed: runs.length,
      failed: 0,
      workedMs,
      histogram: histogramOf(...runs),
      series: [],
      failedSeries: [],
    };
    const { meanMs, p50Ms, p95Ms, p99Ms } = measuredClasses("1h", [one]).classes[0]!;
    return [meanMs, p50Ms, p95Ms, p99Ms];
  };
  assertEquals(of(9_000), [9_000, 9_000, 9_000, 9_000]);
  assertEquals(of(9_000, 11_000), [10_000, 10_000, 10_000, 10_000]);
  assertEquals(of(400_000), [400_000, 400_000, 400_000, 400_000]);
  assertEquals(of(1, 8_600).slice(2), [8_601, 8_601]);
});

Deno.test("falls back to the last hour for an unknown window", () => {
  assertEquals(["8h", "72h", undefined, "9h", "toString"].map(windowOf), ["8h", "72h", "1h", "1h", "1h"]);
});
