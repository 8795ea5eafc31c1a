/** `jobs stats`. @module */
import { COMMON_FLAGS, parseCommand } from "./args.ts";
import { print, printJson } from "./output.ts";
import { QUEUE_COLUMNS, queueRows } from "./pause_queues.ts";
import { withStore } from "./store.ts";
import { printTable } from "./table.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs stats [--json]

Counts: jobs processed and failed since the beginning, jobs in each set and queue, jobs that processes have taken, and
live processes.`;

/** Prints the counts. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("stats", argv, COMMON_FLAGS);
  const stats = await withStore(flags, (store) => store.stats());
  if (flags.json) {
    printJson(stats);
    return 0;
  }
  const { queues, ...counts } = stats;
  for (const [name, count] of Object.entries(counts)) print(`${name.padEnd(10)} ${count}`);
  if (queues.length > 0) {
    print("");
    printTable(QUEUE_COLUMNS, queueRows(queues), "");
  }
  return 0;
}
