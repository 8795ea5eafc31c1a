import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { StopNotice } from "../../handlers/stop_notice.ts";
import type { InProcessRuns } from "../schedule/in_process_runs.ts";
import { type Loop, ShutdownBudget } from "../component.ts";
import type { Fetcher } from "./fetcher.ts";
import type { Manager } from "./manager.ts";
import type { Settler } from "./settler.ts";
import { Work } from "./work.ts";

/** A worker whose last take ends when the test says so. */
function lab() {
  const said: string[] = [];
  const takes: PromiseWithResolvers<void>[] = [];
  const say = (what: string) => () => void said.push(what);
  const clock = new FakeClock();
  const stopNotice = new StopNotice();
  let ending = 0;
  const loop = {
    start: () => void said.push(ending > 0 ? "take while a take ends" : "take"),
    stop: () => {
      const take = Promise.withResolvers<void>();
      takes.push(take);
      ending++;
      void take.promise.then(() => ending--);
      return take.promise;
    },
  };
  const fetcher = { goQuiet: say("quiet"), resume: say("resume"), returnUnanswered: () => Promise.resolve() };
  const work = new Work({
    stopNotice,
    manager: { start: say("start"), stop: () => Promise.resolve(say("stop")()) } as unknown as Manager,
    fetcher: fetcher as unknown as Fetcher,
    settler: { flush: () => Promise.resolve(), abandon: say("abandon") } as unknown as Settler,
    inProcessRuns: { stop: () => Promise.resolve() } as unknown as InProcessRuns,
    taking: [loop as unknown as Loop],
    clock,
    timeoutMs: () => 1_000,
    cold: new AbortController().signal,
    onQuiet: say("is quiet"),
  });
  work.start();
  return { work, said, takes, clock, stopNotice };
}

Deno.test("quiet notifies running jobs and ends the last take; resume takes again, for jobs that are not notified", async () => {
  const { work, said, takes, stopNotice } = lab();
  const first = stopNotice.signal;
  const quieted = work.quiet();
  assertEquals([work.quietSince !== undefined, first.aborted], [true, true]);
  takes[0]!.resolve();
  await quieted;
  await work.quiet();
  assertEquals(said, ["start", "take", "quiet", "is quiet"]);
  await work.resume();
  assertEquals([work.quietSince !== undefined, stopNotice.signal.aborted, first.aborted], [false, false, true]);
  assertEquals(said.slice(4), ["resume", "take"]);
  await work.resume();
  assertEquals(said.slice(6), []);
});

Deno.test("of several requests while the last take ends, the last one counts", async () => {
  for (const [requests, isQuiet] of [["qrq", true], ["qrqr", false], ["qrr", false], ["qqr", false]] as const) {
    const { work, said, takes } = lab();
    const replies = [...requests].map((one) => one === "q" ? work.quiet() : work.resume());
    takes[0]!.resolve();
    // A request that comes too late ends the loops once more.
    for (let turns = 0; turns < 5; turns++) {
      for (const { resolve } of takes) resolve();
      await Promise.race([Promise.all(replies), new FakeClock().turn()]);
    }
    await Promise.all(replies);
    assertEquals(work.quietSince !== undefined, isQuiet, requests);
    assertEquals(said.filter((one) => one === "take").length, isQuiet ? 1 : 2, requests);
  }
});

Deno.test("after a stop has begun, resume does nothing", async () => {
  const { work, said, takes, clock } = lab();
  const stopped = work.stop(new ShutdownBudget(clock));
  assertEquals([work.quietSince !== undefined, work.isStopping], [true, true]);
  const resumed = work.resume();
  takes[0]!.resolve();
  await stopped;
  await resumed;
  assertEquals(work.quietSince !== undefined, true);
  assertEquals(said, ["start", "take", "quiet", "stop", "is quiet"]);
});
