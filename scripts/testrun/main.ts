/**
 * `make test` and `make check`: runs checks and tests in parallel and prints progress.
 *
 *     deno run -A scripts/testrun/main.ts [--check] [--filter TEXT] [--slowest COUNT]
 *
 *  1. As root, the programs that tests drive are installed. Otherwise, missing ones are listed with the command that
 *     installs them, and tests that need them are skipped by name. With `CI` set, no test may be skipped.
 *  2. The program is bundled once; system tests start that (`tests/support/command.ts`).
 *  3. A large test file is a separate `deno test`, small ones share one (`plan.ts`), two more at a time than there are processors: most of them wait for other
 *     processes. Its temporary files are in a folder that is removed after the run.
 *  4. The last line has the totals: `N passed, M failed, K skipped`.
 *
 * The exit code is 0 if nothing failed.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { join } from "node:path";
import { ROOT } from "../bundle.ts";
import { bundleForTests } from "./bundle.ts";
import { planRun } from "./plan.ts";
import { runAll } from "./pool.ts";
import { idleShare, idleSince, processorTimes } from "./processors.ts";
import { count, Progress, summarize } from "./progress.ts";
import { pythonVariables } from "./python.ts";
import { runTask, type TaskResult } from "./run_task.ts";
import { canInstall, install, installCommand, missingTools } from "./tools.ts";

const print = (line: string) => console.log(line);

/** Returns whether all programs that the tests drive exist or may be missing; prints the missing ones. */
async function provideTools(isCi: boolean): Promise<boolean> {
  const missing = missingTools();
  if (missing.length === 0) return true;
  const names = missing.map(({ command }) => command).join(", ");
  if (canInstall()) {
    print(`Installing what the tests drive: ${names}`);
    await install(missing);
    return true;
  }
  print(`Not installed: ${names}. Tests that need them are skipped. Install them with:`);
  print(`  sudo ${installCommand(missing)}`);
  if (isCi) print("CI is set: nothing may be skipped.");
  return !isCi;
}

/** Runs the selected tasks; returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const flags: unknown = parseArgs([...args], { boolean: ["check"], string: ["filter", "slowest"] });
  const { check, filter, slowest } = flags as { check: boolean; filter?: string; slowest?: string };
  const start = performance.now();
  const processors = processorTimes();
  const isCi = (Deno.env.get("CI") ?? "") !== "";
  const cores = navigator.hardwareConcurrency;
  if (!check && !await provideTools(isCi)) return 1;

  const folder = await Deno.makeTempDir({ prefix: "jobs-run-" });
  await Deno.chmod(folder, 0o711); // for what runs as another user, such as PostgreSQL's server
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    Deno.addSignalListener(signal, () => stop.abort());
  }
  try {
    const into = await makeFolder(folder, "modules");
    const tasks = await planRun(ROOT, { checksOnly: check, filter: filter === "" ? undefined : filter, into });
    print(`${tasks.length} tasks on ${cores} processors`);
    // Tests start programs with another HOME, where each would compile everything again.
    const env: Record<string, string> = {
      NO_COLOR: "1",
      TMPDIR: await makeFolder(folder, "tmp"),
      DENO_DIR: await denoDir(),
      ...await pythonVariables(await makeFolder(folder, "python")),
    };
    if (tasks.some(({ name }) => name.startsWith("tests/"))) {
      env.TEST_JOBS_MAIN = await bundleForTests(await makeFolder(folder, "jobs"));
    }
    const context = { root: ROOT, folder: await makeFolder(folder, "logs"), env, signal: stop.signal };
    using progress = new Progress(tasks.length, print);
    const run = (task: (typeof tasks)[number]) => runTask(task, context);
    const lanes = { lanes: check ? cores : cores + 2, extra: check ? 0 : 2 * cores, idle: idleShare };
    const results: TaskResult[] = await runAll(tasks, lanes, run, progress, stop.signal);
    const seconds = (performance.now() - start) / 1000;
    const idle = idleSince(processors);
    for (const line of summarize(results, { slowest: Number(slowest ?? 0), seconds, idle })) print(line);
    const { failed, skipped, passed } = count(results);
    if (stop.signal.aborted) return 130;
    return failed > 0 || (isCi && skipped > 0) || (!check && passed === 0) ? 1 : 0;
  } finally {
    await Deno.remove(folder, { recursive: true }).catch(() => {}); // a process that is just ending may write there
  }
}

/** Returns the folder in which Deno keeps what it has loaded and compiled. */
async function denoDir(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"], stderr: "null" }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}

async function makeFolder(parent: string, name: string): Promise<string> {
  const path = join(parent, name);
  await Deno.mkdir(path);
  return path;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
