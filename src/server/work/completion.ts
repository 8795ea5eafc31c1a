/**
 * The end of a job in a transaction of the application (`ctx.complete`).
 *
 * The outcome is written in the transaction, under the job's lease. The handler commits it, or doesn't: only the store knows, also when
 * the reply to its commit was lost. So when the handler has ended, the store is asked whether the lease has ended, too.
 *
 * @module
 */
import { checkTransaction } from "../../client/in_transaction.ts";
import { LeaseLost } from "../../job/errors.ts";
import type { AttemptOutcome } from "../../store/ops/outcome.ts";
import { StoreError } from "../../store/port/errors.ts";
import type { Transaction } from "../../job/transaction.ts";
import { type Attempt, isShutDown } from "./attempt.ts";
import type { ProcessorServices } from "./processor_services.ts";

/** Pause before the store is asked again. */
const RETRY_MS = 500;

/** The error of an attempt whose transaction was rolled back although its handler returned. */
export class RolledBack extends Error {
  override readonly name = "RolledBack";

  constructor() {
    super("The transaction of ctx.complete was not committed");
  }
}

/**
 * Writes the outcome of an attempt in a transaction.
 *
 * @throws {LeaseLost} if another worker has the job now
 */
export async function complete(
  attempt: Attempt,
  transaction: Transaction,
  outcomeOf: () => Promise<AttemptOutcome>,
  { transactions, worker }: ProcessorServices,
): Promise<void> {
  const { job } = attempt;
  checkTransaction(transaction);
  if (attempt.completed !== undefined) throw new TypeError("ctx.complete was called before");
  const active = job.finishSteps();
  if (active !== undefined) await active;
  const streaming = job.finishStream();
  if (streaming !== undefined) await streaming;
  if (!isShutDown(job)) job.throwIfAborted();
  job.steps?.throwIfEnding();
  if (attempt.leaseState !== "held") throw new LeaseLost();
  const outcome = await outcomeOf();
  const { lost } = await transactions!.settle(transaction, worker, [outcome]);
  if (lost.length > 0) {
    const error = new LeaseLost();
    job.abort(error);
    throw error;
  }
  attempt.completed = outcome;
}

/** Returns whether the transaction of an attempt has committed. Waits while the store doesn't know it; false if the lease is no longer held here. */
export async function hasCommitted(
  attempt: Attempt,
  { transactions, worker, clock, log }: ProcessorServices,
): Promise<boolean> {
  for (let failures = 0; attempt.leaseState === "held"; failures++) {
    try {
      return await transactions!.hasEnded(worker, attempt.lease.token);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (failures === 0) {
        log.warn("Waiting for the end of a job's transaction", { jid: attempt.job.jid, error: error.message });
      }
      await clock.sleep(RETRY_MS);
    }
  }
  return false;
}
