/**
 * Transactions of an application, as it hands them to a client or a job.
 *
 * @module
 */
/**
 * A transaction in the database of the store: the `sql` of `sql.begin` of npm `postgres`, or a client of npm `pg` after its `BEGIN`.
 *
 * @example
 * ```ts
 * import type { Client, Transaction } from "@jobs/jobs";
 *
 * async function order(client: Client, transaction: Transaction, id: number) {
 *   await client.push("SendReceipt", [id], { transaction });
 * }
 * ```
 */
export type Transaction =
  // deno-lint-ignore no-explicit-any -- the parameters and rows of each driver
  | { unsafe(text: string, values?: any[]): PromiseLike<any> }
  // deno-lint-ignore no-explicit-any -- as above
  | { query(text: string, values?: any[]): PromiseLike<any> };
