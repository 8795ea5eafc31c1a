import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import type { ClassMetricsSeries, MetricsWindow } from "../../store/port/metrics.ts";
import { RecentMetrics } from "./recent_metrics.ts";

/** A store whose readings end when the test says so, and the windows that were read. */
function readings() {
  const clock = new FakeClock();
  const read: MetricsWindow[] = [];
  let ended: PromiseWithResolvers<ClassMetricsSeries[]>;
  const metrics = {
    record: () => Promise.resolve(),
    read(window: MetricsWindow) {
      read.push(window);
      ended = Promise.withResolvers<ClassMetricsSeries[]>();
      return ended.promise;
    },
  };
  const measures = new RecentMetrics({ metrics }, clock);
  return {
    clock,
    read,
    measures,
    /** Asks, and lets it take so long if it is read. */
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

Deno.test("recent measures: a slow reading is kept fifty times as long as it took, each window's its own", async () => {
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

Deno.test("recent measures: a quick one is made each time, and none is kept longer than a minute", async () => {
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

Deno.test("recent measures: who asks meanwhile shares the reading; one that failed is not kept", async () => {
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
