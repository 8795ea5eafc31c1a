/**
 * Runs one task in a separate process group and reads its results.
 *
 * @module
 */
import { constants } from "node:os";
import { join } from "node:path";
import { IS_WHOLE } from "../../tests/support/whole.ts";
import type { Task } from "./plan.ts";
import { missingIn, parseReport, type TestResult } from "./results.ts";

/** The result of a task. */
export interface TaskResult {
  readonly task: Task;
  readonly seconds: number;
  /** The processor time of its processes, those that it waited for included. It varies less than `seconds`. */
  readonly cpuSeconds: number;
  /** Empty for a check, and for a file that could not be loaded. */
  readonly tests: readonly TestResult[];
  /** The reason why the task failed without a failed test: a check, a crash, the time limit. */
  readonly failure?: string;
  /** The program that the whole file lacks on this machine. */
  readonly missing?: string;
  /** Standard output and error. */
  readonly output: string;
}

/** The environment of tasks. */
export interface TaskContext {
  readonly root: string;
  /** A folder for logs and reports. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** The beginning of each task's command: {@linkcode withoutNetwork}. */
  readonly prefix: readonly string[];
  /** Ends all tasks. */
  readonly signal: AbortSignal;
}

/** The longest a task may take. A test that waits forever must not hold up the others. */
const TASK_TIMEOUT_MS = (IS_WHOLE ? 120 : 10) * 60_000;

/** Runs a task. Doesn't reject if the task fails. */
export async function runTask(task: Task, { root, folder, env, prefix, signal }: TaskContext): Promise<TaskResult> {
  const path = join(folder, task.name.replaceAll(/[^\w.-]+/g, "_"));
  const report = `${path}.xml`;
  const isTest = task.args[0] === "test";
  const args = isTest ? ["test", `--junit-path=${report}`, ...task.args.slice(1)] : task.args;
  const start = performance.now();
  // Output goes to a file, because a process that a test left behind would keep a pipe open. A user's certificates are for the network:
  // reading them takes two thirds of the processor time of a start of Node, and tests start it hundreds of times.
  const script = 'unset NODE_EXTRA_CA_CERTS; "$@" >"$0.log" 2>&1; code=$?; times >"$0.times"; exit $code';
  const child = new Deno.Command("sh", {
    args: ["-c", script, path, ...prefix, Deno.execPath(), ...args],
    cwd: root,
    env: { ...env },
    stdin: "null",
    detached: true,
  }).spawn();
  const timeout = AbortSignal.timeout(TASK_TIMEOUT_MS);
  const over = AbortSignal.any([signal, timeout]);
  const kill = () => killGroup(child.pid);
  over.addEventListener("abort", kill);
  if (over.aborted) kill();
  const status = await child.status;
  over.removeEventListener("abort", kill);
  killGroup(child.pid); // whatever it left behind
  const output = await read(`${path}.log`);
  const tests = isTest ? parseReport(await read(report), task.titles) : [];
  const cpuSeconds = parseTimes(await read(`${path}.times`));
  const result = { task, seconds: (performance.now() - start) / 1000, cpuSeconds, tests, output };
  if (timeout.aborted) return { ...result, failure: `ended after ${TASK_TIMEOUT_MS / 60_000} minutes` };
  if (status.success || tests.some(({ outcome }) => outcome === "failed")) return result;
  const skipped = tests.some(({ outcome }) => outcome === "skipped");
  const crashed = /\(uncaught error\)|panicked at/.test(output);
  if (skipped && !crashed) return result;
  const missing = missingIn(output);
  if (missing !== undefined) return { ...result, missing };
  const by = status.signal ?? signalOf(status.code);
  return { ...result, failure: by === undefined ? `exit code ${status.code}` : `ended by ${by}` };
}

/** Returns the processor time, in seconds, that the shell's `times` states for its ended descendants: its second line. */
function parseTimes(text: string): number {
  const children = text.split("\n")[1] ?? "";
  return [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, m, s]) => sum + Number(m) * 60 + Number(s), 0);
}

/** Returns the signal that ended the shell's command, which the shell returns as 128 + its number. */
function signalOf(code: number): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
}

function killGroup(pid: number): void {
  try {
    Deno.kill(-pid, "SIGKILL");
  } catch {
    // Nothing of the group is left.
  }
}

async function read(path: string): Promise<string> {
  return await Deno.readTextFile(path).catch(() => "");
}
