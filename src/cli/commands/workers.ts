/** `jobs workers`. @module */
import type { ClassTotals, WorkerInfo } from "../../store/port/workers.ts";
import { systemClock } from "../../clock.ts";
import { formatBytes } from "../../job/bytes.ts";
import { formatDuration } from "../../job/duration.ts";

import { workerJson, workerState } from "../../text/workers.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { printError, printJson } from "../terminal/output.ts";
import { pausedQueues } from "../../text/queues.ts";
import { withStore } from "../shared/store.ts";
import { optional, printRows, type RowColumn } from "../terminal/table.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs workers [--json]

Lists the workers: running jobs of concurrency, queues, memory, uptime, finished
jobs and failures, time spent on jobs, last heartbeat, and state. --json also
has the jobs they run, and totals by class.

Examples
  jobs workers
  jobs workers --json`;

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
  printRows(columnsAt(now), workers, "No workers; jobs run HANDLERS starts one");
  if (paused !== undefined) printError(`jobs: paused: ${paused}`);
  return 0;
}

/** @param now epoch milliseconds */
function columnsAt(now: number): RowColumn<WorkerInfo>[] {
  return [
    [{ heading: "worker", is: "whole" }, ({ id }) => id],
    [{ heading: "running", is: "whole" }, ({ busy, concurrency }) => `${busy}/${concurrency}`],
    [{ heading: "state", is: "whole", isState: true }, workerState],
    ["queues", ({ queues, weights }) => queues.map((one) => weights[one] ? `${one},${weights[one]}` : one).join(" ")],
    [optional("heartbeat"), ({ heartbeatAt }) => `${formatDuration(Math.max(0, now - heartbeatAt))} ago`],
    [optional("tag"), ({ tag, labels }) => [tag, ...labels].filter(Boolean).join(" ")],
    [optional("succeeded"), (worker) => total(worker, ({ succeeded }) => succeeded)],
    [optional("failed"), (worker) => total(worker, ({ failed }) => failed)],
    [optional("uptime"), ({ startedAt }) => formatDuration(now - startedAt)],
    [optional("memory"), ({ rss }) => formatBytes(rss)],
    [optional("time spent"), (worker) => {
      const spent = total(worker, ({ workedMs }) => workedMs);
      return spent === undefined ? "" : formatDuration(spent);
    }],
  ];
}

/** Returns a total over all classes; undefined for Sidekiq's workers, which don't report them. */
function total({ totals }: WorkerInfo, pick: (one: ClassTotals) => number): number | undefined {
  return totals && Object.values(totals).reduce((sum, one) => sum + pick(one), 0);
}
