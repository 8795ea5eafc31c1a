import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../tests/support/clock.ts";
import { type Clock, systemClock } from "../clock.ts";
import { Discard } from "../job/errors.ts";
import { parsePayload } from "../job/job.ts";
import { MAX_STEPS, readStep } from "../job/step.ts";
import type { JobContext } from "../handlers/context.ts";
import { RunningJob } from "../handlers/running_job.ts";
import { StoreError } from "../store/port/errors.ts";
import type { StoredStep } from "../store/port/steps.ts";
import { testJob } from "../testing/test_job.ts";
import { StepRunner } from "./runner.ts";
import type { StepOutage } from "./services.ts";

/** Returns the error of the last attempt as text. */
function errorOf({ error }: { error: unknown }): string {
  return `${(error as Error).name}: ${(error as Error).message}`;
}

/** Returns a running job. */
function runningJob(): RunningJob {
  const job = parsePayload(`{"class":"Test","args":[],"jid":"j","queue":"default","has_steps":true}`)!;
  return new RunningJob(job, "default", {} as never);
}

/** Returns the runner of a job, which writes its steps with `remember`. */
function runnerOn(
  remember: (step: StoredStep) => string | undefined | Promise<string>,
  outage?: StepOutage,
  stored: readonly StoredStep[] = [],
  job = runningJob(),
  clock: Clock = systemClock,
): StepRunner {
  return new StepRunner(job, {
    clock,
    build: () => Promise.resolve(undefined),
    ...(outage !== undefined && { outage }),
    steps: {
      read: () => Promise.resolve([...stored]),
      remember: async (step) => await remember(step),
      wait: () => Promise.resolve(undefined),
    },
  });
}

Deno.test("a step that a failing store rejects is written again, and the outage is reported once", async () => {
  const reported: unknown[] = [];
  const failing = new StoreError("full", "No space left");
  let failures = 2;
  const remember = ({ record }: StoredStep) => {
    if (failures-- > 0) throw failing;
    return record;
  };
  const runner = runnerOn(remember, {
    begin: (error) => reported.push(error),
    end: (hasReplied) => reported.push(hasReplied),
  });
  assertEquals(await runner.step("charge", () => 1), 1);
  assertEquals(reported, [failing, true]);
});

Deno.test("a step that the store rejects because the lease is lost aborts the job, also in an isolated process", async () => {
  const writes: ((runner: StepRunner) => Promise<unknown>)[] = [
    (runner) => runner.step("charge", () => 1),
    (runner) => runner.sleep("nap", "1h"),
    (runner) => runner.relay.remember({ name: "charge", record: "{}" }),
    (runner) => runner.relay.wait({ name: "nap", about: "", forMs: 1 }),
  ];
  for (const write of writes) {
    const job = runningJob();
    const runner = runnerOn(() => undefined, undefined, [], job);
    // A handler may catch the error.
    await write(runner).catch(() => {});
    assertEquals((job.abortedBy as Error | undefined)?.name, "LeaseLost", String(write));
  }
});

Deno.test("each step begins later than those before it, also if the clock stands still or is set back", async () => {
  const names = ["one", "two", "three"];
  const test = testJob(
    async (ctx: JobContext) => {
      for (const name of names) await ctx.step(name, () => name);
      await ctx.sleep("nap", "1h");
      await ctx.step("last", () => 1);
    },
    [],
    { now: new Date(1_800_000_000_000) },
  );
  assertEquals(await test.run(), "asleep");
  assertEquals(test.steps.slice(0, 3).map(({ since }) => since), [
    1_800_000_000_000,
    1_800_000_000_000.001,
    1_800_000_000_000.002,
  ]);
  assert(test.steps.slice(0, 3).every(({ since, ended }) => since <= ended!));

  const sinces: number[] = [];
  const runner = runnerOn(
    ({ name, record }) => {
      sinces.push(readStep(name, record).since);
      return record;
    },
    undefined,
    [{ name: "future", record: `{"state":"succeeded","since":${2 ** 42},"ended":${2 ** 42},"kind":"step"}` }],
  );
  await runner.step("now", () => 1);
  assertEquals(sinces, [2 ** 42 + 0.001]);
});

