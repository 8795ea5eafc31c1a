import { assertEquals } from "@std/assert";
import type { Clock } from "../../clock.ts";
import { logger } from "../../log/log.ts";
import { MetricsRecorder } from "./metrics_recorder.ts";

Deno.test("rests for a minute on a clock that counts whole milliseconds", async () => {
  // Whatever second the recorder has chosen.
  let time = 0;
  const rests: number[] = [];
  const clock: Clock = {
    now: () => Math.floor(time),
    monotonic: () => time,
    turn: () => Promise.resolve(),
    sleep: (ms) => {
      rests.push(ms);
      time += ms;
      return Promise.resolve();
    },
  };
  const recorder = new MetricsRecorder({
    store: { series: { add: () => Promise.resolve() } },
    classCounters: { drain: () => [] },
    clock,
    log: logger("metrics-recorder", clock),
  });
  const { signal } = new AbortController();
  for (let i = 0; i < 3; i++) await recorder.rest(undefined, signal);
  assertEquals(rests.slice(1), [60_000, 60_000]);
});
