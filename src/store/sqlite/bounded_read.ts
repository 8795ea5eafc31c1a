/**
 * Readings of payloads that are bounded by bytes as well as by number.
 *
 * @module
 */
import type { ByteBudget } from "../port/batch_bytes.ts";

/** Rows of the first read, as their sizes are not known, and of the largest. */
const FIRST_READ = 16;
const MAX_READ = 128;

/**
 * Reads rows in steps until there are `limit`, or no more, or the budget is spent. `StatementSync.iterate` would do, but
 * takes eight times as long per row.
 *
 * @param read reads up to `count` rows that follow `after`, or the first ones
 * @param payloadOf the row's payload
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
