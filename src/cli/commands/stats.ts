/** `jobs stats`. @module */
import { systemClock } from "../../clock.ts";
import { DAY_MS } from "../../store/admin/history.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { print, printJson } from "../terminal/output.ts";
import { QUEUE_COLUMNS, queueRows } from "../shared/pause_queues.ts";
import { withStore } from "../shared/store.ts";
import { printTable } from "../terminal/table.ts";

/** The store keeps no more. */
const MAX_DAYS = 1_825;
const HISTORY_COLUMNS = ["day", "processed", "failed"] as const;

/** What `--help` prints. */
export const help = `
Usage: jobs stats [--history DAYS] [--json]

Counts: jobs processed and failed since the beginning, jobs in each set and queue, jobs that processes have taken, and
live processes; with --history, also how many jobs were processed and failed on each of the last days (UTC).`;

/** Prints the counts. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("stats", argv, { ...COMMON_FLAGS, history: { takes: "text" } });
  const days = flags.history === undefined ? undefined : daysOf(flags.history);
  const [stats, history] = await withStore(flags, async (store) => {
    const now = systemClock.now();
    return await Promise.all([
      store.admin.stats(),
      days === undefined ? undefined : store.admin.history(now - (days - 1) * DAY_MS, now),
    ]);
  });
  if (flags.json) {
    printJson({ ...stats, ...(history && { history }) });
    return 0;
  }
  const { queues, ...counts } = stats;
  for (const [name, count] of Object.entries(counts)) print(`${name.padEnd(10)} ${count}`);
  if (queues.length > 0) {
    print("");
    printTable(QUEUE_COLUMNS, queueRows(queues), "");
  }
  if (history !== undefined) {
    print("");
    printTable(HISTORY_COLUMNS, history.map(({ day, processed, failed }) => [day, processed, failed]), "");
  }
  return 0;
}

function daysOf(text: string): number {
  const days = Number(text);
  if (Number.isInteger(days) && days >= 1 && days <= MAX_DAYS) return days;
  throw new UsageError(`Option --history is "${text}"; wanted: a number of days from 1 to ${MAX_DAYS}`);
}
