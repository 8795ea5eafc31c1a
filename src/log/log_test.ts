import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { configureSync, type LogRecord } from "@logtape/logtape";
import { FakeClock } from "../../tests/support/clock.ts";
import { systemClock } from "../clock.ts";
import { LogError, logger, openLog } from "./log.ts";
import { denoCommand } from "../../scripts/deno_command.ts";

/** A temporary folder, which is deleted on disposal. */
function tempFolder(): Disposable & { readonly path: string } {
  const path = Deno.makeTempDirSync({ prefix: "jobs-test-" });
  return { path, [Symbol.dispose]: () => Deno.removeSync(path, { recursive: true }) };
}

/** Returns the parsed lines of a JSON log. */
function readLines(file: string): Record<string, unknown>[] {
  return Deno.readTextFileSync(file).split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** Runs a program on `src/log/log.ts` in a separate process, with the open log as `log`. `say` prints on stdout. */
function start(program: string, shell = ""): Deno.ChildProcess {
  const script = `
    import { logger, openLog } from "${import.meta.resolve("./log.ts")}";
    const say = (text) => Deno.stdout.writeSync(new TextEncoder().encode(text + "\\n"));
    ${program}`;
  return new Deno.Command("/bin/sh", {
    args: ["-c", `${shell} exec "$0" "$@"`, ...denoCommand("run", "-A", "--no-check", dataUrl(script))],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

function dataUrl(script: string): string {
  return `data:application/javascript,${encodeURIComponent(script)}`;
}

Deno.test("a line has the name of the part, the time of the clock, and the fields, where later ones take precedence", () => {
  using folder = tempFolder();
  const file = `${folder.path}/jobs.log`;
  {
    using _log = openLog({ file });
    const log = logger("poller", new FakeClock(0)).with({ jid: "a", queue: "low" });
    log.info("Moved {jobs}", { count: 5, queue: "high" });
    log.with({ note: "x" }).warn("Late");
  }
  assertEquals(readLines(file), [
    {
      ts: "1970-01-01T00:00:00.000Z",
      level: "info",
      name: "poller",
      msg: "Moved {jobs}",
      jid: "a",
      queue: "high",
      count: 5,
    },
    { ts: "1970-01-01T00:00:00.000Z", level: "warn", name: "poller", msg: "Late", jid: "a", queue: "low", note: "x" },
  ]);
});

Deno.test("a log may be pretty, and is appended to", () => {
  using folder = tempFolder();
  const file = `${folder.path}/jobs.log`;
  for (const format of ["pretty", "json", "auto"] as const) {
    using _log = openLog({ file, format });
    logger("poller", new FakeClock(0)).info("Done", { count: 5 });
  }
  assertEquals(
    Deno.readTextFileSync(file),
    "1970-01-01 00:00:00.000 INFO  poller Done count=5\n" +
      '{"ts":"1970-01-01T00:00:00.000Z","level":"info","name":"poller","msg":"Done","count":5}\n'.repeat(2),
  );
});

Deno.test("setLevel changes the level of every log at once", () => {
  using folder = tempFolder();
  const file = `${folder.path}/jobs.log`;
  using control = openLog({ file, level: "warn" });
  const log = logger("poller").with({ a: 1 });
  const enabled = () => [log.enabled("debug"), log.enabled("info"), log.enabled("warn"), log.enabled("error")];
  const logAll = (message: string) => {
    log.debug(message);
    log.info(message);
    log.warn(message);
    log.error(message);
  };
  assertEquals(enabled(), [false, false, true, true]);
  logAll("first");
  control.setLevel("debug");
  assertEquals(enabled(), [true, true, true, true]);
  logAll("second");
  control.setLevel("error");
  assertEquals(enabled(), [false, false, false, true]);
  logAll("third");
  control.flush();
  assertEquals(
    readLines(file).map(({ level, msg }) => `${msg} ${level}`),
    ["first warn", "first error", "second debug", "second info", "second warn", "second error", "third error"],
  );
});

Deno.test("lines are in the file at the end of the turn, and large amounts earlier", async () => {
  using folder = tempFolder();
  const file = `${folder.path}/jobs.log`;
  using _log = openLog({ file });
  const log = logger("poller");
  log.info("small");
  assertEquals(readLines(file).length, 0);
  await Promise.resolve();
  assertEquals(readLines(file).length, 1);
  for (let i = 0; i < 1_000; i++) log.info("large", { text: "x".repeat(200) });
  assertEquals((await Deno.stat(file)).size > 64 * 1024, true);
});

Deno.test("the first line of a turn is written at once, and further ones together at its end", async () => {
  using folder = tempFolder();
  const file = `${folder.path}/jobs.log`;
  using _log = openLog({ file });
  const log = logger("poller");
  for (let i = 0; i < 50; i++) {
    log.info("Line", { i });
    await Promise.resolve();
  }
  assertEquals(readLines(file).length, 1);
  await systemClock.turn();
  assertEquals(readLines(file).map(({ i }) => i), Array.from({ length: 50 }, (_, i) => i));
});

Deno.test("no line is lost when the log is closed within a turn", async () => {
  using folder = tempFolder();
  const file = `${folder.path}/jobs.log`;
  {
    using _log = openLog({ file });
    logger("poller").info("first");
    await Promise.resolve();
    logger("poller").info("second");
  }
  assertEquals(readLines(file).map(({ msg }) => msg), ["first", "second"]);
});

Deno.test("reopening after a rename neither loses nor splits a line", async () => {
  using folder = tempFolder();
  const [file, old] = [`${folder.path}/jobs.log`, `${folder.path}/jobs.log.1`];
  {
    using control = openLog({ file });
    const log = logger("poller");
    for (let i = 0; i < 3_000; i++) {
      log.info("Line", { i, text: "x".repeat(i % 300) });
      if (i === 1_000) await Deno.rename(file, old);
      if (i === 2_000) control.reopen();
      if (i % 100 === 0) await Promise.resolve();
    }
  }
  assertEquals(readLines(old).map(({ i }) => i), Array.from({ length: 2_001 }, (_, i) => i));
  assertEquals(readLines(file).map(({ i }) => i), Array.from({ length: 999 }, (_, i) => i + 2_001));
});

Deno.test("a file that cannot be reopened leaves the old one in use, which has the reason", () => {
  using folder = tempFolder();
  Deno.mkdirSync(`${folder.path}/logs`);
  using control = openLog({ file: `${folder.path}/logs/jobs.log` });
  logger("poller").info("before");
  Deno.renameSync(`${folder.path}/logs`, `${folder.path}/moved`);
  control.reopen();
  logger("poller").info("after");
  control.flush();
  const lines = readLines(`${folder.path}/moved/jobs.log`);
  assertEquals(lines.map(({ msg }) => msg), ["before", "Log file not reopened", "after"]);
  assertEquals(lines[1]!.error, `Log file "${folder.path}/logs/jobs.log" cannot be opened: no such folder`);
});

Deno.test("a log file that cannot be opened is named in one line", () => {
  using folder = tempFolder();
  assertStringIncludes(
    assertThrows(() => openLog({ file: folder.path }), LogError).message,
    `Log file "${folder.path}" cannot be opened: `,
  );
});

Deno.test("lines lost to a full disk are counted, and reported when there is room again", () => {
  using folder = tempFolder();
  const file = `${folder.path}/jobs.log`;
  Deno.symlinkSync("/dev/full", file);
  using control = openLog({ file });
  const log = logger("poller");
  log.info("lost");
  control.flush();
  log.info("lost");
  log.info("lost");
  control.flush();
  Deno.removeSync(file);
  control.reopen();
  log.info("kept");
  control.flush();
  log.info("kept");
  control.flush();
  assertEquals(
    readLines(file).map(({ name, level, msg, count }) => ({ name, level, msg, count })),
    [
      { name: "log", level: "error", msg: "Log lines lost: they could not be written", count: 3 },
      { name: "poller", level: "info", msg: "kept", count: undefined },
      { name: "poller", level: "info", msg: "kept", count: undefined },
    ],
  );
});

Deno.test("a line that a full disk cut off is ended before the next one, and counted as lost", async () => {
  using folder = tempFolder();
  const file = `${folder.path}/jobs.log`;
  // The limit of the file size acts as the full disk. Keeping only the cut-off end of the file makes room.
  const child = start(
    `
    const control = openLog({ file: "${file}" });
    for (let i = 0; i < 20; i++) {
      logger("poller").info("Line", { i, text: "x".repeat(100) });
      control.flush();
    }
    const lines = Deno.readTextFileSync("${file}").split(String.fromCharCode(10));
    say(lines.length - 1);
    Deno.writeTextFileSync("${file}", lines.at(-1));
    logger("poller").info("Line", { i: 20 });
    control.flush();`,
    "trap '' XFSZ; ulimit -f 2;",
  );
  await child.stdin.close();
  const { code, stdout, stderr } = await child.output();
  assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
  const whole = Number(new TextDecoder().decode(stdout));
  const [torn, lost, last, end] = (await Deno.readTextFile(file)).split("\n");
  assertThrows(() => JSON.parse(torn!), SyntaxError);
  assertEquals(JSON.parse(lost!).count, 20 - whole);
  assertEquals(JSON.parse(last!).i, 20);
  assertEquals(end, "");
});

Deno.test("a log call does not throw when stderr is closed", async () => {
  const child = start(`
    openLog({ format: "json" });
    const log = logger("poller");
    log.info("heard");
    await Deno.stdin.readable.getReader().read(); // until the parent has closed stderr
    for (let i = 0; i < 100; i++) {
      log.info("not heard", { text: "x".repeat(10_000) });
      await Promise.resolve();
    }
    say("alive");
  `);
  const reader = child.stderr.getReader();
  await reader.read();
  await reader.cancel();
  await child.stdin.close();
  assertEquals(await new Response(child.stdout).text(), "alive\n");
  assertEquals((await child.status).code, 0);
});

Deno.test("no logged value throws, and fields that are not an object are shown, too", () => {
  using folder = tempFolder();
  const file = `${folder.path}/jobs.log`;
  const fail = () => {
    throw new Error("looked at");
  };
  const error = new TypeError("bad");
  {
    using _log = openLog({ file });
    const log = logger("HardJob", new FakeClock(0));
    // A JavaScript handler may pass any value.
    const say = log.info.bind(log) as (message: unknown, fields?: unknown) => void;
    const add = log.with.bind(log) as (fields: unknown) => typeof log;
    say("getter", Object.defineProperty({ a: 1 }, "b", { get: fail, enumerable: true }));
    say("proxy", new Proxy({}, { ownKeys: fail }));
    say("text", "bob");
    say("list", [1, 2]);
    say("error", error);
    say("null", null);
    say({ a: 1 });
    say(undefined);
    say({ toString: fail, toJSON: fail });
    say(Symbol("x"));
    say(Object.create(null));
    add("bob").info("with");
    add(new Proxy({}, { ownKeys: fail })).info("with");
  }
  const common = { ts: "1970-01-01T00:00:00.000Z", level: "info", name: "HardJob" };
  assertEquals(readLines(file), [
    { ...common, msg: "getter", a: 1, b: "[unreadable]" },
    { ...common, msg: "proxy", value: "[unreadable]" },
    { ...common, msg: "text", value: "bob" },
    { ...common, msg: "list", value: [1, 2] },
    { ...common, msg: "error", error: "TypeError: bad", stack: error.stack },
    { ...common, msg: "null" },
    { ...common, msg: '{"a":1}' },
    { ...common, msg: "undefined" },
    { ...common, msg: "[unreadable]" },
    { ...common, msg: "Symbol(x)" },
    { ...common, msg: "{}" },
    { ...common, msg: "with", value: "bob" },
    { ...common, msg: "with", value: "[unreadable]" },
  ]);
});

Deno.test("a program that configures LogTape itself receives the records", () => {
  const records: LogRecord[] = [];
  configureSync({
    reset: true,
    sinks: { memory: (record) => records.push(record) },
    loggers: [
      { category: ["jobs"], sinks: ["memory"], lowestLevel: "debug" },
      { category: ["logtape", "meta"], sinks: [] },
    ],
  });
  logger("poller", new FakeClock(5)).warn("Late {ms}", { ms: 7 });
  const [record] = records;
  assertEquals([record?.category, record?.level], [["jobs", "poller"], "warning"]);
  assertEquals([record?.message, record?.properties], [["Late {ms}"], { ms: 7 }]);
  assertEquals([records.length, record?.timestamp], [1, 5]);
});

Deno.test("the file - is stderr", async () => {
  using folder = tempFolder();
  const program = `{ using log = openLog({ file: "-", format: "json" }); logger("poller").info("hello"); }`;
  const child = start(program, `cd ${folder.path};`);
  await child.stdin.close();
  const { stderr } = await child.output();
  assertEquals(JSON.parse(new TextDecoder().decode(stderr)).msg, "hello");
  assertEquals(await Array.fromAsync(Deno.readDir(folder.path)), []);
});
