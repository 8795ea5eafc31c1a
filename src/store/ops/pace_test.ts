import { assertEquals } from "@std/assert";
import { TestClock } from "../../testing/test_clock.ts";
import { StoreError } from "../port/errors.ts";
import { MAX_PACE_MS, measurePace, type Pace, stallsIn } from "./pace.ts";

const MIN_MS = 5_000;

/** Measures a store whose n-th call replies after `replyMs(n)`, on a clock that passes in steps of 5 ms. */
async function measure(
  replyMs: (call: number, at: number) => number | StoreError,
  stepMs = 5,
): Promise<Pace & { stallsSeen: number; released: number }> {
  const clock = new TestClock(0);
  let [calls, stallsSeen, released] = [0, 0, 0];
  const workers = {
    claim: async (_name: string, _worker: string, ttlMs: number) => {
      if (ttlMs === 0) {
        released++;
        return undefined;
      }
      const reply = replyMs(calls++, clock.monotonic());
      if (reply instanceof StoreError) throw reply;
      await clock.sleep(reply);
      return undefined;
    },
    list: async () => {
      await clock.sleep(1);
      return [];
    },
  };
  let isDone = false;
  const pace = measurePace({ workers }, { clock, minMs: MIN_MS, onStall: () => stallsSeen++ }).finally(() =>
    isDone = true
  );
  while (!isDone) {
    await clock.turn();
    clock.pass(stepMs);
  }
  return { ...await pace, stallsSeen, released };
}

const about = (ms: number, expected: number) =>
  assertEquals(Math.abs(ms - expected) <= 250, true, `${ms} ~ ${expected}`);

Deno.test("measures a quick store for the shortest time, and removes what it wrote", async () => {
  const pace = await measure(() => 5);
  about(pace.measuredMs, MIN_MS);
  assertEquals([stallsIn(pace), pace.calls, pace.stallsSeen, pace.released], [[], "writes", 0, 1]);
});

Deno.test("finds stalls between quick replies, with their lengths, and ends after three", async () => {
  const pace = await measure((call) => call > 0 && call % 12 === 0 ? 700 + call * 10 : 5);
  assertEquals(stallsIn(pace).length, 3);
  about(stallsIn(pace)[0]!, 1_060);
  assertEquals(pace.stallsSeen, 3);
});

Deno.test("measures on after a slow reply, for 20 s at most", async () => {
  about((await measure((call) => call === 3 ? 300 : 5)).measuredMs, MAX_PACE_MS);
  about((await measure((call) => call === 3 ? 240 : 5)).measuredMs, MIN_MS);
  const late = await measure((_, at) => at > 8_000 && at < 8_200 ? 900 : at < 1_000 && at > 800 ? 400 : 5);
  about(stallsIn(late)[0]!, 900);
});

Deno.test("ends during a stall that is long enough to report", async () => {
  const pace = await measure((call) => call === 2 ? 60_000 : 5);
  about(stallsIn(pace)[0]!, 5_000);
  about(pace.measuredMs, 5_200);
});

Deno.test("doesn't count time in which its process is frozen", async () => {
  // Every look at the clock is 3 s late: the process hardly runs.
  assertEquals(stallsIn(await measure(() => 5, 3_000)), []);
});

Deno.test("reads if it may not write, and reports a write that failed", async () => {
  assertEquals((await measure(() => new StoreError("denied", "no"))).calls, "reads");
  const full = await measure((call) => call === 1 ? new StoreError("full", "disk is full") : 5);
  assertEquals([full.calls, full.failure?.message], ["writes", "disk is full"]);
});
