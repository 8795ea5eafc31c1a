import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { someQueue, someStats } from "../../../tests/support/snapshot.ts";
import type { Stats } from "../../store/admin/admin.ts";
import type { QueueSample } from "../../store/port/queue_samples.ts";
import { StoreError } from "../../store/port/errors.ts";
import { logger } from "../../log/log.ts";
import { LiveStats } from "./live_stats.ts";

Deno.test("records depth and latency of each queue once a minute", async () => {
  const clock = new FakeClock(60_000 * 1_000);
  const recorded: (readonly QueueSample[])[] = [];
  let size = 0;
  const queues = () => [
    { name: "*", size: 0, latencyMs: 0, paused: true },
    { name: "mail", size: ++size, latencyMs: 250, paused: false },
  ];
  const stats = () =>
    ({
      processed: 0,
      failed: 0,
      enqueued: 0,
      scheduled: 0,
      retry: 0,
      dead: 0,
      running: 0,
      workers: 0,
      waits: { sleep: 0, wait: 0, child: 0 },
      queues: queues(),
    }) satisfies Stats;
  const store = {
    admin: { stats: () => Promise.resolve(stats()) },
    series: {
      add: (_: string, samples: readonly unknown[]) => {
        recorded.push(samples as readonly QueueSample[]);
        return Promise.resolve();
      },
    },
  };
  const live = new LiveStats(store, clock, logger("web", clock), { follow: () => () => {} });
  await live.step();
  clock.advance(59_000);
  await live.step();
  clock.advance(1_000);
  await live.step();
  assertEquals(recorded.map((samples) => samples.map(({ queue, size, latencyMs }) => [queue, size, latencyMs])), [
    [["mail", 1, 250]],
    [["mail", 3, 250]],
  ]);
});

Deno.test("states since when it can't write, until it can again", async () => {
  const clock = new FakeClock(60_000 * 1_000);
  let failure: StoreError | undefined = new StoreError("full", "No space");
  const store = {
    admin: { stats: () => Promise.resolve(someStats({ queues: [someQueue("mail")] })) },
    series: { add: () => failure === undefined ? Promise.resolve() : Promise.reject(failure) },
  };
  const live = new LiveStats(store, clock, logger("web", clock), { follow: () => () => {} });
  await assertRejects(() => live.step(), StoreError);
  clock.advance(2_000);
  await live.step();
  assertEquals([live.failed?.error.code, live.failed?.since], ["full", clock.now() - 2_000]);
  failure = undefined;
  await live.step();
  assertEquals(live.failed, undefined);
});
