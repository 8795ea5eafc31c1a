/**
 * Counts the outcomes of an entry's runs. The counters only grow, and are kept in the state of the entry, with the latest outcome.
 *
 * @module
 */
import type { CronRecord } from "./occurrence.ts";
import { type CronState, ON_TIME_MS } from "./plan.ts";

/** Returns the state with these records counted by outcome, and the latest of them. A run that was enqueued late counts as `late`, too. */
export function countRecords(state: CronState, records: readonly CronRecord[]): CronState {
  if (records.length === 0) return state;
  const counts: Record<string, number> = { ...state.counts };
  const add = (counter: string, count = 1) => counts[counter] = (counts[counter] ?? 0) + count;
  for (const { outcome, scheduledAt, decidedAt, count } of records) {
    add(outcome, count);
    if (outcome === "enqueued" && decidedAt - scheduledAt > ON_TIME_MS) add("late");
  }
  return { ...state, counts, last: records.at(-1)! };
}
