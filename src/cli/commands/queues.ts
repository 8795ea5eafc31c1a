/** `jobs queues`. @module */
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { printJson } from "../terminal/output.ts";
import { QUEUE_COLUMNS, queueRows } from "../shared/queue_rows.ts";
import { withStore } from "../shared/store.ts";
import { printTable } from "../terminal/table.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs queues [--json]

Lists the queues: queued jobs, age of the oldest one, pauses and limits.
jobs list queued -q QUEUE lists the jobs of one.

Examples
  jobs queues
  jobs queues --json`;

/** Lists queues. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("queues", argv, COMMON_FLAGS, "");
  const queues = await withStore(flags, async (store) => (await store.admin.stats()).queues);
  if (flags.json) printJson(queues);
  else printTable(QUEUE_COLUMNS, queueRows(queues), "No queues yet; jobs push CLASS creates one");
  return 0;
}
