/**
 * Queues as lists show them: with their workers, and the limits of their groups.
 *
 * @module
 */
import type { QueueInfo } from "../../store/admin/admin.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import { groupLimitText } from "../../text/groups.ts";
import type { Services } from "../services.ts";

/** A queue in a list. */
export interface QueueRow extends QueueInfo {
  /** The IDs of the online workers that fetch from it. */
  readonly workers: readonly string[];
  /** The limit of each of its groups, in words; absent without one, or if it wasn't read. */
  readonly each?: string | undefined;
}

/** Queues of a page whose limits of groups are read: each takes some round trips. */
const MAX_EACH = 20;

/** Adds their workers to queues. */
export function withWorkers(queues: readonly QueueInfo[], workers: readonly WorkerInfo[]): QueueRow[] {
  const fetching = workers.filter(({ alive, quiet }) => alive && !quiet);
  return queues.map((queue) => ({
    ...queue,
    workers: fetching.filter(({ queues }) => queues.includes(queue.name)).map(({ id }) => id),
  }));
}

/** Adds their workers and the limits of each of their groups to queues. */
export async function queueRows(
  { store }: Pick<Services, "store">,
  queues: readonly QueueInfo[],
  workers: readonly WorkerInfo[],
): Promise<QueueRow[]> {
  const set = queues.filter(({ hasGroupSettings }) => hasGroupSettings).slice(0, MAX_EACH);
  const limits = await Promise.all(set.map(async ({ name }) => {
    const { each } = await store.admin.groups(name, { limit: 1, isSet: true });
    return [name, each && groupLimitText(each)] as const;
  }));
  const eachOf = new Map(limits);
  return withWorkers(queues, workers).map((queue) => ({ ...queue, each: eachOf.get(queue.name) }));
}
