/**
 * The runs that must be in a queue, may be, or must not.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { getField, readWireTime } from "../../src/job/raw.ts";
import type { Store } from "../../src/store/admin/store.ts";

/** Runs by `NAME TIME`, each with the fewest and the most jobs. */
export class Expected {
  readonly #runs = new Map<string, readonly [min: number, max: number]>();

  /** An entry runs at this time, once. */
  run(name: string, at: number, min: 0 | 1 = 1): void {
    this.#runs.set(`${name} ${at}`, [min, 1]);
  }

  /**
   * An entry has changed between two times, so that later runs of its old rule don't take place.
   *
   * @param change.keeps whether earlier runs that aren't decided yet still take place
   */
  change(
    name: string,
    at: number,
    change: { readonly from: number; readonly to: number; readonly keeps: boolean },
  ): void {
    const { from, to, keeps } = change;
    this.#runs.set(`${name} ${at}`, to < at ? [0, 0] : from > at && keeps ? [1, 1] : [0, 1]);
  }

  /** Compares with the runs that were enqueued. */
  check(runs: ReadonlyMap<string, number>): void {
    const wrong: string[] = [];
    for (const [run, [min, max]] of this.#runs) {
      const count = runs.get(run) ?? 0;
      if (count < min || count > max) wrong.push(`${run}: ${count} jobs, expected ${min} to ${max}`);
    }
    for (const run of runs.keys()) if (!this.#runs.has(run)) wrong.push(`${run}: unexpected`);
    assertEquals(wrong.slice(0, 20), [], `${wrong.length} runs are wrong`);
  }
}

/** Returns how many jobs of each run are in a queue, by `NAME TIME`, and how late the last run of each time was. */
export async function runsIn(
  store: Store,
  queue: string,
): Promise<{ readonly runs: Map<string, number>; readonly lateMs: Map<number, number> }> {
  const runs = new Map<string, number>();
  const lateMs = new Map<number, number>();
  let cursor: string | undefined;
  do {
    const page = await store.admin.page({ in: "queue", queue }, { limit: 1_000, ...(cursor && { cursor }) });
    for (const { payload } of page.entries) {
      const { occurrence: { name, scheduledAt } } = JSON.parse(payload);
      const at = Date.parse(scheduledAt);
      const run = `${name} ${at}`;
      runs.set(run, (runs.get(run) ?? 0) + 1);
      const late = Math.round(readWireTime(getField(payload, "enqueued_at"))! - at);
      lateMs.set(at, Math.max(lateMs.get(at) ?? 0, late));
    }
    cursor = page.next;
  } while (cursor !== undefined);
  return { runs, lateMs };
}
