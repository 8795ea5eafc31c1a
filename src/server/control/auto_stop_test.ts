import { assertEquals } from "@std/assert";
import type { Clock } from "../../clock.ts";
import { type Activity, AutoStop, type Limits } from "./auto_stop.ts";

function bench(limits: Partial<Limits>) {
  let now = 0;
  let activity: Activity = { unfinished: 0, taken: 0, queuesEmpty: false, exhausted: false };
  let queued: boolean | Error = false;
  let meanwhile: Partial<Activity> = {};
  const ends: string[] = [];
  const clock = { monotonic: () => now } as Clock;
  const autoStop = new AutoStop({
    clock,
    limits: { burst: false, maxJobs: undefined, maxIdleMs: undefined, ...limits },
    activity: () => activity,
    hasQueuedJobs: () => {
      activity = { ...activity, ...meanwhile };
      return queued instanceof Error ? Promise.reject(queued) : Promise.resolve(queued);
    },
    end: (why) => ends.push(why),
  });
  return {
    ends,
    /** @param during the activity that a job changes while the store is asked */
    async look(after: number, more: Partial<Activity>, work: boolean | Error = false, during: Partial<Activity> = {}) {
      now += after;
      queued = work;
      meanwhile = during;
      activity = { ...activity, ...more };
      await autoStop.step();
    },
  };
}

Deno.test("burst stops the worker when its queues are empty and no job is unfinished", async () => {
  const t = bench({ burst: true });
  await t.look(0, {});
  await t.look(0, { queuesEmpty: true, unfinished: 1 });
  assertEquals(t.ends, []);
  await t.look(0, { unfinished: 0 });
  assertEquals(t.ends, ["burst"]);
});

Deno.test("burst and max-idle wait for jobs that a limit delays or that were pushed a moment ago", async () => {
  for (const limits of [{ burst: true }, { maxIdleMs: 1_000 }]) {
    const t = bench(limits);
    await t.look(2_000, { queuesEmpty: true }, true);
    assertEquals(t.ends, []);
    await t.look(0, {});
    assertEquals(t.ends.length, 1);
  }
});

Deno.test("burst and max-idle don't stop the worker while the store doesn't reply whether jobs are queued", async () => {
  for (const limits of [{ burst: true }, { maxIdleMs: 1_000 }]) {
    const t = bench(limits);
    await t.look(2_000, { queuesEmpty: true }, new Error("unreachable"));
    assertEquals(t.ends, []);
    await t.look(0, {});
    assertEquals(t.ends.length, 1);
  }
});

Deno.test("burst and max-idle don't stop the worker after a job that was taken and has ended during the check", async () => {
  for (const limits of [{ burst: true }, { maxIdleMs: 1_000 }]) {
    const t = bench(limits);
    await t.look(2_000, { queuesEmpty: true }, false, { taken: 1 });
    assertEquals(t.ends, []);
    await t.look(0, {});
    assertEquals(t.ends.length, 1);
  }
});

Deno.test("max-jobs stops the worker when the last of its jobs is settled", async () => {
  const t = bench({ maxJobs: 5 });
  await t.look(0, { exhausted: true, unfinished: 2 });
  assertEquals(t.ends, []);
  await t.look(0, { unfinished: 0 });
  assertEquals(t.ends, ["max-jobs"]);
});

Deno.test("max-idle counts from the end of the last job", async () => {
  const t = bench({ maxIdleMs: 1_000 });
  await t.look(900, { queuesEmpty: true });
  await t.look(900, { unfinished: 1 });
  await t.look(900, { unfinished: 0 });
  assertEquals(t.ends, []);
  await t.look(100, {});
  assertEquals(t.ends, ["max-idle"]);
});