Deno.test("a step that is done does not run again, and returns the same value in the next attempt", async () => {
  const values: unknown[] = [];
  let fails = true;
  const test = testJob(async (ctx: JobContext) => {
    values.push(await ctx.step("random", () => ({ id: crypto.randomUUID(), big: 12345678901234567890n })));
    if (fails) throw new Error("not yet");
    return "well";
  }, []);
  assertEquals(await test.run(), "failed");
  fails = false;
  assertEquals(await test.retry(), "succeeded");
  assertEquals(test.ran, ["random"]);
  assertEquals(values[0], values[1]);
});

Deno.test("the result of a step is stored before the code after it runs", async () => {
  const stored: unknown[] = [];
  const test = testJob(async (ctx: JobContext) => {
    await ctx.step("random", () => crypto.randomUUID());
    stored.push(...test.steps.map(({ name, state }) => [name, state]));
  }, []);
  await test.run();
  assertEquals(stored, [["random", "succeeded"]]);
});

Deno.test("a step that another attempt has stored returns the stored value", async () => {
  const record = `{"state":"succeeded","since":1,"ended":2,"kind":"step","attempts":1,"value":"first"}`;
  // The job's payload isn't marked, so that this attempt hasn't read the step.
  const runner = runnerOn(() => record);
  assertEquals(await runner.step("charge", () => "second"), "first");
});

Deno.test("a step that ends after the outcome of its attempt is decided is not written", async () => {
  const written: string[] = [];
  const runner = runnerOn(({ name, record }) => {
    written.push(name);
    return record;
  });
  const { promise, resolve } = Promise.withResolvers<number>();
  const step = runner.step("slow", () => promise);
  assertEquals(runner.hasWritten, false);
  runner.close();
  resolve(1);
  await assertRejects(() => step, Error, "This attempt has ended, and its steps are not stored");
  assertEquals(written, []);
});

Deno.test("a step without a result that took longer than 100 ms is stored before the code after it runs", async () => {
  for (const [ms, isAwaited] of [[100, false], [101, true]] as const) {
    const clock = new FakeClock();
    const names: string[] = [];
    const runner = runnerOn(({ name, record }) => (names.push(name), record), undefined, [], runningJob(), clock);
    await runner.step("slow", async () => await clock.advance(ms));
    assertEquals(names.length, isAwaited ? 1 : 0, `${ms} ms`);
    await runner.store();
    assertEquals(names, ["slow"]);
  }
});

Deno.test("an iteration that fails at its first item writes no cursor", async () => {
  const names: string[] = [];
  const runner = runnerOn(({ name, record }) => (names.push(name), record));
  const fails = () => {
    throw new Error("no");
  };
  await assertRejects(() => runner.each("rows", () => [1], fails), Error, "no");
  assertEquals(names, []);
});

Deno.test("a step without a result is stored before the next one runs", async () => {
  const stored: unknown[] = [];
  const test = testJob(async (ctx: JobContext) => {
    await ctx.step("mail", () => {});
    await ctx.step("next", () => void stored.push(...test.steps.map(({ name, state }) => [name, state])));
  }, []);
  await test.run();
  assertEquals(stored, [["mail", "succeeded"]]);
});

Deno.test("a step doesn't run while a result before it is being stored", async () => {
  const clock = new FakeClock();
  const { promise, resolve } = Promise.withResolvers<string>();
  const records: string[] = [];
  const remember = ({ record }: StoredStep) => (records.push(record), promise);
  const runner = runnerOn(remember, undefined, [], runningJob(), clock);
  await runner.step("mail", () => {});
  while (records.length === 0) await clock.turn();
  let hasRun = false;
  const next = runner.step("next", () => void (hasRun = true));
  for (let turns = 0; turns < 3; turns++) await clock.turn();
  assertEquals(hasRun, false);
  resolve(records[0]!);
  await next;
  assertEquals(hasRun, true);
});

Deno.test("a step returns its stored value: undefined for no value, JSON for everything else", async () => {
  const test = testJob(async (ctx: JobContext) => [
    await ctx.step("nothing", () => {}),
    await ctx.step("null", () => null),
    await ctx.step("list", () => Promise.resolve([1, "a"])),
  ], []);
  await test.run();
  assertEquals(test.result, [undefined, null, [1, "a"]]);
});

