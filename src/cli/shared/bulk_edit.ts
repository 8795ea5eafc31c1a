/**
 * Bulk actions at the command line: progress, Ctrl-C and the audit log.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import { systemClock } from "../../clock.ts";

import { changeAll } from "../../store/ops/bulk_edit.ts";
import { number } from "../../text/format.ts";
import { recordAudit } from "./audit.ts";
import { Interrupted } from "../terminal/errors.ts";
import { LongWork } from "../terminal/progress.ts";

/** A bulk action, in the words of its command. */
export interface BulkAction {
  /** Its name in the audit log: `delete`. */
  readonly name: string;
  /** The present participle: `Deleting`. */
  readonly doing: string;
  /** The past participle: `Deleted`. */
  readonly done: string;
  /** Its object in the audit log: `all dead jobs of class "Import"`. */
  readonly target: string;
  /** More for the audit log: `to queue low`. */
  readonly details?: string | undefined;
  /** At most this many jobs. */
  readonly total: number;
  /** Performs a batch with each step; yields the number of changed jobs. */
  readonly steps: AsyncIterable<number>;
}

/**
 * Performs a bulk action.
 *
 * @returns the number of changed jobs
 * @throws {Interrupted} on Ctrl-C; the jobs changed by then stay changed
 */
export async function runBulk(store: Store, action: BulkAction): Promise<number> {
  const { name, doing, done, target, details, total, steps } = action;
  using work = new LongWork(doing);
  let changed = 0;
  const { interrupted } = await changeAll({
    total,
    steps,
    signal: work.signal,
    progress: async (more) => {
      work.at({ done: changed += more, total });
      // Lets a signal arrive: on SQLite, a step never yields to the event loop.
      await systemClock.sleep(1);
    },
    record: (how) => {
      work.clear();
      return recordAudit(store, { action: name, target, ...(details !== undefined && { details }), ...how });
    },
  });
  if (!interrupted) return changed;
  throw new Interrupted(`Interrupted: ${done.toLowerCase()} ${number(changed)} of ${number(total)} jobs`);
}
