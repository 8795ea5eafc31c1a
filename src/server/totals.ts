/**
 * What this process has done, by class: shown with it in `jobs ps`.
 *
 * @module
 */

import type { ClassTotals } from "../store/store.ts";

/** How a job ended. A failure that is tried again is a failure each time. */
export type Ending = "done" | "failed" | "cancelled" | "expired";

/** Counts. */
export class Totals {
  readonly #classes = new Map<string, { -readonly [Field in keyof ClassTotals]: number }>();

  /** Counts one job. */
  add(className: string, ending: Ending, ms: number): void {
    let totals = this.#classes.get(className);
    if (totals === undefined) {
      totals = { done: 0, failed: 0, cancelled: 0, expired: 0, workedMs: 0 };
      this.#classes.set(className, totals);
    }
    totals[ending]++;
    totals.workedMs += ms;
  }

  /** The counts by class, as of now. */
  byClass(): Record<string, ClassTotals> {
    return Object.fromEntries([...this.#classes].map(([name, totals]) => {
      return [name, { ...totals, workedMs: Math.round(totals.workedMs) }];
    }));
  }
}
