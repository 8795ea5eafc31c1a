/**
 * Changes all jobs of a place in steps, because a place may have millions. The audit log gets an event before the first step and
 * one at the end, however it ends. The command line and the dashboard display the progress themselves.
 *
 * @module
 */
import type { AdminStore } from "../admin/admin.ts";
import type { Edit, Place } from "../port/entries.ts";
import type { AuditEvent } from "../admin/audit.ts";
import { queuePlaces } from "./queue_places.ts";

/** Maximum number of jobs that one step of the store changes. */
const BATCH = 1_000;

/** A change of many jobs. */
export interface ChangeAll {
  /** Number of jobs at the start. */
  readonly total: number;
  /** Yields after each step how many jobs it changed. */
  readonly steps: AsyncIterable<number>;
  /** Writes an event: before the first step, and at the end. Without an outcome, the change is complete. */
  readonly record: (how: Required<Pick<AuditEvent, "count">> & Pick<AuditEvent, "outcome">) => Promise<void>;
  /** Called after each step with the number of changed jobs. An error that it throws ends the change. */
  readonly progress?: (more: number) => void | Promise<void>;
  /** Ends the change between two steps. The steps before stay done. */
  readonly signal?: AbortSignal;
}

/** The result of a change. */
export interface ChangedAll {
  readonly changed: number;
  /** Whether its signal ended it. */
  readonly interrupted: boolean;
}

/**
 * Makes the steps, and records the start and the end.
 *
 * @throws the error of a step, which is recorded with the number of jobs changed before
 */
export async function changeAll({ total, steps, record, progress, signal }: ChangeAll): Promise<ChangedAll> {
  // Record the start first, so that the log has it whatever happens.
  await record({ count: total, outcome: "begun" });
  let changed = 0;
  let outcome: string | undefined;
  const isStopped = () => signal !== undefined && signal.aborted && changed < total;
  try {
    if (!isStopped()) {
      for await (const more of steps) {
        changed += more;
        await progress?.(more);
        if (isStopped()) break;
      }
    }
    const interrupted = isStopped();
    if (interrupted) outcome = "interrupted";
    return { changed, interrupted };
  } catch (error) {
    outcome = `ended early: ${(error as Error).message}`;
    throw error;
  } finally {
    await record({ count: changed, ...(outcome !== undefined && { outcome }) });
  }
}

/**
 * Edits the jobs of a place in steps, earliest first; those of a queue group by group. At most as many jobs as at the start. Jobs that arrive meanwhile stay, and
 * jobs that fail again and return to the place don't make the change endless.
 */
export async function* editSteps(
  store: { readonly admin: Pick<AdminStore, "editSome" | "groups"> },
  { place, edit, total }: { readonly place: Place; readonly edit: Edit; readonly total: number },
): AsyncGenerator<number> {
  let left = total;
  const isWholeQueue = place.in === "queue" && place.group === undefined;
  for (const one of isWholeQueue ? await queuePlaces(store.admin, place.queue) : [place]) {
    while (left > 0) {
      const changed = await store.admin.editSome(one, edit, Math.min(BATCH, left));
      if (changed === 0) break;
      left -= changed;
      yield changed;
    }
  }
}
