/**
 * Cancelling a job wherever it is.
 *
 * @module
 */
import type { StoreAdmin } from "./admin.ts";

/** Deletes the job, or, where it is performed, asks that process to cancel it. A dead one stays. */
export async function cancelJob(store: Pick<StoreAdmin, "find" | "edit" | "send">, jid: string): Promise<void> {
  for (const { ref, place, owner } of await store.find(jid)) {
    if (owner !== undefined) await store.send(owner, { verb: "cancel", jid });
    else if (place.in !== "dead") await store.edit([ref], "delete");
  }
}
