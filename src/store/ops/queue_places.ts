/**
 * The places of a queue: that of its jobs without a group, and one per group.
 *
 * @module
 */
import type { AdminStore } from "../admin/admin.ts";
import type { Place } from "../port/entries.ts";

const PAGE = 500;

/** A place in a queue. */
export type QueuePlace = Place & { readonly in: "queue" };

/** Returns the places of a queue: its jobs without a group first, then its groups with jobs, by name. */
export async function queuePlaces(admin: Pick<AdminStore, "groups">, queue: string): Promise<QueuePlace[]> {
  const places: QueuePlace[] = [{ in: "queue", queue }];
  let cursor: string | undefined;
  do {
    const page = await admin.groups(queue, { limit: PAGE, ...(cursor !== undefined && { cursor }) });
    for (const { name: group, size } of page.groups) if (size > 0) places.push({ in: "queue", queue, group });
    cursor = page.next;
  } while (cursor !== undefined);
  return places;
}
