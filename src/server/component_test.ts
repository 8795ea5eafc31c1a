import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/clock.ts";
import { KeptLog } from "../../tests/support/log.ts";
import { StoreError } from "../store/port/errors.ts";
import { Loop, type LoopBody, ShutdownBudget } from "./component.ts";
import { Tasks } from "./control/tasks.ts";
import { OutageLog } from "./outage_log.ts";

/** A loop over `step` that rests on the clock, and what it is watched by. */
function loopOver(step: (count: number) => unknown, restMs = 1_000, outage = new OutageLog()) {
  const clock = new FakeClock();
  const tasks = new Tasks(clock);
  const log = new KeptLog();
  const done: string[] = [];
  let count = 0;
  const body: LoopBody<number> = {
    name: "poller",
    async step() {
      done.push("step");
      await step(++count);
      return count;
    },
    async rest(result, signal) {
      done.push(`rest ${result}`);
      await clock.sleep(restMs, signal);
    },
  };
  const loop = new Loop(body, { clock, tasks, log, outage });
  const states = () => tasks.list().map(({ label, state }) => `${label} ${state}`);
  return { loop, clock, tasks, log, done, states };
}

Deno.test("a loop alternates between step and rest until it is stopped", async () => {
  const { loop, clock, done, states } = loopOver(() => {});
  loop.start();
  await clock.untilSleeping();
  assertEquals(done, ["step", "rest 1"]);
  assertEquals(states(), ["poller waiting"]);
  await clock.advance(2_000);
  assertEquals(done, ["step", "rest 1", "step", "rest 2", "step", "rest 3"]);
  await loop.stop();
  assertEquals(done.length, 6);
  assertEquals(states(), []);
  assertEquals(clock.sleeping, []);
});

Deno.test("stopping a loop lets the current step finish, and skips the rest", async () => {
  const step = Promise.withResolvers<void>();
  const { loop, clock, done, states } = loopOver(() => step.promise);
  loop.start();
  let stopped = false;
  const stop = loop.stop().then(() => stopped = true);
  await clock.turn();
  assertEquals([stopped, states()], [false, ["poller working"]]);
  step.resolve();
  await stop;
  assertEquals(done, ["step"]);
  assertEquals(states(), []);
});

Deno.test("a loop can be stopped twice, stopped before it was started, and started again", async () => {
  const { loop, clock, done, states } = loopOver(() => {});
  await loop.stop();
  await loop.stop();
  loop.start();
  loop.start();
  await clock.untilSleeping();
  assertEquals([done, states()], [["step", "rest 1"], ["poller waiting"]]);
  await loop.stop();
  await loop.stop();
  loop.start();
  await clock.untilSleeping();
  assertEquals(done, ["step", "rest 1", "step", "rest 2"]);
  await loop.stop();
});

Deno.test("a loop logs a failed step, backs off longer each time, and logs its recovery", async () => {
  const failing = new TypeError("bad");
  const { loop, clock, done, log, states } = loopOver((count) => {
    if (count <= 8) throw failing;
  });
  loop.start();
  for (let failures = 1; failures <= 8; failures++) {
    await clock.untilSleeping();
    const expected = Math.min(5_000, 250 * 2 ** (failures - 1));
    const [left] = clock.sleeping;
    assert(left! >= expected * 0.5 && left! <= expected * 1.5 + 1, `${left} after ${failures} failures`);
    assertEquals(states(), ["poller backing-off"]);
    assertEquals(log.lines.at(-1), {
      level: "error",
      message: "Failed, retrying",
      fields: { error: failing, stack: failing.stack },
    });
    await clock.advance(left!);
  }
  assertEquals(done.slice(-2), ["step", "rest 9"]);
  assertEquals(log.lines.length, 9);
  assertEquals(log.lines.at(-1), { level: "warn", message: "Working again", fields: { failures: 8 } });
  await loop.stop();
});

Deno.test("the backoff of a loop starts over after a success", async () => {
  const { loop, clock } = loopOver((count) => {
    if (count !== 4) throw new Error("bad");
  });
  loop.start();
  const waits: number[] = [];
  for (let i = 0; i < 5; i++) {
    await clock.untilSleeping();
    waits.push(clock.sleeping[0]!);
    await clock.advance(clock.sleeping[0]!);
  }
  await loop.stop();
  assert(waits[2]! >= 500 && waits[3] === 1_000 && waits[4]! <= 376, waits.join(" "));
});

