import { assertEquals, assertThrows } from "@std/assert";
import { systemClock } from "../../clock.ts";
import { until } from "../../../tests/support/eventually.ts";
import { jobContext } from "../../../tests/support/job.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import { UnhandledErrors } from "./unhandled_errors.ts";

/** Runs with unhandled errors caught, until so many have come, and any that are ready beside. */
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
  await errors.stop();
  return { log, count: errors.count };
}

const JOB = { class: "HardJob", jid: "a".repeat(24) };

Deno.test("a promise that a handler left behind and that rejects is its job's", async () => {
  const error = new TypeError("late");
  const { log, count } = await caught(1, (errors) => {
    errors.run(jobContext(JOB), () => void Promise.reject(error));
  });
  assertEquals(log.lines, [{
    level: "error",
    message: "Error that nobody awaited",
    fields: { ...JOB, error: "TypeError: late", stack: error.stack },
  }]);
  assertEquals(count, 1);
});

Deno.test("so is one that rejects after the handler has returned; an error in a timer has lost its job", async () => {
  const { log } = await caught(4, (errors) => {
    errors.run(jobContext(JOB), async () => {
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

Deno.test("errors of jobs that run at once are told apart", async () => {
  const { log } = await caught(3, (errors) => {
    for (const jid of ["one", "two", "three"]) {
      errors.run(jobContext({ jid }), () => void systemClock.turn().then(() => Promise.reject(jid)));
    }
  });
  assertEquals(log.lines.map(({ fields }) => [fields["error"], fields["jid"]]), [
    ["one", "one"],
    ["two", "two"],
    ["three", "three"],
  ]);
});

Deno.test("what belongs to no job is caught where nobody else would, without a job's name", async () => {
  const { log, count } = await caught(1, () => void Promise.reject(new Error("whose?")));
  assertEquals([log.lines[0]?.fields["error"], log.lines[0]?.fields["jid"], count], ["Error: whose?", undefined, 1]);
});

Deno.test("in a program that embeds the server, what belongs to no job is left to the program", async () => {
  const reached: unknown[] = [];
  const program = (event: PromiseRejectionEvent) => {
    reached.push([event.reason, event.defaultPrevented]);
    event.preventDefault();
  };
  try {
    const { log } = await caught(1, (errors) => {
      globalThis.addEventListener("unhandledrejection", program);
      void Promise.reject("the program's");
      errors.run(jobContext(JOB), () => void Promise.reject("the job's"));
    }, false);
    assertEquals(log.lines.map(({ fields }) => fields["error"]), ["the job's"]);
  } finally {
    globalThis.removeEventListener("unhandledrejection", program);
  }
  assertEquals(reached, [["the program's", false], ["the job's", true]]);
});

Deno.test("whatever is thrown can be said", async () => {
  const fail = () => {
    throw new Error("looked at");
  };
  const hostile = new Error("x");
  Object.defineProperty(hostile, "stack", { get: fail });
  Object.defineProperty(hostile, "message", { get: fail });
  const values = [null, undefined, Object.create(null), { toString: fail, toJSON: fail }, Symbol("x"), hostile, 5n];
  const { log, count } = await caught(values.length, (errors) => {
    for (const value of values) errors.run(jobContext(JOB), () => void Promise.reject(value));
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

Deno.test("what a handler returns and awaits is its own affair", async () => {
  const { count } = await caught(0, async (errors) => {
    await errors.run(jobContext(JOB), () => Promise.reject(new Error("awaited"))).catch(() => {});
    assertThrows(() =>
      errors.run(jobContext(JOB), () => {
        throw new Error("thrown");
      })
    );
  });
  assertEquals(count, 0);
});
