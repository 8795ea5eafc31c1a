/**
 * The check of `jobs doctor` on cron entries: whether they wait for the store's clock.
 *
 * @module
 */
import { ON_TIME_MS } from "../../cron/plan.ts";
import { formatDuration } from "../../job/duration.ts";
import type { Store } from "../../store/admin/store.ts";
import type { Finding } from "./doctor_finding.ts";

/** Reports that the store's clock was ahead when entries were decided. */
export async function checkCron(store: Pick<Store, "cron">): Promise<Finding[]> {
  const { now, latest } = await store.cron.survey([]);
  if (latest - now <= ON_TIME_MS) return [];
  const ahead = formatDuration(latest - now);
  return [{
    check: "cron",
    state: "warning",
    message: `cron entries have no runs for ${ahead}: the store's clock was ahead by as much, and was set back`,
    cure: `they run again from ${new Date(latest).toISOString()}; jobs cron run NAME runs one now`,
  }];
}
