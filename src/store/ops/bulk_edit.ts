/**
 * Changing all jobs of a place: in steps, as there may be millions, and written down before it begins and at its end,
 * however it ends. What the command line and the dashboard draw of it is theirs.
 *
 * @module
 */
import type { AdminStore, Edit, Place } from "../admin/admin.ts";
import type { AuditEvent } from "../admin/audit.ts";

/** So many are changed in one step of the store. */
const BATCH = 1_000;

/** How a change goes, and who is told. */
export interface ChangeAll {
  /** How many are there at its beginning. */
  readonly total: number;
  /** Each is a step that has been made: so many were changed by it. */
  readonly steps: AsyncIterable<number>;
  /** Writes down how far it is: before the first step, and at the end. Without an outcome, all of it was done. */
  readonly writeDown: (how: Required<Pick<AuditEvent, "count">> & Pick<AuditEvent, "outcome">) => Promise<void>;
  /** After each step: so many more. What it throws ends the change. */
  readonly progress?: (more: number) => void | Promise<void>;
  /** Ends it between two steps; what is done by then stays done. */
  readonly signal?: AbortSignal;
}

/** What came of it. */
export interface ChangedAll {
  readonly changed: number;
  /** Whether it was ended by its signal. */
  readonly interrupted: boolean;
}

/**
 * Makes the steps.
 *
 * @throws what a step throws; that, too, is written down, with how many were changed before
 */
export async function changeAll({ total, steps, writeDown, progress, signal }: ChangeAll): Promise<ChangedAll> {
  // Before it is done, so that it is known whatever happens; and once more at its end.
  await writeDown({ count: total, outcome: "begun" });
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
    await writeDown({ count: changed, ...(outcome !== undefined && { outcome }) });
  }
}

/**
 * The steps that edit the jobs of a place, earliest first. No more of them than there were at the start: what comes there
 * meanwhile is left alone, and what fails again meanwhile, and comes back behind, makes no end of it.
 */
export async function* editSteps(
  store: { readonly admin: Pick<AdminStore, "editSome"> },
  { place, edit, total }: { readonly place: Place; readonly edit: Edit; readonly total: number },
): AsyncGenerator<number> {
  for (let left = total; left > 0;) {
    const changed = await store.admin.editSome(place, edit, Math.min(BATCH, left));
    if (changed === 0) return;
    left -= changed;
    yield changed;
  }
}
