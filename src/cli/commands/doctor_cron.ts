/**
 * The check of `jobs doctor` on cron entries: those that wait for the store's clock.
 *
 * @module
 */
import { readState } from "../../cron/definition.ts";
import { heldUntil } from "../../cron/plan.ts";
import { formatDuration } from "../../job/duration.ts";
import type { Store } from "../../store/admin/store.ts";
import type { Finding } from "./doctor_finding.ts";

/** Reports entries whose runs were decided while the store's clock was ahead. */
export async function checkCron(store: Pick<Store, "cron">): Promise<Finding[]> {
  const { entries, now } = await store.cron.read();
  const held = entries.flatMap(({ name, state }) => {
    const before = readState(state);
    const until = before && heldUntil(before, now);
    return until === undefined ? [] : [{ name, until }];
  });
  if (held.length === 0) return [];
  const until = Math.max(...held.map((one) => one.until));
  const which = held.length === 1 ? `cron entry "${held[0]!.name}" has` : `${held.length} cron entries have`;
  return [{
    check: "cron",
    state: "warning",
    message: `${which} no runs for ${
      formatDuration(until - now)
    }: the store's clock was ahead by as much, and was set back`,
    cure: `they run again from ${new Date(until).toISOString()}; jobs cron run ${held[0]!.name} runs one now`,
  }];
}
