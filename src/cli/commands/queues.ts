/** `jobs queues`. @module */
import type { QueueInfo } from "../../store/admin/admin.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { printJson } from "../terminal/output.ts";
import { QUEUE_COLUMNS } from "../shared/queue_rows.ts";
import { withStore } from "../shared/store.ts";
import { printRows } from "../terminal/table.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs queues [--json]

Lists the queues: queued jobs, age of the oldest one, the online workers that
fetch from it, pauses and limits. --json has the IDs of these workers.
jobs list queued -q QUEUE lists the jobs of one.

Examples
  jobs queues
  jobs queues --json`;

/** Lists queues. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("queues", argv, COMMON_FLAGS, "");
  const [{ queues }, workers] = await withStore(
    flags,
    (store) => Promise.all([store.admin.stats(), store.workers.list()]),
  );
  const fetching = workers.filter(({ alive, quiet }) => alive && !quiet);
  const workersOf = ({ name }: QueueInfo) => fetching.filter((worker) => worker.queues.includes(name));
  if (flags.json) printJson(queues.map((queue) => ({ ...queue, workers: workersOf(queue).map(({ id }) => id) })));
  else {
    const columns = QUEUE_COLUMNS.toSpliced(3, 0, ["workers", (queue) => workersOf(queue).length]);
    printRows(columns, queues, "No queues yet; jobs push CLASS creates one");
  }
  return 0;
}
