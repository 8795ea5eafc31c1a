/**
 * How far cron entries are behind, for `/metrics`: of those that are due first.
 *
 * @module
 */
import { readDefinition, readState } from "../../cron/definition.ts";
import { nextDue } from "../../operator/alerts/cron_alerts.ts";
import type { CronStore } from "../../store/port/cron.ts";

/** Entries that are read. */
const MAX_READ = 100;

/** Returns for how many milliseconds a run has been due that no worker has decided on, of the entry furthest behind. */
export async function overdueMs(cron: Pick<CronStore, "page">): Promise<number> {
  const { now, entries } = await cron.page({ sort: "next", limit: MAX_READ });
  const dues = entries.map((stored) => {
    const definition = readDefinition(stored);
    return nextDue(definition, readState(stored.state, definition)) ?? now;
  });
  return Math.max(0, ...dues.map((at) => now - at));
}
