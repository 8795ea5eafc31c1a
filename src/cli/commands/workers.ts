/** `jobs workers`. @module */
import { WORKER_COLUMNS, workerJson } from "../../text/workers.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { printError, printJson } from "../terminal/output.ts";
import { pausedQueues } from "../../text/queues.ts";
import { withStore } from "../shared/store.ts";
import { printList } from "../terminal/table.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs workers [--json]

Lists the workers: running jobs of concurrency, state, queues, last heartbeat,
finished jobs and failures, start, memory, time spent on jobs, and version.
--json also has the jobs they run, and totals by class.

Examples
  jobs workers
  jobs workers --json`;

/** Lists workers. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("workers", argv, COMMON_FLAGS, "");
  const { workers, paused } = await withStore(flags, async (store) => ({
    workers: await store.workers.list(),
    paused: (await store.admin.stats()).queues.filter(({ paused }) => paused),
  }));
  if (flags.json) {
    const pausedQueues = paused.map(({ name, pausedForMs }) => ({ name, pausedForMs }));
    printJson({ workers: workers.map((worker) => workerJson(worker)), pausedQueues });
    return 0;
  }
  printList(WORKER_COLUMNS, workers, "No workers; jobs run HANDLERS starts one");
  if (paused.length > 0) printError(`jobs: paused: ${pausedQueues(paused)}`);
  return 0;
}
