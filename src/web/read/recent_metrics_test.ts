import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import type { ClassMetricsSeries, MetricsWindow } from "../../store/port/metrics.ts";
import type { SeriesStore } from "../../store/port/series.ts";
import { RecentMetrics } from "./recent_metrics.ts";

/** A store whose readings the test ends, and the windows that were read. */
function readings() {
  const clock = new FakeClock();
  const read: MetricsWindow[] = [];
  let ended: PromiseWithResolvers<ClassMetricsSeries[]>;
  const series = {
    read(_: string, window: MetricsWindow) {
      read.push(window);
      ended = Promise.withResolvers<ClassMetricsSeries[]>();
      return ended.promise;
    },
  } as unknown as SeriesStore;
  const measures = new RecentMetrics({ series }, clock);
  return {
    clock,
    read,
    measures,
    /** Reads a window. If it isn't cached, the reading takes `tookMs`. */
    async ask(window: MetricsWindow, tookMs: number): Promise<void> {
      const answer = measures.read(window);
      clock.advance(tookMs);
      ended.resolve([]);
      await answer;
      await clock.turn();
    },
    fail: () => ended.reject(new Error("gone")),
  };
}

Deno.test("caches a slow reading for 50 times its duration, separately for each window", async () => {
  const { ask, read, clock } = readings();
  await ask("72h", 100);
  await ask("72h", 0);
  await ask("1h", 100);
  assertEquals(read, ["72h", "1h"]);
  clock.advance(4_900);
  await ask("1h", 0);
  assertEquals(read, ["72h", "1h"]);
  clock.advance(100);
  await ask("1h", 0);
  assertEquals(read, ["72h", "1h", "1h"]);
});

Deno.test("doesn't cache a fast reading, and caches none for over a minute", async () => {
  const { ask, read, clock } = readings();
  await ask("8h", 19);
  await ask("8h", 10_000);
  clock.advance(59_000);
  await ask("8h", 0);
  assertEquals(read.length, 2);
  clock.advance(1_000);
  await ask("8h", 0);
  assertEquals(read.length, 3);
});

Deno.test("concurrent callers share a reading; a failed one is not cached", async () => {
  const { measures, read, fail, clock } = readings();
  const both = [measures.read("1h"), measures.read("1h")];
  clock.advance(1_000);
  fail();
  for (const one of both) await assertRejects(() => one, Error, "gone");
  assertEquals(read.length, 1);
  await clock.turn();
  void measures.read("1h");
  assertEquals(read.length, 2);
});
