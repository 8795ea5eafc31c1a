/** `jobs stats`. @module */
import { systemClock } from "../../clock.ts";
import { DAY_MS } from "../../store/port/history.ts";
import type { Stats } from "../../store/admin/admin.ts";
import { number } from "../../text/format.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import { print, printJson } from "../terminal/output.ts";
import { QUEUE_COLUMNS } from "../../text/queues.ts";
import { withStore } from "../shared/store.ts";
import { printList, printTable } from "../terminal/table.ts";

/** The store keeps no more days. */
const MAX_DAYS = 1_825;
const HISTORY_COLUMNS = ["day", "processed", "failed"] as const;

/** The text of `--help`. */
export const help = `
Usage: jobs stats [--history DAYS] [--json]

Prints counts: jobs processed and failed since the beginning, jobs in each state
and queue, and online workers.

      --history DAYS     also print the jobs of each of the last days (UTC)

Examples
  jobs stats
  jobs stats --history 7
  jobs stats --json`;

/** Prints the counts. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("stats", argv, { ...COMMON_FLAGS, history: { takes: "text" } }, "");
  const days = flags.history === undefined ? undefined : parseDays(flags.history);
  const [stats, history] = await withStore(flags, async (store) => {
    const now = systemClock.now();
    return await Promise.all([
      store.admin.stats(),
      days === undefined ? undefined : store.series.read("days", { from: now - (days - 1) * DAY_MS, to: now }),
    ]);
  });
  const { queues, ...counts } = statsJson(stats);
  if (flags.json) {
    printJson({ ...counts, queues, ...(history && { history }) });
    return 0;
  }
  for (const [name, count] of Object.entries(counts)) {
    // sleepingSteps → sleeping steps
    print(`${name.replace("Steps", " steps").padEnd(14)} ${number(count)}`);
  }
  if (queues.length > 0) {
    print("");
    printList(QUEUE_COLUMNS, queues, "");
  }
  if (history !== undefined) {
    print("");
    printTable(HISTORY_COLUMNS, history.map(({ day, processed, failed }) => [day, processed, failed]), "");
  }
  return 0;
}

/** Returns the counts under the names of the states. */
export function statsJson(stats: Stats) {
  const { processed, failed, enqueued, running, scheduled, retry, dead, workers, queues, waits } = stats;
  const states = { queued: enqueued, running, scheduled, retrying: retry, dead };
  const steps = { sleepingSteps: waits.sleep, waitingSteps: waits.wait + waits.child };
  return { processed, failed, ...states, ...steps, workers, queues };
}

function parseDays(text: string): number {
  const days = Number(text);
  if (Number.isInteger(days) && days >= 1 && days <= MAX_DAYS) return days;
  throw new UsageError(`Invalid --history "${text}": expected a number of days from 1 to ${MAX_DAYS}`);
}
