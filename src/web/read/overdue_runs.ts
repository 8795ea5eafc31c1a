/**
 * How far cron entries are behind, for `/metrics`. The next run of an entry is computed once for each change of it: a thousand
 * entries take 160 ms.
 *
 * @module
 */
import { readDefinition, readState } from "../../cron/definition.ts";
import { nextDue } from "../../operator/alerts/cron_alerts.ts";
import type { CronStore, StoredCron } from "../../store/port/cron.ts";
import type { CooperativeQueue } from "../http/cooperative_queue.ts";

interface Due {
  readonly version: number;
  /** Epoch milliseconds; undefined if no run follows. */
  readonly at: number | undefined;
}

/** Reads how far the entries are behind. */
export class OverdueRuns {
  readonly #slices: CooperativeQueue;
  #dues: ReadonlyMap<string, Due> = new Map();

  /** @param slices computes the next runs */
  constructor(slices: CooperativeQueue) {
    this.#slices = slices;
  }

  /** Returns for how many milliseconds a run has been due that no worker has decided on, of the entry furthest behind. */
  async read(cron: Pick<CronStore, "read">): Promise<number> {
    const { now, entries } = await cron.read();
    const dues = await this.#slices.map(entries, {
      weigh: ({ definition, state }) => definition.length + state.length,
      map: (entry) => [entry.name, this.#dueOf(entry)] as const,
    });
    this.#dues = new Map(dues);
    return Math.max(0, ...dues.map(([, { at = now }]) => now - at));
  }

  #dueOf({ name, version, definition, state }: StoredCron): Due {
    const known = this.#dues.get(name);
    return known?.version === version ? known : { version, at: nextDue(readDefinition(definition), readState(state)) };
  }
}
