import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { until } from "../../tests/support/eventually.ts";
import {
  ALL_TITLES,
  endingWith,
  notEndingWith,
  planRun,
  type Suite,
  type Task,
  testFiles,
  type TitleFilter,
} from "./plan.ts";
import { withoutNetwork } from "./loopback.ts";
import { runAll } from "./pool.ts";
import { idleSince, processorTimes } from "./processors.ts";
import { count, describeResult, summarize } from "./progress.ts";
import { pythonVariables } from "./python.ts";
import { parseReport, timingsOf } from "./results.ts";
import { runTask, type TaskContext, type TaskResult } from "./run_task.ts";
import { judge, outliers } from "./timings.ts";
import { installCommand, missingTools } from "./tools.ts";
import { MissingTool, requireTool } from "../../tests/support/tools.ts";
import { ROOT } from "../bundle.ts";

/** A folder with test files, and what tasks in it run with. */
async function project(files: Readonly<Record<string, string>>): Promise<TaskContext & AsyncDisposable> {
  const root = await Deno.makeTempDir({ prefix: "jobs-testrun-" });
  const folder = join(root, "logs");
  await Deno.mkdir(folder);
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(join(root, name), text);
  return {
    root,
    folder,
    env: { NO_COLOR: "1" },
    prefix: [],
    signal: new AbortController().signal,
    [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }),
  };
}

function task(name: string, more: Partial<Task> = {}): Task {
  return {
    name,
    kind: "tests",
    args: ["test", "-A", "--no-check", "--no-config", name],
    files: [name],
    titles: ALL_TITLES,
    variant: "",
    ...more,
  };
}

const MISSING = `class MissingTool extends Error { name = "MissingTool"; }\n`;

Deno.test("counts each test once, regardless of its steps, and a test that lacks a tool as skipped", async () => {
  await using context = await project({
    "a_test.js": MISSING + `
      Deno.test("a < b & 'c'", () => {});
      Deno.test("fails", () => { throw new Error("no"); });
      Deno.test("needs it", () => { throw new MissingTool("zsh required"); });
      Deno.test("steps", async (t) => { await t.step("one", () => {}); await t.step("two", () => {}); });
      Deno.test("a step needs it", async (t) => { await t.step("one", () => { throw new MissingTool("fish required"); }); });
      Deno.test({ name: "ignored", ignore: true, fn() {} });`,
  });
  const result = await runTask(task("a_test.js"), context);
  assertEquals(result.tests.map(({ title, outcome, reason }) => [title, outcome, reason]), [
    ["a < b & 'c'", "passed", undefined],
    ["fails", "failed", undefined],
    ["needs it", "skipped", "zsh not available"],
    ["steps", "passed", undefined],
    ["a step needs it", "skipped", "fish not available"],
    ["ignored", "skipped", "ignored in the source"],
  ]);
  assertEquals(count([result]), { passed: 2, failed: 1, skipped: 3 });
  const summary = summarize([result], { seconds: 61, idle: 0.125 }).join("\n");
  for (
    const part of [
      "1 skipped: zsh not available\n  a_test.js: needs it",
      "Error: no",
      "1 min 1 s, processors 88 % busy\n2 passed, 1 failed, 3 skipped",
    ]
  ) {
    assertStringIncludes(summary, part);
  }
});

Deno.test("a file whose tests lack a tool doesn't fail, one that can't be loaded does", async () => {
  await using context = await project({
    "lacks_test.js": MISSING + `Deno.test("x", () => { throw new MissingTool("zsh required"); });`,
    "lacks_all_test.js": MISSING + `throw new MissingTool("redis-server required");`,
    "broken_test.js": `Deno.test("x", () => {}); throw new Error("broken");`,
    "exits_test.js":
      `Deno.test("x", () => { queueMicrotask(() => Deno.kill(Deno.pid, "SIGKILL")); return new Promise(() => {}); });`,
  });
  const run = async (name: string) => {
    const { failure, missing, tests } = await runTask(task(name), context);
    return { failure, missing, outcomes: tests.map(({ outcome }) => outcome) };
  };
  assertEquals(await run("lacks_test.js"), { failure: undefined, missing: undefined, outcomes: ["skipped"] });
  assertEquals(await run("lacks_all_test.js"), { failure: undefined, missing: "redis-server", outcomes: [] });
  assertEquals((await run("broken_test.js")).failure, "exit code 1");
  assertEquals((await run("exits_test.js")).failure, "ended by SIGKILL");
});

