/**
 * How often each outcome came about: numbers that only grow, kept with the entry's state.
 *
 * @module
 */
import type { CronRecord } from "./occurrence.ts";
import { type CronState, ON_TIME_MS } from "./plan.ts";

/** The state with these records counted: each by its outcome, and enqueued ones that are not on time as `late`, too. */
export function countRecords(state: CronState, records: readonly CronRecord[]): CronState {
  if (records.length === 0) return state;
  const counts: Record<string, number> = { ...state.counts };
  const add = (what: string, count = 1) => counts[what] = (counts[what] ?? 0) + count;
  for (const { outcome, scheduledAt, decidedAt, count } of records) {
    add(outcome, count);
    if (outcome === "enqueued" && decidedAt - scheduledAt > ON_TIME_MS) add("late");
  }
  return { ...state, counts };
}
