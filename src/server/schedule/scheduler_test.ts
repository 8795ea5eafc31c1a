import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import { StoreError } from "../../store/port/errors.ts";
import { Scheduler, type SchedulerOptions } from "./scheduler.ts";

Deno.test("the scheduler surveys the entries again right after a failed survey, and every 15 s otherwise", async () => {
  const clock = new FakeClock();
  let surveys = 0;
  let isDown = true;
  const cron = {
    survey: () => {
      surveys++;
      if (isDown) return Promise.reject(new StoreError("unavailable", "no store"));
      return Promise.resolve({ entries: [], now: clock.now(), latest: 0 });
    },
    claim: () => Promise.resolve({ entries: [], now: clock.now(), next: undefined }),
  };
  const scheduler = new Scheduler(
    { store: { cron }, clock, log: new KeptLog(), decider: {}, report: {} } as unknown as SchedulerOptions,
  );
  await assertRejects(() => scheduler.step(), StoreError, "no store");
  isDown = false;
  assertEquals([await scheduler.step(), surveys], [15_000, 2]);
  await clock.advance(14_999);
  assertEquals([await scheduler.step(), surveys], [1, 2]);
  await clock.advance(1);
  assertEquals([await scheduler.step(), surveys], [15_000, 3]);
});