Deno.test("ends processes that a test left behind, and every task when the run is stopped", async () => {
  await using context = await project({
    "leaves_test.js": `Deno.test({ name: "x", sanitizeResources: false, sanitizeOps: false, fn() {
      const child = new Deno.Command("sleep", { args: ["600"], stdout: "inherit" }).spawn();
      child.unref();
      Deno.writeTextFileSync("pid", String(child.pid));
    } });`,
    "hangs_test.js": `Deno.test("x", () => new Promise((resolve) => setTimeout(resolve, 6e5)));`,
  });
  const { tests } = await runTask(task("leaves_test.js"), context);
  assertEquals(tests.map(({ outcome }) => outcome), ["passed"]);
  const pid = await Deno.readTextFile(join(context.root, "pid"));
  const state = () => Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  await until(async () => !/ [^ZX] \d+ /.test(await state()), `process ${pid} ends`);
  const { failure } = await runTask(task("hangs_test.js"), { ...context, signal: AbortSignal.abort() });
  assertEquals(failure, "ended by SIGKILL");
});

Deno.test("runs a bounded number of tasks at a time in order", async () => {
  const events: string[] = [];
  const running = new Set<string>();
  let most = 0;
  const run = async ({ name }: Task) => {
    running.add(name);
    most = Math.max(most, running.size);
    await new Promise((resolve) => setTimeout(resolve, 1));
    running.delete(name);
    return name;
  };
  const tasks = [task("a"), task("b"), task("c")];
  const report = { started: ({ name }: Task) => void events.push(name), ended: () => {} };
  const lanes = { lanes: 2, extra: 0, idle: () => Promise.resolve(1) };
  const results = await runAll(tasks, lanes, run, report, new AbortController().signal);
  assertEquals([events, results, most], [["a", "b", "c"], ["a", "b", "c"], 2]);
});

Deno.test("starts another task when a quarter of the processors' time is idle, up to the extra number", async () => {
  const running = new Map<string, () => void>();
  const idle = [0.24, 0.25, 1, 1];
  const watched = Promise.withResolvers<void>();
  const lanes = {
    lanes: 1,
    extra: 2,
    idle: async () => {
      await Promise.resolve();
      if (idle.length === 0) watched.resolve();
      return idle.shift() ?? await new Promise<number>((resolve) => ending.push(() => resolve(0)));
    },
  };
  const ending: (() => void)[] = [];
  const run = ({ name }: Task) => new Promise<string>((resolve) => running.set(name, () => resolve(name)));
  const report = { started: () => {}, ended: () => {} };
  const stop = new AbortController();
  const all = runAll(["a", "b", "c", "d"].map((name) => task(name)), lanes, run, report, stop.signal);
  await watched.promise;
  assertEquals([...running.keys()], ["a", "b", "c"]);
  stop.abort();
  for (const end of [...running.values(), ...ending]) end();
  assertEquals(await all, ["a", "b", "c"]);
});

Deno.test("a processor that waits for a disk is idle, and times that can't be read give no share", () => {
  const [before, after] = ["cpu  100 0 50 800 50 0 0 0\ncpu0", "cpu  200 0 50 1000 150 0 0 0\ncpu0"];
  assertEquals(idleSince(processorTimes(before), processorTimes(after)), 0.75);
  assertEquals(idleSince(processorTimes(""), processorTimes("")), undefined);
});

Deno.test("FILTER selects files by their path, and tests by their titles if no path has it", async () => {
  const into = await Deno.makeTempDir();
  const plan = (filter: string) => planRun(ROOT, { suite: "gate", filter, timings: {}, into });
  assertEquals((await plan("cli/push")).map(({ name }) => name), ["tests/cli/push_test.ts"]);
  const byTitle = await plan("no such path");
  assert(byTitle.length > 20 && byTitle.every(({ args }) => args.includes("--filter")));
  await Deno.remove(into, { recursive: true });
});

Deno.test("the gate and the long run have each test file between them, each once", async () => {
  const into = await Deno.makeTempDir();
  const plan = (suite: Suite) =>
    planRun(ROOT, { suite, timings: { "tests/cli/push_test.ts": { seconds: 99, cpu: 9 } }, into });
  const [gate, long] = [await plan("gate"), await plan("long")];
  const files = (tasks: readonly Task[]) => tasks.filter(({ variant }) => variant === "").flatMap((task) => task.files);
  const run = [...files(gate), ...files(long)];
  const checked = ["tests/docs/examples_test.ts", "tests/docs/troubleshooting_test.ts"];
  const all = (await Promise.all(["src", "lint", "scripts", "tests"].map((folder) => testFiles(ROOT, folder)))).flat();
  assertEquals(run.toSorted(), all.filter((file) => !checked.includes(file)).toSorted());
  for (const tasks of [gate, long]) assertEquals(new Set(tasks.map(({ name }) => name)).size, tasks.length);
  // The types first, then what took long.
  assertEquals(gate.slice(0, 2).map(({ name }) => name), ["check: types", "src"]);
  const groups = await Array.fromAsync(Deno.readDir(into), ({ name }) => Deno.readTextFile(join(into, name)));
  assert(groups.length > 5 && groups.every((text) => text.startsWith('import "file:///')));
  const checks = await plan("checks");
  assert(checks.every(({ kind }) => kind === "check"));
  await Deno.remove(into, { recursive: true });
});

