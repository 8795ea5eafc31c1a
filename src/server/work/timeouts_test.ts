import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import type { RunningJob } from "../../handlers/running_job.ts";
import { Timeouts } from "./timeouts.ts";

/** Runs a job with a timeout of one second until the test ends it. */
function running() {
  const clock = new FakeClock();
  const log = new KeptLog();
  const aborts: unknown[] = [];
  const job = {
    class: "Slow",
    jid: "a",
    queue: "default",
    abort: (reason: Error) => aborts.push(reason.name),
    finishSteps: () => Promise.resolve(),
    enabled: () => true,
  } as unknown as RunningJob;
  const work = Promise.withResolvers<string>();
  const timeouts = new Timeouts({ clock, log, killAfterMs: 5_000 });
  const result = timeouts.within(1_000, job, () => work.promise);
  return { clock, log, aborts, work, result, timeouts, job };
}

Deno.test("no timer of a timeout stays after a job that ends in time", async () => {
  const { clock, aborts, work, result } = running();
  await clock.advance(999);
  assertEquals([clock.sleeping, aborts], [[1], []]);
  work.resolve("done");
  assertEquals(await result, "done");
  await clock.turn();
  assertEquals(clock.sleeping, []);
  await clock.advance(1);
  assertEquals(aborts, []);
});

Deno.test("no timer stays after a job that ends within the grace period of its timeout", async () => {
  const { clock, log, aborts, work, result } = running();
  await clock.advance(1_000);
  assertEquals([aborts, clock.sleeping], [["Timeout"], [6_000]]);
  work.resolve("late");
  assertEquals([await result, clock.sleeping], ["late", []]);
  await clock.advance(6_000);
  assertEquals(log.said, []);
});

Deno.test("one timer serves all jobs, and aborts each at its time", async () => {
  const { clock, aborts, work, result, timeouts, job } = running();
  const ends = [3_000, 500, 1_000].map((ms) => timeouts.within(ms, job, () => work.promise));
  assertEquals(clock.sleeping, [500]);
  const counts: number[] = [];
  for (const ms of [499, 1, 499, 1, 1_999, 1]) {
    await clock.advance(ms);
    counts.push(aborts.length);
  }
  assertEquals(counts, [0, 1, 1, 3, 3, 4]);
  work.resolve("late");
  await Promise.all([result, ...ends]);
  await clock.turn();
  assertEquals(clock.sleeping, []);
});

Deno.test("the timer of jobs that end at once stays for the next ones, and goes with the last", async () => {
  const { clock, work, result, timeouts, job } = running();
  work.resolve("done");
  await result;
  for (let i = 0; i < 3; i++) await timeouts.within(2_000, job, () => "small");
  assertEquals(clock.sleeping, [1_000]);
  await clock.turn();
  assertEquals(clock.sleeping, []);
});
