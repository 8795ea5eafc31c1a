import { assertEquals } from "@std/assert";
import type { Clock } from "../../clock.ts";
import { type Activity, AutoStop, type Limits } from "./auto_stop.ts";

function bench(limits: Partial<Limits>) {
  let now = 0;
  let activity: Activity = { underWay: 0, queuesEmpty: false, exhausted: false };
  let queued = false;
  const ends: string[] = [];
  const clock = { monotonic: () => now } as Clock;
  const bounds = new AutoStop({
    clock,
    limits: { burst: false, maxJobs: undefined, maxIdleMs: undefined, ...limits },
    activity: () => activity,
    hasQueuedJobs: () => Promise.resolve(queued),
    end: (why) => ends.push(why),
  });
  return {
    ends,
    async look(after: number, more: Partial<Activity>, work = false) {
      now += after;
      queued = work;
      activity = { ...activity, ...more };
      await bounds.step();
    },
  };
}

Deno.test("burst ends when the queues are empty and nothing is under way, not before", async () => {
  const t = bench({ burst: true });
  await t.look(0, {});
  await t.look(0, { queuesEmpty: true, underWay: 1 });
  assertEquals(t.ends, []);
  await t.look(0, { underWay: 0 });
  assertEquals(t.ends, ["burst"]);
});

Deno.test("burst and max-idle do not end while the store has jobs: delayed by a limit, or pushed a moment ago", async () => {
  for (const limits of [{ burst: true }, { maxIdleMs: 1_000 }]) {
    const t = bench(limits);
    await t.look(2_000, { queuesEmpty: true }, true);
    assertEquals(t.ends, []);
    await t.look(0, {});
    assertEquals(t.ends.length, 1);
  }
});

Deno.test("max-jobs ends when the last of them is settled", async () => {
  const t = bench({ maxJobs: 5 });
  await t.look(0, { exhausted: true, underWay: 2 });
  assertEquals(t.ends, []);
  await t.look(0, { underWay: 0 });
  assertEquals(t.ends, ["max-jobs"]);
});

Deno.test("max-idle counts from the end of the last job", async () => {
  const t = bench({ maxIdleMs: 1_000 });
  await t.look(900, { queuesEmpty: true });
  await t.look(900, { underWay: 1 });
  await t.look(900, { underWay: 0 });
  assertEquals(t.ends, []);
  await t.look(100, {});
  assertEquals(t.ends, ["max-idle"]);
});
