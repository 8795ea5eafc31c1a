import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import { StoreError } from "../../store/port/errors.ts";
import type { CronReading } from "../../store/port/cron.ts";
import { Scheduler, type SchedulerOptions } from "./scheduler.ts";

Deno.test("the scheduler reads all entries again right after a failed reading, and every 15 s otherwise", async () => {
  const clock = new FakeClock();
  let readings = 0;
  let isDown = true;
  const cron = {
    read: (): Promise<CronReading> => {
      readings++;
      if (isDown) return Promise.reject(new StoreError("unavailable", "no store"));
      return Promise.resolve({ entries: [], now: clock.now() } as unknown as CronReading);
    },
  };
  const scheduler = new Scheduler(
    { store: { cron }, clock, log: new KeptLog(), decider: {}, report: {} } as unknown as SchedulerOptions,
  );
  await assertRejects(() => scheduler.step(), StoreError, "no store");
  isDown = false;
  assertEquals([await scheduler.step(), readings], [15_000, 2]);
  await clock.advance(14_999);
  assertEquals([await scheduler.step(), readings], [1, 2]);
  await clock.advance(1);
  assertEquals([await scheduler.step(), readings], [15_000, 3]);
});
