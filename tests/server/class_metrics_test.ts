/** Workers store class metrics once a minute and at their end, and never delay a job for them. */
import { assert, assertEquals } from "@std/assert";
import { MetricsRecorder } from "../../src/server/stats/metrics_recorder.ts";
import { ClassCounters } from "../../src/server/stats/counters.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import type { ClassMetrics } from "../../src/store/port/metrics.ts";
import { Bench } from "../support/bench.ts";
import { FakeClock } from "../support/clock.ts";
import { KeptLog } from "../support/log.ts";
import { JobsProcess } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";

for (const kind of ["sqlite", "redis"] as const) {
  Deno.test(`a worker stores its class metrics when it ends, and the metrics of several workers are added up (${kind})`, async () => {
    await using stack = new AsyncDisposableStack();
    const url = kind === "redis" ? stack.use(await startRedis()).url : undefined;
    const bench = stack.use(await Bench.open(url));
    for (let round = 0; round < 2; round++) {
      await bench.client.pushBulk({ class: "Note", args: Array.from({ length: 50 }, () => [bench.notes]) });
      await bench.push("Fail", ["no"], { retry: false });
      const server = stack.use(new JobsProcess({ store: bench.url, args: [bench.handlers, "--burst"] }));
      assertEquals((await server.status()).code, 0);
    }
    const measured = await bench.store.series.read("classes", "8h");
    assertEquals(measured.map((one) => [one.class, one.processed, one.failed]), [["Note", 100, 0], ["Fail", 2, 2]]);
    assertEquals(measured[0]!.histogram.reduce((sum, count) => sum + count, 0), 100);
  });
}

function recorderOn(measure: (measurements: readonly ClassMetrics[]) => Promise<void>) {
  const clock = new FakeClock();
  const counters = new ClassCounters();
  const log = new KeptLog();
  return {
    clock,
    counters,
    log,
    recorder: new MetricsRecorder({
      store: { series: { add: (_: string, metrics: readonly unknown[]) => measure(metrics as ClassMetrics[]) } },
      classCounters: counters,
      clock,
      log,
    }),
  };
}

Deno.test("class metrics are stored in the last seconds of each minute, and not after a minute without jobs", async () => {
  const written: (readonly ClassMetrics[])[] = [];
  const { clock, counters, recorder } = recorderOn((measurements) => {
    written.push(measurements);
    return Promise.resolve();
  });
  for (let minute = 0; minute < 3; minute++) {
    const rested = recorder.rest(undefined, new AbortController().signal);
    const [left] = clock.sleeping;
    await clock.advance(left!);
    await rested;
    const second = clock.now() % 60_000;
    assert(second >= 50_000 && second <= 59_001, `${second}`);
    assertEquals(Math.floor((clock.now() - Date.UTC(2026, 0, 1)) / 60_000), minute);
    await recorder.step();
  }
  assertEquals(written, []);
  counters.add("Hard", "succeeded", 7);
  await recorder.step();
  assertEquals(written.map((all) => all.map((one) => [one.class, one.processed])), [[["Hard", 1]]]);
});

Deno.test("class metrics that cannot be stored are dropped with one warning, and the recovery is logged", async () => {
  let isAway = true;
  let written = 0;
  const { counters, log, recorder } = recorderOn((measurements) => {
    if (isAway) return Promise.reject(new StoreError("unavailable", "away"));
    written += measurements[0]!.processed;
    return Promise.resolve();
  });
  for (let minute = 0; minute < 3; minute++) {
    counters.add("Hard", "succeeded", 7);
    await recorder.step();
  }
  isAway = false;
  counters.add("Hard", "succeeded", 7);
  await recorder.step();
  assertEquals(written, 1);
  assertEquals(log.said, [
    "warn Metrics of classes lost: not stored",
    "warn Metrics of classes are stored again",
  ]);
});

Deno.test("a stop that did not wait for the store logs that the last class metrics are lost", () => {
  const { counters, log, recorder } = recorderOn(() => new Promise(() => {}));
  recorder.abandon();
  assertEquals(log.said, [], "nothing was to be written");
  counters.add("Hard", "succeeded", 7);
  void recorder.step();
  recorder.abandon();
  assertEquals(log.said, ["warn Metrics of classes lost: not stored"]);
});
