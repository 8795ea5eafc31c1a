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
 * Collects rows that are read in steps, until `limit` are read, no more follow, or the budget is spent:
 * `while (read.wanted > 0) read.add(…)`. `StatementSync.iterate` takes eight times as long per row.
 */
export class BoundedRead<Row> {
  /** The rows. */
  readonly rows: Row[] = [];
  /** The number of rows to read next, after {@linkcode last}; 0 at the end. */
  wanted: number;
  readonly #limit: number;
  readonly #budget: ByteBudget;
  readonly #payloadOf: (row: Row) => string;

  /** @param payloadOf returns the row's payload */
  constructor(
    { limit, budget }: { readonly limit: number; readonly budget: ByteBudget },
    payloadOf: (row: Row) => string,
  ) {
    this.#limit = limit;
    this.#budget = budget;
    this.#payloadOf = payloadOf;
    this.wanted = Math.min(FIRST_READ, limit);
  }

  /** The last row. */
  get last(): Row | undefined {
    return this.rows.at(-1);
  }

  /** Adds the rows of a step, up to {@linkcode wanted}. */
  add(step: readonly unknown[]): void {
    const isEnd = step.length < this.wanted;
    this.wanted = 0;
    for (const row of step as readonly Row[]) {
      if (!this.#budget.spend(this.#payloadOf(row))) return;
      this.rows.push(row);
    }
    if (!isEnd) this.wanted = Math.max(0, Math.min(MAX_READ, this.#limit - this.rows.length));
  }
}
