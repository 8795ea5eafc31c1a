import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import { Tasks } from "../control/tasks.ts";
import { LoopShare } from "../work/loop_share.ts";
import type { ProcessorServices } from "../work/processor_services.ts";
import { Timeouts } from "../work/timeouts.ts";
import { InProcessRuns } from "./in_process_runs.ts";

/** Runs of a handler that ends when the test says so. */
function lab() {
  const clock = new FakeClock();
  const log = new KeptLog();
  const handler = Promise.withResolvers<void>();
  const settled: unknown[] = [];
  const services = {
    clock,
    log,
    tasks: new Tasks(clock),
    loopShare: new LoopShare(clock),
    settler: { add: (outcome: unknown) => settled.push(outcome) },
    registry: { get: () => ({ perform: () => handler.promise, timeoutMs: undefined, options: {} }) },
    timeouts: new Timeouts({ clock, log, killAfterMs: 5_000 }),
    unhandledErrors: { run: (_job: unknown, run: () => unknown) => run() },
    middleware: [],
    classCounters: { addWait: () => {}, add: () => {} },
    results: { succeeded: () => undefined, failed: () => undefined },
    retrier: { end: () => Promise.resolve({ kind: "discard" }) },
    worker: "host:1:a",
  } as unknown as ProcessorServices;
  const runs = new InProcessRuns(services);
  runs.start({ jid: "a", queue: "default", payload: `{"class":"Slow","args":[],"jid":"a"}` });
  return { clock, log, handler, runs, settled };
}

Deno.test("a job counts as running until it has ended, and settles nothing in the store", async () => {
  const { clock, handler, runs, settled } = lab();
  assertEquals([runs.isRunning("a"), runs.isRunning("b"), runs.isRunning(undefined)], [true, false, false]);
  handler.resolve();
  for (let turns = 0; turns < 3; turns++) await clock.turn();
  assertEquals([runs.isRunning("a"), settled], [false, []]);
});

Deno.test("a stop waits for a job until the deadline, aborts it, and waits 2 s more", async () => {
  const { clock, log, runs } = lab();
  const stopped = runs.stop(10_000, new AbortController().signal);
  await clock.advance(9_999);
  assertEquals(log.said.filter((line) => line !== "debug Start"), []);
  await clock.advance(1);
  await clock.advance(1_999);
  assertEquals(log.said.filter((line) => line !== "debug Start"), []);
  await clock.advance(1);
  await stopped;
  assertEquals(log.said.filter((line) => line !== "debug Start"), ["info Cut off at the shutdown timeout"]);
});

Deno.test("a stop ends with the last job, and leaves no timer", async () => {
  const { clock, handler, runs } = lab();
  const stopped = runs.stop(10_000, new AbortController().signal);
  await clock.untilSleeping();
  handler.resolve();
  await stopped;
  assertEquals(clock.sleeping, []);
});
