/**
 * Cures in the words of the worker's runtime: a worker in Node, Python or Ruby isn't started by `jobs run`, and has no isolated
 * processes. Pure.
 *
 * @module
 */
import { type Runtime, runtimeOf } from "../store/ops/runtimes.ts";
import { shellWord } from "./shell.ts";

/** The words of a runtime. The files are those of docs/guides/runtimes.md. */
interface Words {
  /** Starts a worker. */
  readonly start: string;
  /** Lets a handler heed its signal. */
  readonly heed: string;
}

const JAVASCRIPT = { heed: "pass ctx.signal on in the handler" };
const WORDS: Readonly<Record<Runtime, Words>> = {
  node: { start: "node worker.mjs", ...JAVASCRIPT },
  bun: { start: "bun worker.mjs", ...JAVASCRIPT },
  deno: { start: "deno run -A worker.mjs", ...JAVASCRIPT },
  python: { start: "python3 worker.py", heed: "look at ctx.aborted in the handler" },
  ruby: { start: "ruby worker.rb", heed: "look at ctx.aborted? in the handler" },
  other: { start: "start the program of its worker", heed: "let its handler end when its job is aborted" },
};

/** The part of a worker that its runtime follows from. */
export interface RuntimeWorker {
  readonly version?: string | undefined;
  readonly queues: readonly string[];
  readonly classes?: readonly string[] | undefined;
}

/** Also starts a worker, if none is known: it may be in another program. */
const OVER_HTTP = "the program of a worker over HTTP, such as python3 worker.py";

/**
 * Returns the command that starts a worker of a queue: that of the runtime of its workers, or of all, if they have the same one.
 *
 * @param queues default: the default queue
 */
export function startCommand(workers: readonly RuntimeWorker[], queues: readonly string[] = []): string {
  const runtime = commonRuntime(workersFor(workers, queues));
  if (runtime !== undefined) return WORDS[runtime].start;
  return `jobs run handlers.js${queues.map((name) => ` -q ${shellWord(name)}`).join("")}`;
}

/** Returns {@linkcode startCommand} for a sentence, with the alternative if the runtime isn't known: no worker is, or they have several. */
export function startAdvice(workers: readonly RuntimeWorker[], queues: readonly string[] = []): string {
  const command = startCommand(workers, queues);
  return isKnown(workers, queues) ? command : `${command}, or ${OVER_HTTP}`;
}

/** Returns the sentence next to {@linkcode startCommand} if the runtime isn't known. */
export function startHint(workers: readonly RuntimeWorker[], queues: readonly string[] = []): string | undefined {
  return isKnown(workers, queues)
    ? undefined
    : `The command starts a worker of jobs run; ${OVER_HTTP}, serves as well.`;
}

function isKnown(workers: readonly RuntimeWorker[], queues: readonly string[]): boolean {
  return new Set(workersFor(workers, queues).map(({ version }) => runtimeOf(version))).size === 1;
}

/** Returns the workers of these queues, or all if none serves one. */
function workersFor(workers: readonly RuntimeWorker[], queues: readonly string[]): readonly RuntimeWorker[] {
  const serving = workers.filter((worker) => worker.queues.some((name) => queues.includes(name)));
  return serving.length > 0 ? serving : workers;
}

/** Returns how a handler heeds its signal, in the words of its runtime. */
export function heedHint(runtime: Runtime | undefined): string {
  return runtime === undefined
    ? "pass ctx.signal on in the handler, or set isolate: true, so that it can be killed"
    : WORDS[runtime].heed;
}

/** Returns whether a class can be isolated: not if all workers that have it run in other programs. */
export function canIsolate(workers: readonly RuntimeWorker[], className: string | undefined): boolean {
  const having = workers.filter(({ classes }) => className !== undefined && classes?.includes(className));
  return commonRuntime(having.length > 0 ? having : workers) === undefined;
}

/** Returns the runtime that all of these workers have; undefined if one is of `jobs run`, or there are none. */
function commonRuntime(workers: readonly RuntimeWorker[]): Runtime | undefined {
  const [first, ...others] = new Set(workers.map(({ version }) => runtimeOf(version)));
  return others.length === 0 ? first : undefined;
}
