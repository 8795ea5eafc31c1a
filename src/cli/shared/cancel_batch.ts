/**
 * Cancels or retries a batch or a flow, for `jobs batch` and `jobs flow`.
 *
 * @module
 */
import { cancelBatch, cancelFlow, retryBatch, retryFlow } from "../../operator/actions/batches.ts";
import type { Store } from "../../store/admin/store.ts";
import type { Batch } from "../../store/port/batches.ts";
import { membersText } from "../../text/batches.ts";
import { print, printJson } from "../terminal/output.ts";
import { actHere } from "./act.ts";

/**
 * Cancels a batch or a flow, and prints how many of its members that cancelled.
 *
 * @param field the name of that number in JSON
 */
export async function cancelAndPrint(
  store: Store,
  batch: Batch,
  { json, field }: { readonly json: boolean; readonly field: "members" | "nodes" },
): Promise<void> {
  const { id } = batch;
  const kind = batch.flow ? "flow" : "batch";
  const { changed: members, alreadyCancelled } = await actHere(store, batch.flow ? cancelFlow : cancelBatch, { id });
  const counted = membersText(members, batch);
  if (json) printJson({ cancelled: id, [field]: members, ...(alreadyCancelled && { alreadyCancelled }) });
  else if (!alreadyCancelled) print(`Cancelled ${kind} ${id} and ${counted}`);
  else {
    // An interrupted cancel leaves members, and a running job may ignore its signal.
    const left = members === 0 ? "" : `; ${counted} that still ran or waited: cancelled, too`;
    print(`${batch.flow ? "Flow" : "Batch"} ${id} is already cancelled${left}`);
  }
}

/** Requeues the dead members of a batch or a flow, and prints how many. */
export async function retryAndPrint(store: Store, batch: Batch, json: boolean): Promise<void> {
  const { changed } = await actHere(store, batch.flow ? retryFlow : retryBatch, { id: batch.id });
  if (json) printJson({ retried: changed });
  else print(`Enqueued ${membersText(changed, batch)} again`);
}
