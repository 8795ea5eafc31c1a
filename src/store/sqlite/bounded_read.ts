/**
 * Reads of payloads that are bounded by bytes as well as by number.
 *
 * @module
 */
import type { ByteBudget } from "../port/batch_bytes.ts";

/** Rows of the first read, when their sizes are unknown, and of the following ones. */
const FIRST_READ = 16;
const MAX_READ = 128;

/**
 * Reads rows in steps until `limit` are read, no more follow, or the budget is spent. `StatementSync.iterate` takes eight times
 * as long per row.
 *
 * @param read reads up to `count` rows after `after`, or the first ones
 * @param payloadOf returns the row's payload
 */
export function readBounded<Row>(
  { limit, budget }: { readonly limit: number; readonly budget: ByteBudget },
  read: (count: number, after: Row | undefined) => readonly Row[],
  payloadOf: (row: Row) => string,
): Row[] {
  const rows: Row[] = [];
  for (let count = FIRST_READ; rows.length < limit; count = MAX_READ) {
    const wanted = Math.min(count, limit - rows.length);
    const step = read(wanted, rows.at(-1));
    for (const row of step) {
      if (!budget.spend(payloadOf(row))) return rows;
      rows.push(row);
    }
    if (step.length < wanted) break;
  }
  return rows;
}
