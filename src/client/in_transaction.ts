/**
 * Pushes in transactions of an application.
 *
 * @module
 */
import { InvalidPayload } from "../job/errors.ts";
import type { Transaction } from "../job/transaction.ts";
import type { ClientStore } from "./options.ts";
import type { JobTarget } from "./pusher.ts";

const EXPECTED = "the sql of sql.begin (npm postgres), or a client after its BEGIN (npm pg)";

/**
 * Returns what receives the jobs of a push: the store, or a transaction in its database.
 *
 * @throws {InvalidPayload} if the store takes part in no transaction, or this is none
 */
export function storeIn(transaction: Transaction | undefined, store: ClientStore): JobTarget {
  if (transaction === undefined) return store;
  const { transactions } = store;
  if (transactions === undefined) {
    throw new InvalidPayload(
      "transaction",
      transaction,
      "none: only a store in a PostgreSQL database, opened by this process, takes part in transactions",
    );
  }
  checkTransaction(transaction);
  return { jobs: { enqueue: (jobs) => transactions.enqueue(transaction, jobs) } };
}

/** @throws {InvalidPayload} if a value isn't a transaction. A pool isn't one: each statement has another connection. */
export function checkTransaction(transaction: unknown): asserts transaction is Transaction {
  const given = Object(transaction) as Readonly<Record<string, unknown>>;
  const runs = typeof given.unsafe === "function" || typeof given.query === "function";
  if (!runs) throw new InvalidPayload("transaction", transaction, EXPECTED);
  if ("begin" in given || "totalCount" in given) {
    throw new InvalidPayload("transaction", transaction, `${EXPECTED}, not its pool`);
  }
}
