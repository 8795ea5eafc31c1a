import { assertEquals, assertThrows } from "@std/assert";
import { systemClock } from "../../clock.ts";
import { until } from "../../../tests/support/eventually.ts";
import { runningJob } from "../../../tests/support/job.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import { UnhandledErrors } from "./unhandled_errors.ts";

/** Catches unhandled errors until this many have occurred, and any others that are ready. */
async function caught(
  expected: number,
  leave: (errors: UnhandledErrors) => unknown,
  catchAll = true,
): Promise<{ log: KeptLog; count: number }> {
  const log = new KeptLog();
  const errors = new UnhandledErrors({ log, catchAll });
  errors.start();
  await leave(errors);
  await until(() => errors.count >= expected, `${expected} unhandled errors`);
  await systemClock.turn();
  errors.stop();
  return { log, count: errors.count };
}

const JOB = { class: "HardJob", jid: "a".repeat(24) };

Deno.test("attributes a rejected promise that a handler left behind to its job", async () => {
  const error = new TypeError("late");
  const { log, count } = await caught(1, (errors) => {
    errors.run(runningJob(JOB), () => void Promise.reject(error));
  });
  assertEquals(log.lines, [{
    level: "error",
    message: "Unhandled error",
    fields: { ...JOB, error: "TypeError: late", stack: error.stack },
  }]);
  assertEquals(count, 1);
});

Deno.test("attributes rejections after the handler has returned, but no errors in timers' callbacks", async () => {
  const { log } = await caught(4, (errors) => {
    errors.run(runningJob(JOB), async () => {
      void systemClock.turn().then(() => Promise.reject("in a turn"));
      void systemClock.sleep(1).then(() => {
        throw new Error("after a sleep");
      });
      setTimeout(() => {
        throw new Error("in a timer");
      }, 0);
      queueMicrotask(() => {
        throw new Error("in a microtask");
      });
      await Promise.resolve();
    });
  });
  assertEquals(
    log.lines.map(({ fields }) => [fields["error"], fields["jid"]]).sort(),
    [
      ["Error: after a sleep", JOB.jid],
      ["Error: in a microtask", JOB.jid],
      ["Error: in a timer", undefined],
      ["in a turn", JOB.jid],
    ],
  );
});

Deno.test("attributes errors of concurrent jobs to each of them", async () => {
  const { log } = await caught(3, (errors) => {
    for (const jid of ["one", "two", "three"]) {
      errors.run(runningJob({ jid }), () => void systemClock.turn().then(() => Promise.reject(jid)));
    }
  });
  assertEquals(log.lines.map(({ fields }) => [fields["error"], fields["jid"]]), [
    ["one", "one"],
    ["two", "two"],
    ["three", "three"],
  ]);
});

Deno.test("catches errors that belong to no job in the executable", async () => {
  const { log, count } = await caught(1, () => void Promise.reject(new Error("whose?")));
  assertEquals([log.lines[0]?.fields["error"], log.lines[0]?.fields["jid"], count], ["Error: whose?", undefined, 1]);
});

Deno.test("leaves errors that belong to no job to a program that embeds the server", async () => {
  const reached: unknown[] = [];
  const program = (event: PromiseRejectionEvent) => {
    reached.push([event.reason, event.defaultPrevented]);
    event.preventDefault();
  };
  try {
    const { log } = await caught(1, (errors) => {
      globalThis.addEventListener("unhandledrejection", program);
      void Promise.reject("the program's");
      errors.run(runningJob(JOB), () => void Promise.reject("the job's"));
    }, false);
    assertEquals(log.lines.map(({ fields }) => fields["error"]), ["the job's"]);
  } finally {
    globalThis.removeEventListener("unhandledrejection", program);
  }
  assertEquals(reached, [["the program's", false], ["the job's", true]]);
});

Deno.test("logs values of any type, also hostile ones", async () => {
  const fail = () => {
    throw new Error("looked at");
  };
  const hostile = new Error("x");
  Object.defineProperty(hostile, "stack", { get: fail });
  Object.defineProperty(hostile, "message", { get: fail });
  const values = [null, undefined, Object.create(null), { toString: fail, toJSON: fail }, Symbol("x"), hostile, 5n];
  const { log, count } = await caught(values.length, (errors) => {
    for (const value of values) errors.run(runningJob(JOB), () => void Promise.reject(value));
  });
  assertEquals(log.lines.map(({ fields }) => fields["error"]), [
    "null",
    "undefined",
    "{}",
    "[unreadable]",
    "Symbol(x)",
    "[unreadable]",
    "5",
  ]);
  assertEquals(count, values.length);
});

Deno.test("ignores errors that the handler returns or that its caller awaits", async () => {
  const { count } = await caught(0, async (errors) => {
    await errors.run(runningJob(JOB), () => Promise.reject(new Error("awaited"))).catch(() => {});
    assertThrows(() =>
      errors.run(runningJob(JOB), () => {
        throw new Error("thrown");
      })
    );
  });
  assertEquals(count, 0);
});
