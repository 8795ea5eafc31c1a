/**
 * The errors of batches, and the reasons why a batch rejects a job.
 *
 * @module
 */
import type { Batch, BatchRefusal, CloseResult } from "../store/port/batches.ts";

/**
 * A batch rejects a job, or doesn't exist.
 *
 * @example
 * ```ts
 * import { BatchError, Client, openStore } from "@jobs/jobs";
 *
 * await using store = await openStore("sqlite::memory:");
 * const client = new Client({ store, onUnregistered: () => {} });
 * const batch = await client.batch({ name: "import" }, (add) => add("ImportRow", [1]));
 * await batch.add("ImportRow", [2]).catch((error) => {
 *   if (!(error instanceof BatchError)) throw error; // it is closed
 * });
 * ```
 */
export class BatchError extends Error {
  /** `BatchError`. */
  override readonly name = "BatchError";
}

const REASONS: Readonly<Record<BatchRefusal, string>> = {
  missing: "it doesn't exist, or its retention has expired",
  closed: "it is closed; only its running members add to it",
  cancelled: "it was cancelled",
  abandoned: "it was abandoned: it had not been closed in time",
};

/** Returns the error for a batch that rejects `verb`. */
export function batchRefusal(id: string, reason: BatchRefusal, verb = "add to"): BatchError {
  return new BatchError(`Cannot ${verb} batch "${id}": ${REASONS[reason]}`);
}

/** Returns the message for a batch or a flow whose dead members can't be retried; undefined if they can. */
export function retryRefusal(kind: "batch" | "flow", { id, state }: Pick<Batch, "id" | "state">): string | undefined {
  if (state !== "cancelled") return undefined;
  return `Cannot retry ${kind} "${id}": it was cancelled, and its jobs no longer run; push them in a new one`;
}

/** Returns the message for a batch or a flow that can't be cancelled; undefined if it is closed as cancelled. */
export function cancelRefusal(
  kind: "batch" | "flow",
  { id, closedAs }: { readonly id: string; readonly closedAs: NonNullable<CloseResult>["closedAs"] },
): string | undefined {
  if (closedAs === "cancelled") return undefined;
  const why = closedAs === "closed" ? "has ended" : kind === "flow" ? "never started" : "was abandoned";
  return `Cannot cancel ${kind} "${id}": it ${why}`;
}

/** Returns why a batch rejects a job, as the result of a push has it. */
export function refusalText(id: string, reason: BatchRefusal): string {
  return `batch "${id}" ${REASONS[reason].replace(/^it /, "")}`;
}
