/** `jobs queues`. @module */
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { printJson } from "../terminal/output.ts";
import { QUEUE_COLUMNS } from "../../text/queues.ts";
import { withStore } from "../shared/store.ts";
import { printList } from "../terminal/table.ts";

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
  const rows = queues.map((queue) => ({
    ...queue,
    workers: fetching.filter((worker) => worker.queues.includes(queue.name)).map(({ id }) => id),
  }));
  if (flags.json) printJson({ queues: rows });
  else printList(QUEUE_COLUMNS, rows, "No queues yet; jobs push CLASS creates one");
  return 0;
}
