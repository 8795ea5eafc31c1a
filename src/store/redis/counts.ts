/**
 * The counts of everything, in one script.
 *
 * @module
 */
import { getField, readWireTime } from "../../job/raw.ts";
import type { QueueInfo, Stats } from "../admin.ts";
import type { Context } from "./context.ts";
import { SCRIPTS } from "./script.ts";

/** See `StoreAdmin.stats`. */
export async function readStats({ link, offset }: Context): Promise<Stats> {
  const [counts, rows] = await link.run(SCRIPTS.stats, [], [offset()]) as [
    number[],
    [name: string, size: number, oldest: string | null, paused: number][],
  ];
  const [now, processed, failed, scheduled, retry, dead, leased, processes] = counts;
  const queues = rows
    .map(([name, size, oldest, paused]): QueueInfo => ({
      name,
      size,
      latencyMs: oldest === null ? 0 : Math.max(0, now! - (enqueuedAt(oldest) ?? now!)),
      paused: paused !== 0,
      ...(paused > 0 && { pausedForMs: paused }),
    }))
    .sort((a, b) => a.name < b.name ? -1 : 1);
  return {
    processed: processed!,
    failed: failed!,
    enqueued: queues.reduce((sum, queue) => sum + queue.size, 0),
    scheduled: scheduled!,
    retry: retry!,
    dead: dead!,
    leased: leased!,
    processes: processes!,
    queues,
  };
}

function enqueuedAt(payload: string): number | undefined {
  return readWireTime(getField(payload, "enqueued_at")) ?? readWireTime(getField(payload, "created_at"));
}