Deno.test("tests that repeat on Redis what they do on SQLite run in the long run, all others in the gate", async () => {
  const ends = ["on redis", "(redis)"];
  const titles = [
    "a, on Redis",
    "a (redis)",
    "a, on SQLite",
    "a (sqlite)",
    "a, on Redis away",
    "Redis",
    "s",
    ")",
    "(Redi)",
    "an (redis) b",
  ];
  const code = titles.map((title) => `Deno.test(${JSON.stringify(title)}, () => {});`).join("\n");
  await using context = await project({ "a_test.js": code });
  const passed = async (titles: TitleFilter) => {
    const args = ["test", "-A", "--no-check", "--no-config", ...titles.args, "a_test.js"];
    return (await runTask(task("a_test.js", { args, titles }), context)).tests.map(({ title }) => title);
  };
  assertEquals(await passed(endingWith(ends)), titles.slice(0, 2));
  assertEquals(await passed(notEndingWith(ends)), titles.slice(2));
});

Deno.test("a task has no network but loopback, and no other task has its ports", async () => {
  const { prefix, reason } = await withoutNetwork();
  if (reason !== undefined) throw new MissingTool(`a network namespace required (${reason})`);
  await using context = await project({
    "a_test.js": `Deno.test("x", async () => {
      using listener = Deno.listen({ port: 47_321 });
      using _self = await Deno.connect({ port: 47_321 });
      const answer = await Deno.connect({ hostname: "192.0.2.1", port: 80 }).then(() => "connected", (error) => error.message);
      if (!/unreachable/i.test(answer)) throw new Error(answer);
    });`,
  });
  const both = await Promise.all(
    [task("a_test.js"), task("a_test.js", { name: "again" })].map((one) => runTask(one, { ...context, prefix })),
  );
  assertEquals(
    both.flatMap(({ tests, output }) => tests.length === 0 ? [output] : tests.map(({ outcome }) => outcome)),
    ["passed", "passed"],
  );
});

Deno.test("a run over its budget names the files that grew, and isn't judged on a busy or unknown machine", () => {
  const budget = {
    calibration: 0.02,
    files: { a: { seconds: 10, cpu: 10 }, b: { seconds: 10, cpu: 10 }, "check: c": { seconds: 1, cpu: 20 } },
  };
  const measured = (a: number, more = {}) => ({
    timings: { a: { seconds: 1, cpu: a }, b: { seconds: 1, cpu: 10 } },
    calibration: 0.02,
    foreign: 0,
    ...more,
  });
  assertEquals(judge(measured(12), budget), { exceeded: false, lines: ["22 s of a processor; the budget is 20 s"] });
  const { exceeded, lines } = judge(measured(12.1), budget);
  assertEquals([exceeded, lines.slice(0, 2)], [true, [
    "Over budget: 22 s of a processor; the budget is 20 s. These grew:",
    "  a: 2.1 s more",
  ]]);
  // A slower machine has a larger budget, a faster one none smaller.
  assertEquals([0.03, 0.01].map((calibration) => judge(measured(13, { calibration }), budget).exceeded), [false, true]);
  for (const foreign of [0.11, undefined]) {
    const judged = judge(measured(13, { foreign }), budget);
    assertEquals(judged.exceeded, false);
    assertStringIncludes(judged.lines[0]!, "not judged: other programs took");
  }
  const added = { timings: { a: { seconds: 1, cpu: 10 }, new: { seconds: 1, cpu: 9 } } };
  assertStringIncludes(judge(measured(0, added), budget).lines.join(), "  new: 9.0 s more (new)");
  assertEquals(judge(measured(1), { calibration: 1, files: {} }), { exceeded: false, lines: [] });
});