Deno.test("a loop logs an unreachable store once, with its message", async () => {
  const { loop, clock, log } = loopOver((count) => {
    if (count <= 3) throw new StoreError("unavailable", "Redis cannot be reached");
  });
  loop.start();
  for (let i = 0; i < 3; i++) {
    await clock.untilSleeping();
    await clock.advance(clock.sleeping[0]!);
  }
  assertEquals(log.lines, [
    { level: "warn", message: "Store failed, retrying", fields: { error: "Redis cannot be reached" } },
    { level: "warn", message: "Working again", fields: { failures: 3 } },
  ]);
  await loop.stop();
});

Deno.test("a loop survives errors of any type, also at rest, and can be stopped while it backs off", async () => {
  const { loop, clock, log, states } = loopOver(() => Promise.reject(null));
  loop.start();
  await clock.untilSleeping();
  assertEquals(log.said, ["error Failed, retrying"]);
  await loop.stop();
  assertEquals([states(), clock.sleeping], [[], []]);

  const atRest = loopOver(() => {});
  const resting = new Loop({
    name: "poller",
    step: () => Promise.resolve(),
    rest: () => Promise.reject(new Error("bad")),
  }, { clock: atRest.clock, tasks: atRest.tasks, log: atRest.log });
  resting.start();
  await atRest.clock.untilSleeping();
  assertEquals(atRest.log.said, ["error Failed, retrying"]);
  await resting.stop();
});

Deno.test("a loop that keeps failing while heartbeats reach the store warns once a minute, with the reason", async () => {
  const outage = new OutageLog("redis://127.0.0.1:6379/0");
  let isFixed = false;
  const { loop, clock, log } = loopOver(
    () => {
      if (!isFixed) throw new StoreError("unavailable", "Redis cannot be reached: it closed the connection");
    },
    1_000,
    outage,
  );
  const warnings = () => log.lines.filter(({ level }) => level === "warn").map(({ message }) => message);
  loop.start();
  // An outage: its connection logs it.
  for (let s = 0; s < 30; s++) await clock.advance(1_000);
  assertEquals(warnings(), []);
  // The outage ends during an attempt of the loop: the heartbeat gets through first.
  outage.beat();
  outage.beat();
  for (let s = 0; s < 30; s++) await clock.advance(1_000);
  assertEquals(warnings(), []);
  // The heartbeat still gets through, and the loop doesn't.
  outage.beat();
  outage.beat();
  for (let s = 0; s < 55; s++) await clock.advance(1_000);
  assertEquals(warnings(), ["Keeps failing while heartbeats reach the store"]);
  const { failures, error } = log.lines.find(({ level }) => level === "warn")!.fields as Record<string, unknown>;
  assert(Number(failures) >= 3);
  assertEquals(error, "Redis cannot be reached: it closed the connection");
  for (let s = 0; s < 65; s++) await clock.advance(1_000);
  assertEquals(warnings().length, 2);
  isFixed = true;
  for (let s = 0; s < 10; s++) await clock.advance(1_000);
  assertEquals(warnings().at(-1), "Working again");
  await loop.stop();
});

Deno.test("a loop does what is left to do when it ends, and abandons it when the shutdown budget is used up", async () => {
  const clock = new FakeClock();
  const done: string[] = [];
  const loopThat = (end: () => Promise<void>) => {
    const body: LoopBody<void> & { abandon(): void } = {
      name: "metrics-recorder",
      step: () => Promise.resolve(),
      rest: () => Promise.resolve(),
      end,
      abandon: () => done.push("abandon"),
    };
    return new Loop(body, { clock, tasks: new Tasks(clock), log: new KeptLog() });
  };
  await loopThat(() => Promise.resolve(void done.push("end"))).stop(new ShutdownBudget(clock, 5_000));
  assertEquals(done, ["end"]);
  const stopped = loopThat(() => new Promise(() => {})).stop(new ShutdownBudget(clock, 5_000));
  await clock.turn();
  await clock.advance(5_000);
  await stopped;
  assertEquals(done, ["end", "abandon"]);
});
