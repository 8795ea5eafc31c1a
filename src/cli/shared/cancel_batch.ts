/**
 * Cancels a batch or a flow, for `jobs batch cancel` and `jobs flow cancel`, and refuses to retry one that is cancelled.
 *
 * @module
 */
import { retryRefusal } from "../../client/batch_errors.ts";
import { systemClock } from "../../clock.ts";
import type { Store } from "../../store/admin/store.ts";
import { cancelBatch } from "../../store/ops/batches.ts";
import type { Batch } from "../../store/port/batches.ts";
import { membersText } from "../../text/batches.ts";
import { UsageError } from "../terminal/errors.ts";
import { print, printJson } from "../terminal/output.ts";
import { recordAudit } from "./audit.ts";

/**
 * Cancels a batch or a flow, and prints how many of its members that cancelled.
 *
 * @param field the name of that number in JSON
 * @throws {UsageError} if it has ended
 */
export async function cancelAndPrint(
  store: Store,
  batch: Batch,
  { json, field }: { readonly json: boolean; readonly field: "members" | "nodes" },
): Promise<void> {
  const { id } = batch;
  const kind = batch.flow ? "flow" : "batch";
  const result = await cancelBatch(store, id, systemClock.now());
  if (result?.closedAs !== "cancelled") {
    const abandoned = batch.flow ? "never started" : "was abandoned";
    throw new UsageError(
      `Can't cancel ${kind} "${id}": it ${result?.closedAs === "abandoned" ? abandoned : "has ended"}`,
    );
  }
  const { members, done } = result;
  await recordAudit(store, { action: `${kind} cancel`, target: `${kind}:${id}`, count: members });
  const counted = membersText(members, batch);
  if (json) printJson({ cancelled: id, [field]: members, ...(!done && { alreadyCancelled: true }) });
  else if (done) print(`Cancelled ${kind} ${id} and ${counted}`);
  else {
    // An interrupted cancel leaves members, and a running job may ignore its signal.
    const left = members === 0 ? "" : `; ${counted} that still ran or waited: cancelled, too`;
    print(`${batch.flow ? "Flow" : "Batch"} ${id} is already cancelled${left}`);
  }
}

/** @throws {UsageError} if the batch or the flow was cancelled */
export function checkRetry(batch: Batch): void {
  const refusal = retryRefusal(batch.flow ? "flow" : "batch", batch);
  if (refusal !== undefined) throw new UsageError(refusal);
}
