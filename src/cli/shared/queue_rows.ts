/**
 * Queues in tables and messages.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import type { QueueInfo } from "../../store/admin/admin.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { heldGroupsText } from "../../text/groups.ts";
import { limitUse } from "../../text/limits.ts";
import type { RowColumn } from "../terminal/table.ts";

/** The columns of a list of queues: name, queued jobs, latency, and pause and limit. */
export const QUEUE_COLUMNS: readonly RowColumn<QueueInfo>[] = [
  ["queue", ({ name }) => shownQueue(name)],
  ["queued", ({ size }) => size],
  ["latency", ({ latencyMs }) => formatDuration(latencyMs)],
  [{ heading: "state", colors: { paused: "yellow" } }, ({ paused, pausedForMs, limit, heldGroups }) =>
    [
      ...(paused ? [pausedForMs === undefined ? "paused" : `paused for ${formatDuration(pausedForMs)}`] : []),
      ...(limit ? [`limited: ${limitUse(limit)}`] : []),
      ...(heldGroups === undefined ? [] : [heldGroupsText(heldGroups)]),
    ].join(", ")],
];

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