Deno.test("the files of a group share its processor time, and one that took much more than usual is named", () => {
  const test = (file: string, seconds: number) => ({
    title: "x",
    outcome: "passed" as const,
    seconds,
    file: `./${file}`,
  });
  const result = (files: readonly string[], tests: TaskResult["tests"], more = {}): TaskResult => ({
    task: task("tests/*", { files, ...more }),
    seconds: 10,
    cpuSeconds: 4,
    tests,
    output: "",
  });
  const timings = timingsOf([
    result(["tests/a_test.ts", "tests/b_test.ts"], [
      test("tests/a_test.ts", 1),
      test("tests/a_test.ts", 2),
      test("tests/b_test.ts", 1),
    ]),
    result([], [], { name: "check: types" }),
    result(["tests/a_test.ts", "tests/b_test.ts"], [test("tests/b_test.ts", 1)], { variant: " on Redis" }),
  ]);
  assertEquals(timings, {
    "tests/a_test.ts": { seconds: 7.5, cpu: 3 },
    "tests/b_test.ts": { seconds: 2.5, cpu: 1 },
    "check: types": { seconds: 10, cpu: 4 },
    "tests/a_test.ts on Redis": { seconds: 0, cpu: 0 },
    "tests/b_test.ts on Redis": { seconds: 10, cpu: 4 },
  });
  const usual = { "tests/a_test.ts": { seconds: 1, cpu: 1 }, "check: types": { seconds: 1, cpu: 0.5 } };
  assertEquals(outliers({ ...timings, "tests/a_test.ts": { seconds: 9, cpu: 4.5 } }, usual), [
    "  tests/a_test.ts: 4.5 s of a processor, usually 1.0 s",
    "  check: types: 4.0 s of a processor, usually 0.5 s",
  ]);
});

Deno.test("a progress line has the file, what it lacks or how its tests ended, and the time", () => {
  const result = (more: Partial<TaskResult>): TaskResult => ({
    task: task("a"),
    seconds: 1.25,
    cpuSeconds: 0.75,
    tests: [],
    output: "",
    ...more,
  });
  const passed = parseReport(`<testcase name="x" time="0.1">\n</testcase>`, ALL_TITLES);
  assertEquals(
    describeResult(result({ tests: passed })).replaceAll(/ +/g, " "),
    "ok a 1 passed, 1.3 s (0.8 s of a processor)",
  );
  assertEquals(
    describeResult(result({ missing: "zsh" })).replaceAll(/ +/g, " "),
    "skipped a zsh not available, 1.3 s (0.8 s of a processor)",
  );
  assertEquals(
    describeResult(result({ failure: "exit code 1" })).replaceAll(/ +/g, " "),
    "FAILED a exit code 1, 1.3 s (0.8 s of a processor)",
  );
});

Deno.test("names what is missing once, with the command that installs it", () => {
  const tools = [
    { command: "sh", package: "dash" },
    { command: "c-none", alternative: "sh", package: "c" },
    ...["b", "a"].map((name) => ({ command: `${name}-none`, package: name })),
  ];
  const missing = missingTools(tools);
  assertEquals(missing.map(({ command }) => command), ["b-none", "a-none"]);
  assertEquals(installCommand(missing), "apt-get install --yes --no-install-recommends a b");
});

Deno.test("starts the interpreter of Python, not a script that selects one, and keeps compiled modules apart", async () => {
  requireTool("python3");
  await using context = await project({ "module.py": "", "program.py": "import sys, module; print(sys.executable)" });
  const run = async (env: Readonly<Record<string, string>>) => {
    const { stdout } = await new Deno.Command("python3", { args: [`${context.root}/program.py`], env }).output();
    return new TextDecoder().decode(stdout).trim();
  };
  const direct = await run({ PYTHONDONTWRITEBYTECODE: "1" });
  const before = Deno.env.get("PATH")!;
  await Deno.writeTextFile(`${context.folder}/python3`, `#!/bin/sh\nexec ${direct} "$@"\n`, { mode: 0o755 });
  Deno.env.set("PATH", `${context.folder}:${before}`);
  try {
    const cache = `${context.root}/cache`;
    const { PATH, ...variables } = await pythonVariables(cache);
    assertEquals(PATH, `${direct.replace(/\/[^/]*$/, "")}:${context.folder}:${before}`);
    assertEquals(await run({ ...variables, PATH: PATH! }), direct);
    const namesIn = async (folder: string) => (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
    assert((await namesIn(cache + context.root)).some((name) => /^module\..*pyc$/.test(name)));
    assertEquals((await namesIn(context.root)).includes("__pycache__"), false);
    Deno.env.set("PATH", PATH!);
    assertEquals((await pythonVariables(cache)).PATH, undefined);
  } finally {
    Deno.env.set("PATH", before);
  }
});
