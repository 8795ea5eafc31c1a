/**
 * Changing all jobs of a place at the command line: `--all SET`, how far it is, and Ctrl-C.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import type { Place } from "../../store/admin/admin.ts";
import { changeAll } from "../../store/ops/bulk_edit.ts";
import { placeName, readPlace } from "../../store/ops/job_sets.ts";
import { number } from "../../text/format.ts";
import { UsageError } from "../terminal/args.ts";
import { recordAudit } from "./audit.ts";
import { Interrupted, LongWork } from "../terminal/progress.ts";
import type { Store } from "../../store/admin/store.ts";

/**
 * The place that `--all` names.
 *
 * @param wanted the places that it may name
 * @throws {UsageError} when it names none of them
 */
export function parseAll(all: string, wanted: readonly string[]): Place {
  const place = readPlace(all);
  if (place !== undefined && wanted.includes(place.in === "queue" ? "queue:NAME" : all)) return place;
  throw new UsageError(`--all is "${all}"; wanted: one of ${wanted.join(", ")}`);
}

/** A change, in the words of its command. */
export interface JobChange {
  /** As the audit log calls it: `delete`. */
  readonly name: string;
  /** What it is doing, in a word: `Deleting`. */
  readonly doing: string;
  /** Completes "3 jobs …". */
  readonly done: string;
  readonly place: Place;
  /** How many are there when it begins. */
  readonly total: number;
  readonly steps: AsyncIterable<number>;
}

/**
 * Makes the change.
 *
 * @returns how many jobs were changed
 * @throws {Interrupted} when it is asked to stop; what is done by then stays done
 */
export async function bulkEdit(store: Store, { name, doing, done, place, total, steps }: JobChange) {
  using work = new LongWork(doing);
  let changed = 0;
  const { interrupted } = await changeAll({
    total,
    steps,
    signal: work.signal,
    progress: async (more) => {
      work.at({ done: changed += more, total });
      // Long enough to hear of a signal: on SQLite a step waits for nothing, and dozens of turns may pass before one is seen.
      await systemClock.sleep(1);
    },
    writeDown: (how) => {
      work.clear();
      return recordAudit(store, { action: name, target: `all in ${placeName(place)}`, ...how });
    },
  });
  if (!interrupted) return changed;
  const left = number(total - changed);
  throw new Interrupted(`Stopped: ${number(changed)} of ${number(total)} jobs ${done}; ${left} are left as they were`);
}
