/**
 * `make test`, `make test-long` and `make check`: run checks and tests in parallel and print progress.
 *
 *     deno run -A scripts/testrun/main.ts [--check | --long | --setup] [--filter TEXT] [--changed COMMIT] [--slowest COUNT] [--budget]
 *
 *  1. The set-up gets what is missing (`setup.ts`). Without it, tests are skipped by name, or not at all with `CI` set.
 *  2. The program is bundled once; system tests start that (`tests/support/command.ts`).
 *  3. A large test file is a separate `deno test`, small ones share one (`plan.ts`), two more at a time than there are processors: most of
 *     them wait for other processes. Each has a network with loopback only (`loopback.ts`). Temporary files are in a folder that is
 *     removed after the run.
 *  4. The last line has the totals: `N passed, M failed, K skipped`.
 *
 * The exit code is 0 if nothing failed, and, with `CI` set, the run kept to its budget (`timings.ts`).
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { join } from "node:path";
import { ROOT } from "../bundle.ts";
import { denoCommand, outputOf } from "../deno_command.ts";
import { bundleForTests } from "./bundle.ts";
import { changedTests } from "./changed.ts";
import { withoutNetwork } from "./loopback.ts";
import { planRun, type Suite, type Task } from "./plan.ts";
import { runAll } from "./pool.ts";
import { busySeconds, idleShare, idleSince, processorTimes } from "./processors.ts";
import { count, Progress, summarize } from "./progress.ts";
import { pythonVariables } from "./python.ts";
import { runTask, type TaskResult } from "./run_task.ts";
import { setUp } from "./setup.ts";
import { calibrate, judge, outliers, readBudget, readTimings, storeBudget, storeTimings } from "./timings.ts";
import { timingsOf } from "./results.ts";

const print = (line: string) => console.log(line);

/** The arguments of a run. */
interface Flags {
  readonly check: boolean;
  readonly long: boolean;
  readonly setup: boolean;
  readonly budget: boolean;
  readonly filter?: string;
  readonly changed?: string;
  readonly slowest?: string;
}

/** Runs the selected tasks; returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const flags = parseArgs([...args], {
    boolean: ["check", "long", "setup", "budget"],
    string: ["filter", "changed", "slowest"],
  }) as unknown as Flags;
  const begun = performance.now();
  const strict = (Deno.env.get("CI") ?? "") !== "";
  if (!await setUp(ROOT, { forTests: !flags.check, ahead: flags.setup, strict, print })) return 1;
  print(`Set up in ${((performance.now() - begun) / 1000).toFixed(0)} s`);
  if (flags.setup) return 0;

  const folder = await Deno.makeTempDir({ prefix: "jobs-run-" });
  await Deno.chmod(folder, 0o711); // for what runs as another user, such as PostgreSQL's server
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    Deno.addSignalListener(signal, () => stop.abort());
  }
  try {
    return await runSelected(flags, { folder, strict, signal: stop.signal });
  } finally {
    await Deno.remove(folder, { recursive: true }).catch(() => {}); // a process that is just ending may write there
  }
}

/** Where a run keeps its files, and what ends it. */
interface Run {
  readonly folder: string;
  readonly strict: boolean;
  readonly signal: AbortSignal;
}

async function runSelected(flags: Flags, { folder, strict, signal }: Run): Promise<number> {
  const start = performance.now();
  const speed = calibrate();
  const timings = await readTimings(ROOT);
  const tasks = await select(flags, await makeFolder(folder, "modules"), timings);
  const cores = navigator.hardwareConcurrency;
  const network = await withoutNetwork();
  const outside = network.reason === undefined ? "loopback only" : `the machine's network (${network.reason})`;
  print(`${tasks.length} tasks on ${cores} processors, load ${Deno.loadavg()[0]!.toFixed(1)}, ${outside}`);
  const env: Record<string, string> = {
    NO_COLOR: "1",
    TMPDIR: await makeFolder(folder, "tmp"),
    // Tests start programs with another HOME, where each would compile everything again.
    DENO_DIR: JSON.parse((await outputOf(denoCommand("info", "--json"), { cwd: ROOT })).stdout).denoDir,
    ...await pythonVariables(await makeFolder(folder, "python")),
  };
  if (tasks.some(({ name }) => name.startsWith("tests/"))) {
    env.TEST_JOBS_MAIN = await bundleForTests(await makeFolder(folder, "jobs"));
  }
  const context = { root: ROOT, folder: await makeFolder(folder, "logs"), env, prefix: network.prefix, signal };
  const processors = processorTimes();
  using progress = new Progress(tasks.length, print);
  const run = (task: Task) => runTask(task, context);
  const lanes = { lanes: flags.check ? cores : cores + 2, extra: flags.check ? 0 : 2 * cores, idle: idleShare };
  const results: TaskResult[] = await runAll(tasks, lanes, run, progress, signal);
  const seconds = (performance.now() - start) / 1000;
  // A machine may become slower during a run: its neighbours are unknown.
  const calibration = Math.max(speed, calibrate());
  const measured = { timings: timingsOf(results), calibration, foreign: foreignShare(results, processors) };
  const unusual = outliers(measured.timings, timings);
  if (unusual.length > 0) { for (const line of ["", "More than usual:", ...unusual]) print(line); }
  const whole = !flags.check && flags.filter === undefined && flags.changed === undefined;
  const { exceeded, lines } = whole ? judge(measured, await readBudget(ROOT)) : { exceeded: false, lines: [] };
  const summary = { slowest: Number(flags.slowest ?? 0), seconds, idle: idleSince(processors), notes: lines };
  for (const line of summarize(results, summary)) print(line);
  const { failed, skipped, passed } = count(results);
  if (signal.aborted) return 130;
  const succeeded = results.filter((result) => count([result]).failed === 0);
  if (!flags.check && flags.filter === undefined) await storeTimings(ROOT, timingsOf(succeeded));
  if (flags.budget && whole && failed === 0) await storeBudget(ROOT, calibration, measured.timings);
  return failed > 0 || (strict && (skipped > 0 || exceeded)) || (!flags.check && passed === 0) ? 1 : 0;
}

async function select(flags: Flags, into: string, timings: Awaited<ReturnType<typeof readTimings>>): Promise<Task[]> {
  const suite: Suite = flags.check ? "checks" : flags.long ? "long" : "gate";
  if (!flags.changed) return await planRun(ROOT, { suite, filter: flags.filter || undefined, timings, into });
  const { changed, files, left } = await changedTests(ROOT, flags.changed, timings);
  print(`${changed.length} changed files, ${files.length} test files`);
  if (left.length > 0) print(`${left.length} more may be affected: \`make test\` runs them`);
  return await planRun(ROOT, { suite, files, timings, into });
}

/** Returns the share of the processors' time that the tasks did not take; undefined where it is unknown. */
function foreignShare(results: readonly TaskResult[], before: ReturnType<typeof processorTimes>): number | undefined {
  const busy = busySeconds(before);
  if (busy === undefined) return undefined;
  const ours = results.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  return Math.max(0, busy.busy - ours) / busy.all;
}

async function makeFolder(parent: string, name: string): Promise<string> {
  const path = join(parent, name);
  await Deno.mkdir(path);
  return path;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
