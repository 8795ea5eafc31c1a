/** `jobs workers`. @module */
import type { ClassTotals, WorkerInfo } from "../../store/port/workers.ts";
import { systemClock } from "../../clock.ts";
import { formatBytes } from "../../job/bytes.ts";
import { formatDuration } from "../../job/duration.ts";

import { workerJson, workerState } from "../../text/workers.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { printError, printJson } from "../terminal/output.ts";
import { pausedQueues } from "../shared/queue_rows.ts";
import { withStore } from "../shared/store.ts";
import { type Column, printTable, STATE_COLORS } from "../terminal/table.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs workers [--json]

Lists the workers: running jobs of concurrency, queues, memory, uptime, finished
jobs and failures, time spent on jobs, last heartbeat, and state. --json also
has the jobs they run, and totals by class.

Examples
  jobs workers
  jobs workers --json`;

const COLUMNS: readonly Column[] = [
  { heading: "worker", is: "whole" },
  { heading: "running", is: "whole" },
  { heading: "state", is: "whole", colors: STATE_COLORS },
  "queues",
  { heading: "heartbeat", is: "optional" },
  { heading: "tag", is: "optional" },
  { heading: "succeeded", is: "optional" },
  { heading: "failed", is: "optional" },
  { heading: "uptime", is: "optional" },
  { heading: "memory", is: "optional" },
  { heading: "time spent", is: "optional" },
];

/** Lists workers. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("workers", argv, COMMON_FLAGS, "");
  const { workers, paused } = await withStore(flags, async (store) => ({
    workers: await store.workers.list(),
    paused: pausedQueues((await store.admin.stats()).queues),
  }));
  if (flags.json) {
    printJson({ workers: workers.map((worker) => workerJson(worker)) });
    return 0;
  }
  const now = systemClock.now();
  printTable(COLUMNS, workers.map((worker) => workerRow(worker, now)), "No workers; jobs run HANDLERS starts one");
  if (paused !== undefined) printError(`jobs: paused: ${paused}`);
  return 0;
}

function workerRow(worker: WorkerInfo, now: number): unknown[] {
  const [succeeded, failed, spent] = totalsOf(worker);
  return [
    worker.id,
    `${worker.busy}/${worker.concurrency}`,
    workerState(worker),
    worker.queues.map((queue) => worker.weights[queue] ? `${queue},${worker.weights[queue]}` : queue).join(" "),
    `${formatDuration(Math.max(0, now - worker.heartbeatAt))} ago`,
    [worker.tag, ...worker.labels].filter(Boolean).join(" "),
    succeeded,
    failed,
    formatDuration(now - worker.startedAt),
    formatBytes(worker.rss),
    spent,
  ];
}

/** Returns the totals over all classes; empty for Sidekiq's workers, which don't report them. */
function totalsOf({ totals }: WorkerInfo): [succeeded: unknown, failed: unknown, spent: unknown] {
  if (totals === undefined) return ["", "", ""];
  const sum = (pick: (one: ClassTotals) => number) => Object.values(totals).reduce((all, one) => all + pick(one), 0);
  return [
    sum(({ succeeded }) => succeeded),
    sum(({ failed }) => failed),
    formatDuration(sum(({ workedMs }) => workedMs)),
  ];
}