Deno.test("a result that JSON would change fails the step, with its name and path", async () => {
  const test = testJob((ctx: JobContext) => ctx.step("load", () => ({ at: new Date(0) })), []);
  assertEquals(await test.run(), "failed");
  assertMatch(
    errorOf(test),
    /^StepError: The result of step "load"\.at is a Date "1970-01-01T00:00:00.000Z"; expected a /,
  );
});

Deno.test("a result that is too large is an error and is not truncated", async () => {
  const test = testJob((ctx: JobContext) => ctx.step("load", () => "x".repeat(1024 * 1024)), []);
  await test.run();
  assertMatch(errorOf(test), /^StepError: The result of step "load" has 1048578 characters of JSON; at most 1048576/);
});

Deno.test("the steps of a job have at most 16 MiB together; the one beyond is an error, and the others stay", async () => {
  const test = testJob(async (ctx: JobContext) => {
    for (let i = 0; i < 20; i++) await ctx.step("big", () => "x".repeat(1_000_000), { each: i });
  }, []);
  await test.run();
  assertMatch(errorOf(test), /^StepError: The steps of this job have more than 16777216 characters with step "big 16"/);
  assertEquals(test.steps.length, 16);
  assertEquals(
    test.steps.every(({ state, value }) => state === "succeeded" && String(value).length === 1_000_000),
    true,
  );
});

Deno.test("a cursor that is stored again and again counts once towards the size of the steps", async () => {
  const runner = runnerOn(({ record }) => record);
  const cursor = "x".repeat(1_000_000);
  for (let i = 0; i < 18; i++) await runner.storeCursor("rows", cursor);
});

Deno.test("a signal whose data is too large, or not JSON, is an error", async () => {
  const test = testJob((ctx: JobContext) => ctx.waitFor("answer", { key: "k", timeout: "1h" }), []);
  await test.run();
  await assertRejects(() => test.signal("k", "x".repeat(1024 * 1024)), Error, "1048576");
  await assertRejects(() => test.signal("k", { at: new Date(0) }), Error, "at");
  assertEquals(test.state, "asleep");
});

