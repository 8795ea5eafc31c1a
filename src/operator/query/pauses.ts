/**
 * When, and by whom, queues were paused.
 *
 * @module
 */
import type { Stats } from "../../store/admin/admin.ts";
import { type AuditLog, type LastPause, readEvents } from "../../store/admin/audit.ts";
import { pauseTarget } from "../../store/port/paused_queues.ts";

/** The latest events of the audit log that are searched. */
const MAX_EVENTS = 500;
const PAUSING: readonly string[] = ["pause", "resume"];

/** Reads the last pause of each paused queue, by its name, as far as the audit log goes back. No round trip if none is paused. */
export async function readPauses(
  log: AuditLog,
  queues: readonly Pick<Stats["queues"][number], "name" | "paused">[],
): Promise<ReadonlyMap<string, LastPause>> {
  const paused = queues.filter((queue) => queue.paused).map(({ name }) => name);
  if (paused.length === 0) return new Map();
  const { events } = await readEvents(log, { limit: MAX_EVENTS });
  return new Map(paused.flatMap((name) => {
    const target = pauseTarget(name);
    const last = events.find((event) => event.target === target && PAUSING.includes(event.action));
    return last?.action === "pause" && last.outcome === undefined ? [[name, last] as const] : [];
  }));
}
