/**
 * `jobs cancel --all SET`.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { cancelSteps } from "../../store/ops/cancel.ts";
import { placeName, sizeOf } from "../../store/ops/job_sets.ts";
import { bulkEdit, parseAll } from "./bulk_edit.ts";
import { confirmed, jobCount, missingQueue } from "../terminal/confirm.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import type { Store } from "../../store/admin/store.ts";

const PLACES = ["scheduled", "retry", "busy", "queue:NAME"];

/**
 * Cancels the jobs that are in a place now, each as by its jid: what comes there meanwhile is left alone, and so is what
 * cannot be read.
 *
 * @returns the exit code: 1 when there is no such queue, or the answer is no
 * @throws {UsageError} when there is no such place, or nobody can be asked
 * @throws {Interrupted} when it is asked to stop; what is cancelled by then stays so
 */
export async function cancelAll(
  store: Store,
  all: string,
  { json, yes }: { readonly json: boolean; readonly yes: boolean },
): Promise<number> {
  const place = parseAll(all, PLACES);
  const stats = await store.admin.stats();
  const missing = missingQueue(place, stats.queues);
  if (missing !== undefined) {
    printError(`jobs: ${missing}`);
    return 1;
  }
  const total = sizeOf(place, stats);
  if (total > 0 && !confirmed(`Cancel ${jobCount(total)} in ${placeName(place)}`, { yes })) {
    printError("jobs: nothing is cancelled");
    return 1;
  }
  const words = { name: "cancel", doing: "Cancelling", done: "cancelled" };
  const steps = cancelSteps(store, { place, total, now: systemClock.now });
  const cancelled = await bulkEdit(store, { ...words, place, total, steps });
  if (json) printJson({ cancel: cancelled });
  else print(`${jobCount(cancelled)} cancelled`);
  return 0;
}
