import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import type { Outcome } from "../../store/port/outcomes.ts";
import { Cancelled, LeaseLost, Shutdown } from "../../job/errors.ts";
import { Tasks } from "../control/tasks.ts";
import type { LeaseBuffer } from "./lease_buffer.ts";
import { LoopShare } from "./loop_share.ts";
import { Processor } from "./processor.ts";
import type { ProcessorServices } from "./processor_services.ts";
import { Timeouts } from "./timeouts.ts";

Deno.test("a processor performs the next job after an error of the worker's own code, and settles the job as failed", async () => {
  const clock = new FakeClock();
  const log = new KeptLog();
  const outcomes: Outcome[] = [];
  const leases = ["a", "b"].map((jid) => ({
    token: jid,
    queue: "default",
    payload: `{"class":"Broken","args":[],"jid":"${jid}","batch":"b","batch_counted":"pending"}`,
  }));
  const buffer = {
    wait: () => Promise.resolve(leases.shift()),
    begin: () => true,
    ended: () => {},
    next: () => undefined,
  };
  const broken = () => {
    throw new TypeError("a bug");
  };
  const services = {
    clock,
    log,
    tasks: new Tasks(clock),
    loopShare: new LoopShare(clock),
    buffer: buffer as unknown as LeaseBuffer,
    settler: { add: (outcome: Outcome) => outcomes.push(outcome) },
    registry: { get: broken },
    middleware: [],
    classCounters: { addWait: () => {}, add: () => {} },
    results: { failed: broken },
    retrier: {
      end: ({ jid }: { jid: string }) =>
        jid === "a" ? Promise.resolve({ kind: "discard" }) : Promise.reject(new TypeError("another bug")),
    },
    worker: "host:1:a",
  } as unknown as ProcessorServices;
  const processor = new Processor(1, services);
  processor.start();
  await processor.stop();
  // The job leaves its batch, too: that would wait for it otherwise.
  assertEquals(outcomes.map(({ kind, token, batch }) => [kind, token, batch?.to]), [
    ["discard", "a", "failed"],
    ["bury", "b", "dead"],
  ]);
  assertEquals(processor.attempt, undefined);
  const [line] = log.lines.filter(({ message }) => message.startsWith("Worker failed to settle a job"));
  assertEquals([line!.fields["class"], line!.fields["jid"]], ["Broken", "a"]);
});

Deno.test("no timer stays after a cancelled job that ends within its grace period, and it isn't reported as ignoring its signal", async () => {
  const clock = new FakeClock();
  const log = new KeptLog();
  const outcomes: Outcome[] = [];
  const handler = Promise.withResolvers<string>();
  const services = {
    clock,
    log,
    tasks: new Tasks(clock),
    loopShare: new LoopShare(clock),
    settler: { add: (outcome: Outcome) => outcomes.push(outcome) },
    registry: { get: () => ({ perform: () => handler.promise, timeoutMs: undefined, options: {} }) },
    timeouts: new Timeouts({ clock, log, killAfterMs: 5_000 }),
    unhandledErrors: { run: (_job: unknown, run: () => unknown) => run() },
    middleware: [],
    classCounters: { addWait: () => {}, add: () => {} },
    results: { failed: () => undefined },
    retrier: { end: () => Promise.resolve({ kind: "ack", as: "cancelled" }) },
    worker: "host:1:a",
  } as unknown as ProcessorServices;
  const processor = new Processor(1, services);
  const working = processor.step({ token: "t", queue: "default", payload: `{"class":"Slow","args":[],"jid":"a"}` });
  processor.abort(new Cancelled());
  assertEquals([processor.attempt?.job.abortedBy instanceof Cancelled, clock.sleeping], [true, [6_000]]);
  await clock.advance(1_000);
  handler.resolve("late");
  await working;
  assertEquals([outcomes.length, clock.sleeping], [1, []]);
  await clock.advance(5_000);
  assertEquals(log.said, ["debug Start"]);
});

Deno.test("an outcome after a lost lease doesn't count, whether a heartbeat or a step has noticed it", async () => {
  const notices: Readonly<Record<string, (processor: Processor) => void>> = {
    heartbeat: (processor) => processor.lose(new LeaseLost()),
    // A handler that succeeds after the shutdown timeout has succeeded, unless the lease is lost.
    "heartbeat during a stop": (processor) => {
      processor.abort(new Shutdown("The worker stops"));
      processor.lose(new LeaseLost());
    },
    step: (processor) => processor.abort(new LeaseLost()),
  };
  for (const [by, notice] of Object.entries(notices)) {
    for (const ends of ["succeeds", "fails", "stops"]) {
      const clock = new FakeClock();
      const log = new KeptLog();
      const outcomes: Outcome[] = [];
      const counted: string[] = [];
      const handler = Promise.withResolvers<void>();
      const services = {
        clock,
        log,
        tasks: new Tasks(clock),
        loopShare: new LoopShare(clock),
        settler: { add: (outcome: Outcome) => outcomes.push(outcome) },
        registry: { get: () => ({ perform: () => handler.promise, timeoutMs: undefined, options: {} }) },
        timeouts: new Timeouts({ clock, log, killAfterMs: 5_000 }),
        unhandledErrors: { run: (_job: unknown, run: () => unknown) => run() },
        middleware: [],
        classCounters: { addWait: () => {}, add: (name: string) => counted.push(name) },
        results: { succeeded: () => undefined, failed: () => undefined },
        retrier: {
          end: ({ jid }: { jid: string }) =>
            jid === "a" ? Promise.resolve({ kind: "discard" }) : Promise.reject(new TypeError("another bug")),
        },
        worker: "host:1:a",
      } as unknown as ProcessorServices;
      const processor = new Processor(1, services);
      const working = processor.step({ token: "t", queue: "default", payload: `{"class":"Slow","args":[],"jid":"a"}` });
      notice(processor);
      if (ends === "succeeds") handler.resolve();
      // A handler that throws the reason of its signal; and each one whose program was killed.
      else handler.reject(ends === "stops" ? new LeaseLost() : new Error("down"));
      await working;
      assertEquals([outcomes, counted], [[], []], `${by}, ${ends}`);
      const message = ends === "stops"
        ? "info Stopped after losing its lease: the job runs again"
        : "info Finished after losing its lease: result ignored, the job runs again";
      assertEquals(log.said, ["debug Start", message], `${by}, ${ends}`);
    }
  }
});
