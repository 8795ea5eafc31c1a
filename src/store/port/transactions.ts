/**
 * Verbs in a transaction of an application: what they write is stored if and only if it commits. Only stores in the application's
 * database have them.
 *
 * @module
 */
import type { Transaction } from "../../job/transaction.ts";
import type { EnqueueResult, NewJob } from "./jobs.ts";
import type { Outcome, SettleResult } from "./outcomes.ts";

/** The verbs. They reject with the error of the driver. The transaction must then be rolled back. */
export interface TransactionStore {
  /** See `JobStore.enqueue`. */
  enqueue(transaction: Transaction, jobs: readonly NewJob[]): Promise<EnqueueResult[]>;
  /** See `JobStore.settle`. The leases stay locked until the transaction ends. */
  settle(transaction: Transaction, worker: string, outcomes: readonly Outcome[]): Promise<SettleResult>;
  /** Returns whether a lease has ended. Waits until a transaction that settles it has ended. */
  hasEnded(worker: string, token: string): Promise<boolean>;
}