Deno.test("a job has at most a thousand steps", async () => {
  const test = testJob(async (ctx: JobContext) => {
    for (let i = 0; i <= MAX_STEPS; i++) await ctx.step("one", () => i, { each: i });
  }, []);
  await test.run();
  assertMatch(errorOf(test), /^StepError: Step "one 1000" is the job's step number 1001; at most 1000: use each\(\)/);
  assertEquals(test.ran.length, MAX_STEPS);
});

Deno.test("a name that is used twice in one attempt is an error with the remedy", async () => {
  const test = testJob(async (ctx: JobContext) => {
    await ctx.step("ship", () => 1);
    await ctx.step("ship", () => 2);
  }, []);
  await test.run();
  assertEquals(
    errorOf(test),
    'StepError: Step name "ship" is used twice in one run; in a loop, tell the steps apart with { each: id }',
  );
});

Deno.test("a step within a step is an error", async () => {
  const test = testJob((ctx: JobContext) => ctx.step("outer", () => ctx.step("inner", () => 1)), []);
  await test.run();
  assertStringIncludes(errorOf(test), 'Step "inner" begins inside of step "outer"');
});

Deno.test("a step that throws fails the attempt with its error, adds its name to the message, and counts", async () => {
  const attempts: number[] = [];
  const test = testJob((ctx: JobContext) =>
    ctx.step("charge", ({ attempt }) => {
      attempts.push(attempt);
      if (attempt < 3) throw new TypeError("declined");
      return "paid";
    }), []);
  assertEquals(await test.run(), "failed");
  assertEquals(errorOf(test), 'TypeError: Step "charge": declined');
  assertEquals(test.steps.map(({ state, attempts }) => [state, attempts]), [["failed", 1]]);
  await test.retry();
  assertEquals(await test.retry(), "succeeded");
  assertEquals(attempts, [1, 2, 3]);
  assertEquals(test.steps[0]!.attempts, 3);
});

Deno.test("retry runs a step again without using an attempt of the job, and then fails it permanently", async () => {
  let failures = 0;
  const attempts: number[] = [];
  const test = testJob(async (ctx: JobContext) => {
    attempts.push(ctx.attempt);
    await ctx.step("charge", () => {
      failures++;
      throw new Error("declined");
    }, { retry: 2, backoff: "10s" });
  }, []);
  assertEquals(await test.run(), "asleep");
  assertEquals(await test.advance("9s"), "asleep");
  assertEquals(failures, 1);
  await test.advance("1s");
  assertEquals([failures, test.state], [2, "asleep"]);
  assertEquals(await test.advance("20s"), "failed");
  assertEquals(errorOf(test), 'StepFailed: Step "charge" failed for good after 3 attempts: Error: declined');
  assertEquals(attempts, [1, 1, 1]);
  await test.retry();
  assertEquals(failures, 3, "the step stays failed, so that the reaction runs once");
});

Deno.test("compensation runs once, also after a crash of its worker", async () => {
  const test = testJob(async (ctx: JobContext) => {
    const seat = await ctx.step("reserve", () => "12A");
    try {
      await ctx.step("charge", () => {
        throw new Error("declined");
      }, { retry: 0 });
    } catch (error) {
      if ((error as Error).name !== "StepFailed") throw error;
      await ctx.step("release seat", () => seat);
      throw new Discard("Card declined");
    }
  }, []);
  assertEquals(await test.run(), "failed");
  assertEquals(errorOf(test), "Discard: Card declined");
  await test.crash();
  assertEquals(test.ran, ["reserve", "charge", "release seat"]);
});

Deno.test("timeout fails a step even if it ignores its signal, and aborts that signal", async () => {
  const signals: AbortSignal[] = [];
  const test = testJob((ctx: JobContext) =>
    ctx.step("slow", ({ signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    }, { timeout: "30s" }), []);
  const running = test.run();
  while (signals.length === 0) await systemClock.turn();
  await test.advance("30s");
  assertEquals(await running, "failed");
  assertStringIncludes(errorOf(test), 'Timeout: Step "slow": ');
  assert(signals[0]!.aborted);
});

Deno.test("a sleep ends at its time and not before, and later attempts skip it", async () => {
  const test = testJob(async (ctx: JobContext) => {
    await ctx.step("before", () => 1);
    await ctx.sleep("cooling off", "2d");
    await ctx.step("after", () => 2);
  }, []);
  assertEquals(await test.run(), "asleep");
  await test.advance("47h");
  assertEquals(test.ran, ["before"]);
  assertEquals(await test.advance("1h"), "succeeded");
  assertEquals(test.ran, ["before", "after"]);
});

Deno.test("a sleeping job that runs early continues sleeping", async () => {
  const test = testJob((ctx: JobContext) => ctx.sleep("nap", "1h"), []);
  await test.run();
  await test.advance("30m");
  assertEquals(await test.crash(), "asleep");
  assertEquals(await test.advance("30m"), "succeeded");
});

Deno.test("a handler that catches the sleep runs no further step, and sleeps anyway", async () => {
  const test = testJob(async (ctx: JobContext) => {
    try {
      await ctx.sleep("nap", "1h");
    } catch {
      await ctx.step("too early", () => 1).catch(() => {});
    }
    return "ended";
  }, []);
  assertEquals(await test.run(), "asleep");
  assertEquals(test.ran, []);
});

Deno.test("waitFor returns the data of the signal, or undefined when the time has passed", async () => {
  const handler = async (ctx: JobContext) => await ctx.waitFor("approval", { key: "order:1", timeout: "7d" }) ?? "none";
  const signalled = testJob(handler, []);
  await signalled.run();
  assertEquals(await signalled.signal("order:2"), "asleep");
  assertEquals(await signalled.signal("order:1", { by: "ann" }), "succeeded");
  assertEquals(signalled.result, { by: "ann" });

  const late = testJob(handler, []);
  await late.run();
  assertEquals(await late.advance("7d"), "succeeded");
  assertEquals(late.result, "none");

  const early = testJob(handler, []);
  await early.signal("order:1");
  assertEquals(await early.run(), "succeeded");
  assertEquals(early.result, true);
});

Deno.test("run pushes a child once, and returns its result or throws its failure, in every attempt", async () => {
  let attempts = 0;
  const handler = async (ctx: JobContext) => {
    attempts++;
    const doubled = await ctx.run("child", "Double", [21], { queue: "low" });
    if (attempts === 2) throw new Error("after the child");
    return doubled;
  };
  const test = testJob(handler, []);
  assertEquals(await test.run(), "asleep");
  assertEquals(await test.finishChild("child", 42), "failed");
  assertEquals([await test.retry(), test.result], ["succeeded", 42]);

  const failing = testJob((ctx: JobContext) => ctx.run("child", "Double", [21]), []);
  await failing.run();
  await failing.failChild("child", new TypeError("no number"));
  assertMatch(errorOf(failing), /^ChildFailed: Job .* of step "child" failed: TypeError: no number$/);
});

Deno.test("steps side by side end before the job sleeps, until the first of its pauses ends", async () => {
  let attempts = 0;
  const test = testJob(async (ctx: JobContext) => {
    attempts++;
    const [, fetched] = await Promise.all([
      ctx.sleep("nap", "1h"),
      ctx.step("fetch", async () => {
        for (let i = 0; i < 100; i++) await Promise.resolve();
        return "page";
      }).then(() => ctx.step("parse", () => "parsed")),
      ctx.waitFor("signal", { key: "k", timeout: "10m" }),
    ]);
    return fetched;
  }, []);
  assertEquals(await test.run(), "asleep");
  assertEquals(test.ran, ["fetch", "parse"]);
  const after = async (duration: string) => [await test.advance(duration), attempts];
  assertEquals(await after("599s"), ["asleep", 1]);
  assertEquals(await after("1s"), ["asleep", 2]);
  assertEquals(await after("2999s"), ["asleep", 2]);
  assertEquals(await after("1s"), ["succeeded", 3]);
  assertEquals([test.ran, test.result], [["fetch", "parse"], "parsed"]);
});

Deno.test("a step that fails next to a sleep fails the attempt", async () => {
  const test = testJob(
    (ctx: JobContext) =>
      Promise.all([
        ctx.sleep("nap", "1h"),
        ctx.step("fails", async () => {
          for (let i = 0; i < 100; i++) await Promise.resolve();
          throw new Error("down");
        }),
      ]),
    [],
  );
  assertEquals(await test.run(), "failed");
  assertEquals(errorOf(test), 'Error: Step "fails": down');
});

Deno.test("an iteration that a stopping worker releases does not hide the failure next to it, and keeps its cursor", async () => {
  const done: number[] = [];
  const failed = Promise.withResolvers<void>();
  const test = testJob(
    (ctx: JobContext) =>
      Promise.all([
        ctx.each("rows", (after = 0) => [1, 2, 3].filter((row) => row > after), async (row) => {
          await failed.promise;
          await systemClock.turn();
          done.push(row);
        }, { cursor: (row) => row }),
        ctx.step("fails", () => {
          if (ctx.attempt > 1) return;
          test.stopWorker();
          throw new Error("down");
        }).finally(failed.resolve),
      ]),
    [],
  );
  assertEquals([await test.run(), errorOf(test)], ["failed", 'Error: Step "fails": down']);
  assertEquals(done, [1]);
  assertEquals(await test.retry(), "succeeded");
  assertEquals(done, [1, 2, 3]);
});

Deno.test("each continues after the last item done when an item fails", async () => {
  const done: number[] = [];
  const test = testJob(
    (ctx: JobContext) =>
      ctx.each("rows", (after = 0) => [1, 2, 3, 4].filter((row) => row > after), (row) => {
        if (row === 3 && ctx.attempt === 1) throw new Error("row 3");
        done.push(row);
      }, { cursor: (row) => row }),
    [],
  );
  assertEquals(await test.run(), "failed");
  assertEquals(errorOf(test), 'Error: Step "rows": row 3');
  assertEquals([await test.retry(), test.result], ["succeeded", 4]);
  assertEquals(done, [1, 2, 3, 4]);
  assertEquals([await test.crash(), done.length], ["succeeded", 4]);
});

Deno.test("the cursor of an iteration that fails is stored before the iteration fails", async () => {
  let cursor: unknown;
  const runner = runnerOn(async (step) => {
    await systemClock.turn();
    cursor = readStep(step.name, step.record).cursor;
    return step.record;
  });
  const fails = (row: number) => {
    if (row === 3) throw new Error("no");
  };
  await assertRejects(() => runner.each("rows", () => [1, 2, 3], fails), Error, "no");
  assertEquals(cursor, 2);
});

Deno.test("while the worker stops, no further step begins, and the job continues on another worker", async () => {
  const test = testJob(async (ctx: JobContext) => {
    await ctx.step("one", () => test.stopWorker());
    await ctx.step("two", () => 2);
  }, []);
  assertEquals(await test.run(), "released");
  assertEquals(test.ran, ["one"]);
  assertEquals(await test.run(), "succeeded");
  assertEquals(test.ran, ["one", "two"]);
});

Deno.test("a job that begins a step on a stopping worker is released, although it was about to sleep", async () => {
  const test = testJob(async (ctx: JobContext) => {
    const sleeping = ctx.sleep("nap", "1h");
    // The sleep has paused, and the attempt ends in the next turn.
    for (let i = 0; i < 100; i++) await Promise.resolve();
    test.stopWorker();
    await Promise.all([sleeping, ctx.step("late", () => 1)]);
  }, []);
  assertEquals(await test.run(), "released");
  await systemClock.turn();
  assertEquals(test.ran, []);
});

Deno.test("an outcome that a step requests does not fail the step", async () => {
  const test = testJob((ctx: JobContext) =>
    ctx.step("check", () => {
      throw new Discard("nothing to do");
    }, { retry: 5 }), []);
  await test.run();
  assertEquals(errorOf(test), "Discard: nothing to do");
  assertEquals(test.steps, []);
});

Deno.test("invalid options are errors before anything runs", async () => {
  const uses: readonly [(ctx: JobContext) => Promise<unknown>, RegExp][] = [
    [(ctx) => ctx.step("", () => 1), /Invalid step name ""/],
    [(ctx) => ctx.step("x".repeat(201), () => 1), /expected 1 to 200 characters/],
    [(ctx) => ctx.step("a\0b", () => 1), /Invalid step name "a\\u0000b": expected .* none of them NUL/],
    [(ctx) => ctx.step("a", () => 1, { retry: -1 }), /Invalid retry -1: expected a whole number from 0/],
    [(ctx) => ctx.step("a", () => 1, { timeout: "soon" }), /timeout is "soon"/],
    [
      (ctx) => ctx.step("a", () => 1, { retries: 3 } as never),
      /Unknown option "retries" of step "a": did you mean "retry"\?$/,
    ],
    [(ctx) => ctx.step("a", () => 1, { timout: 3 } as never), /"timout" of step "a": did you mean "timeout"\?$/],
    [(ctx) => ctx.step("a", { retry: 3 } as never), /Step "a" has no function to run: expected a function, got object/],
    [
      (ctx) => ctx.each("a", [1] as never, () => {}),
      /Step "a" has no source of items: expected a function, got object/,
    ],
    [(ctx) => ctx.each("a", () => [1], undefined as never), /no function for each item: .* got undefined/],
    [
      (ctx) => ctx.each("a", () => [1], () => {}, { size: 2 } as never),
      /Unknown option "size" of step "a": expected cursor$/,
    ],
    [(ctx) => ctx.waitFor("a", { key: "k", timeout: "1h", keepFor: "1d" } as never), /Unknown option "keepFor"/],
    [(ctx) => ctx.sleep("a", "whenever"), /duration is "whenever"/],
    [(ctx) => ctx.waitFor("a", { key: "", timeout: "1h" }), /Invalid key ""/],
    [(ctx) => ctx.waitFor("a", { key: "k" } as never), /timeout is undefined/],
    [
      (ctx) => ctx.waitFor("a", { key: "k", timeout: "1h", example: "x".repeat(499) }),
      /Invalid example of step "a": expected JSON of at most 500 characters/,
    ],
    [(ctx) => ctx.waitFor("a", { key: "k", timeout: "1h", example: () => {} }), /Invalid example of step "a"/],
    [(ctx) => ctx.run("a", "Double", [1], { unique_for: "1h" }), /has unique_for/],
    [
      (ctx) => ctx.run("a", "Double", [1], { retrys: 3 }),
      /Unknown option "retrys" of step "a": did you mean "retry"\?$/,
    ],
    [(ctx) => ctx.run("a", "Double", [1], { attempts: 3 }), /"attempts" of step "a": did you mean "retry"\?$/],
    [(ctx) => ctx.run("a", "Double", [1], { give_up_after: 3 }), /"give_up_after" .* did you mean "giveUpAfter"\?$/],
  ];
  for (const [use, message] of uses) {
    const test = testJob(use, []);
    assertEquals(await test.run(), "failed");
    assertMatch(errorOf(test), message);
    assertEquals(test.ran, []);
  }
});

Deno.test("a deploy that reorders, renames, removes or adds steps keeps the completed ones", async () => {
  const before = async (ctx: JobContext) => {
    await ctx.step("a", () => "a1");
    await ctx.step("b", () => "b1");
    throw new Error("a deploy follows");
  };
  const after = async (ctx: JobContext) => [
    await ctx.step("b", () => "b2"), // reordered, changed: the stored value counts
    await ctx.step("renamed a", () => "a2"), // renamed: it runs
    await ctx.step("added", () => "c2"),
  ];
  let handler: (ctx: JobContext) => Promise<unknown> = before;
  const test = testJob((ctx: JobContext) => handler(ctx), []);
  await test.run();
  handler = after;
  await test.retry();
  assertEquals(test.result, ["b1", "a2", "c2"]);
  assertEquals(test.steps.map(({ name }) => name), ["a", "b", "renamed a", "added"]);
});

Deno.test("a deploy that adds a step before stored ones runs it in the next attempt, and a removed one stays unread", async () => {
  let handler: (ctx: JobContext) => Promise<unknown> = async (ctx) => {
    await ctx.step("b", () => "b1");
    await ctx.step("removed", () => "r1");
    throw new Error("a deploy follows");
  };
  const test = testJob((ctx: JobContext) => handler(ctx), []);
  await test.run();
  handler = async (ctx) => [await ctx.step("a", () => "a2"), await ctx.step("b", () => "b2")];
  assertEquals([await test.retry(), test.result], ["succeeded", ["a2", "b1"]]);
  assertEquals(test.ran, ["b", "removed", "a"]);
});

Deno.test("a deploy that changes the time of a sleep or a wait that has begun keeps its end", async () => {
  let time = "1h";
  const test = testJob(async (ctx: JobContext) => {
    await ctx.sleep("nap", time);
    return await ctx.waitFor("answer", { key: "k", timeout: time }) ?? "none";
  }, []);
  await test.run();
  time = "9d";
  await test.advance("30m");
  assertEquals(await test.crash(), "asleep");
  await test.advance("30m");
  time = "1s";
  assertEquals(await test.crash(), "asleep");
  assertEquals(await test.advance("8d"), "asleep", "the wait began with 9d");
  assertEquals([await test.advance("1d"), test.result], ["succeeded", "none"]);
});

Deno.test("a deploy that removes the sleep of a sleeping job keeps its due time, and the job ends", async () => {
  let handler: (ctx: JobContext) => Promise<unknown> = async (ctx) => {
    await ctx.step("a", () => 1);
    await ctx.sleep("nap", "1h");
  };
  const test = testJob((ctx: JobContext) => handler(ctx), []);
  await test.run();
  handler = () => Promise.resolve("no steps any more");
  assertEquals([await test.advance("1h"), test.result], ["succeeded", "no steps any more"]);
});

Deno.test("a deploy that uses a name for another kind of step is an error with the command that clears it", async () => {
  let handler = (ctx: JobContext): Promise<unknown> => ctx.sleep("pause", "1h");
  const test = testJob((ctx: JobContext) => handler(ctx), []);
  await test.run();
  handler = (ctx) => ctx.step("pause", () => 1);
  await test.advance("1h");
  assertMatch(
    errorOf(test),
    /^StepError: Step "pause" was stored as "sleep" and is used as "step" now; .*jobs steps clear/,
  );
});

Deno.test("the helpers of testJob reject calls that make no sense", async () => {
  const test = testJob(() => "well", []);
  await assertRejects(() => test.retry(), Error, "Only a failed job is retried; this one is new");
  await assertRejects(() => test.finishChild("child", 1), Error, `Step "child" doesn't wait for a child`);
  await test.run();
  await assertRejects(() => test.run(), Error, "has already succeeded");
});
