/**
 * Changes all jobs of a place in steps, because a place may have millions.
 *
 * @module
 */
import type { AdminStore } from "../admin/admin.ts";
import type { Edit, Place } from "../port/entries.ts";
import type { JobStore } from "../port/jobs.ts";
import { queuePlaces } from "./queue_places.ts";

/** Maximum number of jobs that one step of the store changes. */
const BATCH = 1_000;

/**
 * Edits the jobs of a place in steps, earliest first; those of a queue group by group. At most as many jobs as at the start. Jobs that arrive meanwhile stay, and
 * jobs that fail again and return to the place don't make the change endless.
 */
export async function* editSteps(
  store: { readonly jobs: Pick<JobStore, "edit">; readonly admin: Pick<AdminStore, "groups"> },
  { place, edit, total }: { readonly place: Place; readonly edit: Edit; readonly total: number },
): AsyncGenerator<number> {
  let left = total;
  const isWholeQueue = place.in === "queue" && place.group === undefined;
  for (const one of isWholeQueue ? await queuePlaces(store.admin, place.queue) : [place]) {
    while (left > 0) {
      const changed = await store.jobs.edit({ in: one, limit: Math.min(BATCH, left) }, edit);
      if (changed === 0) break;
      left -= changed;
      yield changed;
    }
  }
}
