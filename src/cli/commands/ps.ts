/** `jobs ps`. @module */
import { systemClock } from "../../clock.ts";
import { formatDuration } from "../../job/duration.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { printError, printJson } from "../terminal/output.ts";
import { pausedQueues } from "../shared/pause_queues.ts";
import { withStore } from "../shared/store.ts";
import { type Column, printTable, STATE_COLOURS } from "../terminal/table.ts";
import type { ClassTotals, WorkerInfo } from "../../store/port/workers.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs ps [--json]

Lists the processes that take jobs from the store: identity, busy and all processors, queues, memory, how long each has
been up, what it has done (jobs done, failures, time that jobs took), and when it last said that it is alive. --json has
what it has done by class.`;

const COLUMNS: readonly Column[] = [
  { heading: "process", is: "whole" },
  { heading: "tag", is: "optional" },
  { heading: "busy", is: "whole" },
  "queues",
  { heading: "memory", is: "optional" },
  { heading: "up", is: "optional" },
  { heading: "done", is: "optional" },
  { heading: "failed", is: "optional" },
  { heading: "worked", is: "optional" },
  { heading: "beat", is: "optional" },
  { heading: "state", colours: STATE_COLOURS },
];

/** Lists the processes. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("ps", argv, COMMON_FLAGS);
  const { processes, paused } = await withStore(flags, async (store) => ({
    processes: await store.workers.list(),
    paused: pausedQueues((await store.admin.stats()).queues),
  }));
  if (flags.json) {
    printJson(processes);
    return 0;
  }
  const now = systemClock.now();
  printTable(
    COLUMNS,
    processes.map((process) => [
      process.identity,
      [process.tag, ...process.labels].filter(Boolean).join(" "),
      `${process.busy}/${process.concurrency}`,
      process.queues.map((queue) => process.weights[queue] ? `${queue},${process.weights[queue]}` : queue).join(" "),
      `${Math.round(process.rss / 1024 / 1024)} MB`,
      formatDuration(now - process.startedAt),
      ...worked(process),
      `${formatDuration(Math.max(0, now - process.beatAt))} ago`,
      process.alive ? process.quiet ? "quiet" : "running" : "dead, not yet cleared",
    ]),
    "No processes: jobs run starts one",
  );
  if (paused !== undefined) printError(`jobs: paused: ${paused}`);
  return 0;
}

/** What it has done, over all classes; nothing is known of a process of Sidekiq's. */
function worked({ totals }: WorkerInfo): [done: unknown, failed: unknown, worked: unknown] {
  if (totals === undefined) return ["", "", ""];
  const sum = (pick: (one: ClassTotals) => number) => Object.values(totals).reduce((all, one) => all + pick(one), 0);
  return [sum(({ done }) => done), sum(({ failed }) => failed), formatDuration(sum(({ workedMs }) => workedMs))];
}
