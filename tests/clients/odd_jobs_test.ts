/** Jobs whose errors and reports JSON can't hold, or that end in odd ways: each ends alone, and its worker performs the next one. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { decodeBacktrace } from "../../src/job/failure.ts";
import { Lab } from "./lab.ts";

const UNREADABLE = "(its message cannot be read)";

/** The end of a job: its state, and a part of its error's class and message, its progress or its log. */
type Ends = Readonly<Record<string, readonly [state: "dead" | "succeeded", text: string, attempts?: number]>>;

/** Failures by errors of other libraries, and signals of the platform that no abort of the server has caused: each is retried once. */
const foreign = (classes: readonly string[]): Ends =>
  Object.fromEntries(classes.map((name) => [`fails by a foreign ${name}`, ["dead", `${name}: `, 2]]));

const PROGRAMS: Readonly<Record<string, { readonly command: readonly [string, string]; readonly ends: Ends }>> = {
  Node: {
    command: ["node", "odd_jobs.mjs"],
    ends: {
      "throws an object that has no text": ["dead", UNREADABLE],
      "throws an error whose members throw": ["dead", UNREADABLE],
      "throws an error whose cause throws": ["dead", "outer"],
      "throws in a step what has no text": ["dead", UNREADABLE],
      "reports a long note": ["succeeded", "1 nn"],
      ...foreign(["Discard", "Kill", "Snooze", "Cancelled", "StepFailed", "ChildFailed", "Released", "AbortError"]),
      "fails by a foreign StepFailed in a step": ["dead", "StepFailed: ", 2],
      "has a step that has failed for good": ["dead", "StepFailed: ", 1],
      "removes the listeners of its worker": ["succeeded", "removed"],
    },
  },
  Python: {
    command: ["python3", "odd_jobs.py"],
    ends: {
      "raises an error whose text is None": ["dead", UNREADABLE],
      "raises an error whose text raises": ["dead", UNREADABLE],
      "raises an error whose cause has no text": ["dead", "outer"],
      "raises in a step what has no text": ["dead", UNREADABLE],
      "reports a long note": ["succeeded", "1 nn"],
      "reports a large number": ["succeeded", "1e+300"],
      ...foreign(["Discard", "Kill", "Snooze", "Cancelled", "StepFailed", "CancelledError", "KeyboardInterrupt"]),
      "fails by a CancelledError that its coroutine raises": ["dead", "CancelledError: ", 2],
      "fails by a cancelled subtask": ["dead", "CancelledError: ", 2],
      "fails by a cancelled subtask in a step": ["dead", "CancelledError: ", 2],
      "starts a task that raises SystemExit": ["succeeded", "started"],
      "fails by a foreign StepFailed in a step": ["dead", "StepFailed: ", 2],
      "has a step that has failed for good": ["dead", "StepFailed: ", 1],
    },
  },
  Ruby: {
    command: ["ruby", "odd_jobs.rb"],
    ends: {
      "raises an error whose message raises": ["dead", UNREADABLE],
      "raises an error whose cause has no message": ["dead", "outer"],
      "raises in a step what has no message": ["dead", UNREADABLE],
      "raises an error with bytes": ["dead", "caf\ufffd"],
      "raises an error with bytes that are UTF-8": ["dead", "café"],
      "logs bytes": ["succeeded", "caf\ufffd k\ufffd=v\ufffd n=1"],
      "reports a note of bytes": ["succeeded", "1 caf\ufffd"],
      "reports a long note": ["succeeded", "1 nn"],
      "reports a fraction": ["succeeded", "0.5"],
      "reports a large number": ["succeeded", "1e+300"],
      ...foreign(["Discard", "Kill", "Snooze", "Cancelled", "StepFailed", "Interrupt", "SystemExit"]),
      "fails by a foreign StepFailed in a step": ["dead", "StepFailed: ", 2],
      "has a step that has failed for good": ["dead", "StepFailed: ", 1],
      "traps the signals of its worker": ["succeeded", "trapped"],
      "ends its thread": ["dead", "The handler has ended its thread"],
      // Its signals are those of the worker until it resets them.
      "ends a process that it has forked": ["succeeded", "15"],
    },
  },
};

for (const [language, { command, ends }] of Object.entries(PROGRAMS)) {
  Deno.test(`a worker in ${language} ends each odd job alone`, async (t) => {
    await using lab = await Lab.open({ command });
    const program = lab.program();
    for (const [name, [state, text, attempts]] of Object.entries(ends)) {
      await t.step(`which ${name}`, async () => {
        const record = await lab.run(name, []);
        const { error, progress, log, result } = record as typeof record & Record<string, unknown>;
        const failed = error && `${error.class}: ${error.message}`;
        assertStringIncludes(failed ?? String(progress ?? log ?? result), text);
        if (attempts !== undefined) assertEquals(record.attempt, attempts);
        assertEquals([record.state, (await lab.run("Echo", ["next"])).result], [state, "next"]);
      });
    }
    await t.step("and prints what each logs, and its failure with the stack, which a retrying job keeps", async () => {
      const { bench } = lab;
      const hushed = await bench.push("logs and fails, hushed", []);
      const jid = await bench.push("logs and fails", []);
      const failed = await program.logged("Failed", { jid });
      assertStringIncludes(JSON.stringify(failed), command[1]);
      assertEquals([failed.level, failed["class"]], ["warn", "logs and fails"]);
      const line = await program.logged("importing", { jid });
      assertEquals([line.level, line["file"], line.ts === "x"], ["info", "a.csv", false]);
      const printed = program.lines.filter((line) => [jid, hushed].includes(String(line["jid"]))).map(({ msg }) => msg);
      assertEquals(printed, ["importing", "Failed"], "neither debug lines, nor those below the log_level of a class");
      await bench.until(async () => (await bench.store.jobs.find([jid]))[0]?.place.in === "retry", "it is retried");
      const { payload } = (await bench.store.jobs.find([jid]))[0]!;
      const { error_backtrace, error_output } = JSON.parse(payload);
      assertStringIncludes(String(decodeBacktrace(error_backtrace)), command[1]);
      assertStringIncludes(String(decodeBacktrace(error_output)), "importing file=a.csv");
    });
    program.kill("SIGTERM");
    assertEquals((await program.status()).code, 0);
  });
}

Deno.test("a worker in Ruby fails a payload that Ruby can't read, alone", async () => {
  await using lab = await Lab.open({ command: ["ruby", "odd_jobs.rb"] });
  lab.program();
  // Half of an emoji, which a program in JavaScript has cut off.
  const payload = `{"class":"Echo","args":["\\ud83d"],"jid":"half","queue":"default","retry":0,"failure_ttl":1000}`;
  await lab.bench.store.jobs.enqueue([{ payload, queue: "default", jid: "half" }]);
  const record = await lab.ended("half");
  assertEquals([record?.state, record?.error?.class], ["dead", "JSON::ParserError"]);
  assertEquals((await lab.run("Echo", ["next"])).result, "next");
});
