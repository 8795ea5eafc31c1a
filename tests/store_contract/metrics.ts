/**
 * Metrics of classes.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../src/clock.ts";
import {
  type ClassMetrics,
  type MetricsWindow,
  RUN_BOUNDS_MS,
  runBucket,
  WINDOWS,
} from "../../src/store/port/metrics.ts";
import type { Cases } from "./harness.ts";
import { HOUR_MS } from "./jobs.ts";

/** Returns metrics of a class: jobs with these run times, and a number of failures. */
function measurement(name: string, runs: readonly number[], failed = 0): ClassMetrics {
  const histogram = new Array(RUN_BOUNDS_MS.length + 1).fill(0);
  for (const ms of runs) histogram[runBucket(ms)]++;
  const workedMs = runs.reduce((sum, ms) => sum + ms, 0);
  return { class: name, processed: runs.length + failed, failed, workedMs, histogram };
}

const ALL = Object.keys(WINDOWS) as MetricsWindow[];

export const measures: Cases = {
  "returns nothing before the first record, and accepts an empty one": async (open) => {
    await using t = await open();
    await t.store.series.add("classes", []);
    for (const window of ALL) assertEquals(await t.store.series.read("classes", window), []);
  },

  "sums add up over calls and connections, the class with the most jobs first, for any class name": async (open) => {
    await using t = await open();
    const other = await t.another();
    const odd = "h|A::B|p-1-2:3 é";
    await t.store.series.add("classes", [measurement("Hard", [5, 25, 400_000], 1), measurement(odd, [120])]);
    await other.series.add("classes", [measurement("Hard", [19.9, 20]), measurement("Never", [], 2)]);
    for (const window of ALL) {
      const [first, second, third, ...more] = await other.series.read("classes", window);
      const { series, failedSeries, histogram, ...sums } = first!;
      assertEquals(sums, { class: "Hard", processed: 6, failed: 1, workedMs: 400_070 });
      assertEquals(histogram.flatMap((count, i) => count > 0 ? [[i, count]] : []), [[0, 2], [1, 2], [25, 1]]);
      assertEquals([series.length, series.reduce((a, b) => a + b)], [WINDOWS[window].steps, 6]);
      assertEquals([failedSeries.length, failedSeries.reduce((a, b) => a + b)], [WINDOWS[window].steps, 1]);
      assertEquals([second!.class, second!.failed, second!.processed, second!.workedMs], ["Never", 2, 2, 0]);
      assertEquals([third!.class, third!.processed, third!.histogram[5]], [odd, 1, 1]);
      assertEquals(more, []);
    }
  },

  "adds up many classes in many steps while other verbs run": async (open) => {
    await using t = await open();
    const names = Array.from({ length: 500 }, (_, i) => `Job${String(i).padStart(3, "0")}`);
    for (let step = 0; step < 10; step++) {
      await t.store.series.add("classes", names.map((name) => measurement(name, [25])));
      t.advance(HOUR_MS / 6);
    }
    let [turns, isDone] = [0, false];
    const counting = (async () => {
      while (!isDone) {
        await systemClock.turn();
        turns++;
      }
    })();
    const all = await t.store.series.read("classes", "72h");
    isDone = true;
    await counting;
    assert(turns >= 3, `${turns} turns`);
    assertEquals(all.map((one) => one.class), names);
    for (const { processed, workedMs, histogram, series } of all) {
      assertEquals([processed, workedMs, histogram[1]], [10, 250, 10]);
      assertEquals(series.filter((count) => count > 0), new Array(10).fill(1));
    }
  },

  "sums are in their time step, and leave each window in turn": async (open) => {
    await using t = await open();
    await t.store.series.add("classes", [measurement("Hard", [1])]);
    t.advance(HOUR_MS / 2);
    await t.store.series.add("classes", [measurement("Hard", [1, 1])]);
    const [halfHour] = await t.store.series.read("classes", "1h");
    const [earlier, later] = [halfHour!.series.indexOf(1), halfHour!.series.indexOf(2)];
    assert(later >= 58 && later - earlier >= 29 && later - earlier <= 31, `${earlier} ${later}`);
    const seen = async () => {
      const all = await Promise.all(
        ALL.map(async (window) => (await t.store.series.read("classes", window))[0]?.processed ?? 0),
      );
      return all.join(" ");
    };
    assertEquals(await seen(), "3 3 3 3");
    t.advance(HOUR_MS);
    assertEquals(await seen(), "0 3 3 3");
    t.advance(8 * HOUR_MS);
    assertEquals(await seen(), "0 0 3 3");
    t.advance(24 * HOUR_MS);
    assertEquals(await seen(), "0 0 0 3");
    t.advance(72 * HOUR_MS);
    assertEquals(await seen(), "0 0 0 0");
  },

  "the histograms of a class are those of its steps": async (open) => {
    await using t = await open();
    await t.store.series.add("classes", [measurement("Hard", [5, 25], 1), measurement("h|A::B|p-1-2:3 é", [120])]);
    t.advance(HOUR_MS / 6);
    await t.store.series.add("classes", [measurement("Hard", [400_000, 400_000])]);
    for (const window of ALL) {
      const found = await t.store.series.read("histograms", { class: "Hard", window: window });
      assertEquals(found.length, WINDOWS[window].steps);
      const counts = found.map((histogram) => histogram.flatMap((count, i) => count > 0 ? [[i, count]] : []));
      assertEquals(counts.filter((one) => one.length > 0), [[[0, 1], [1, 1]], [[25, 2]]], window);
      assertEquals(counts.at(-1), [[25, 2]], window);
      const never = await t.store.series.read("histograms", { class: "Never", window: window });
      assertEquals(never.flat().every((count) => count === 0), true);
      const [odd] = (await t.store.series.read("histograms", { class: "h|A::B|p-1-2:3 é", window: window })).filter((
        one,
      ) => one[5] === 1);
      assertEquals(odd?.length, RUN_BOUNDS_MS.length + 1);
    }
  },

  "a bucket of the histogram has no maximum": async (open) => {
    await using t = await open();
    const many = { ...measurement("Hard", [1]), processed: 100_000, histogram: [100_000, ...new Array(25).fill(0)] };
    await t.store.series.add("classes", [many]);
    await t.store.series.add("classes", [many]);
    const [{ processed, histogram } = { processed: 0, histogram: [] }] = await t.store.series.read("classes", "8h");
    assertEquals([processed, histogram[0]], [200_000, 200_000]);
  },
};
