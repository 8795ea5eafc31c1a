/**
 * Queues in tables and messages.
 *
 * @module
 */
import { formatDuration } from "../job/duration.ts";
import type { QueueInfo } from "../store/admin/admin.ts";
import type { LastSet } from "../store/admin/audit.ts";
import { ALL_QUEUES } from "../store/port/paused_queues.ts";
import type { Columns } from "./columns.ts";
import { heldGroupsText } from "./groups.ts";
import { limitUse } from "./limits.ts";
import { localMinute, relative } from "./times.ts";

/** The columns of a list of queues. Without a count of workers, that column is empty. */
export const QUEUE_COLUMNS = {
  queue: { text: ({ name }) => shownQueue(name) },
  queued: { text: ({ size }) => size },
  latency: { text: ({ size, latencyMs }) => size === 0 ? undefined : formatDuration(latencyMs), isAmount: true },
  workers: { text: ({ workers }) => workers?.length },
  state: {
    text: (queue) =>
      [
        pauseText(queue),
        queue.limit && `${queue.limit.freeInMs === 0 ? "limit" : "at its limit"}: ${limitUse(queue.limit)}`,
        queue.heldGroups !== undefined && heldGroupsText(queue.heldGroups),
      ].filter(Boolean).join(", "),
    isState: true,
  },
} as const satisfies Columns<QueueInfo & { readonly workers?: readonly string[] }>;

/** Queues are in order of their latency from here on. Below it, the order by name stands still while jobs come and go. */
const BEHIND_MS = 10_000;

/** Returns queues in order: those that are behind first, the longest first; the others by name. */
export function behindFirst<Queue extends QueueInfo>(queues: readonly Queue[]): Queue[] {
  const behind = ({ size, latencyMs }: Queue) => size > 0 && latencyMs >= BEHIND_MS ? latencyMs : 0;
  return queues.toSorted((a, b) => behind(b) - behind(a) || (a.name < b.name ? -1 : 1));
}

/** Returns `, for 5m now, by ann`; empty if that isn't known. */
export function pausedSince(pause: LastSet | undefined, now: number): string {
  return pause === undefined ? "" : `, for ${formatDuration(Math.max(0, now - pause.at))} now, by ${pause.user}`;
}

/** Returns ` until 2027-01-31 08:00 UTC, in 5m`, or that the pause has no end. */
export function pausedUntil(pausedForMs: number | undefined, now: number): string {
  if (pausedForMs === undefined) return " until it is resumed";
  return ` until ${localMinute(now + pausedForMs, "UTC")} UTC, ${relative(now + pausedForMs, now)}`;
}

/** Returns `paused` or `paused for 10m`; undefined if it isn't. */
export function pauseText({ paused, pausedForMs }: Pick<QueueInfo, "paused" | "pausedForMs">): string | undefined {
  if (!paused) return undefined;
  return pausedForMs === undefined ? "paused" : `paused for ${formatDuration(pausedForMs)}`;
}

/** Returns a queue's name for people. */
export function shownQueue(name: string): string {
  return name === ALL_QUEUES ? "all queues" : name;
}

/** Lists the paused queues in one line; undefined if there are none. */
export function pausedQueues(queues: readonly QueueInfo[]): string | undefined {
  const paused = queues.filter((queue) => queue.paused).map((queue) =>
    shownQueue(queue.name) + (queue.pausedForMs === undefined ? "" : ` (for ${formatDuration(queue.pausedForMs)})`)
  );
  return paused.length === 0 ? undefined : paused.join(", ");
}
