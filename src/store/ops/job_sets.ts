/**
 * Names of places: `scheduled`, `retry`, `dead`, `running`, `queue:NAME`, and `queue:NAME|GROUP`.
 *
 * @module
 */
import type { AdminStore, Stats } from "../admin/admin.ts";
import type { Place, SetName } from "../port/entries.ts";
import { nameOf, splitName } from "../port/groups.ts";

const SETS: readonly string[] = ["scheduled", "retry", "dead"] satisfies SetName[];

/** Returns the place of a name; undefined for an unknown one. `busy` is `running`, too. */
export function readPlace(name: string): Place | undefined {
  if (SETS.includes(name)) return { in: name as SetName };
  if (name === "running" || name === "busy") return { in: "running" };
  return /^queue:./s.test(name) ? { in: "queue", ...splitName(name.slice("queue:".length)) } : undefined;
}

/** Returns the name of a place. */
export function placeName(place: Place): string {
  if (place.in === "queue") return `queue:${nameOf(place.queue, place.group)}`;
  return place.in;
}

/** Returns the number of jobs in a place, read from the store. That of a queue includes its groups. */
export async function readSize(admin: Pick<AdminStore, "stats" | "groups">, place: Place): Promise<number> {
  if (place.in !== "queue" || place.group === undefined) return sizeOf(place, await admin.stats());
  return (await admin.groups(place.queue, { group: place.group })).groups[0]?.size ?? 0;
}

/** Returns the number of jobs in a place. That of a queue includes its groups; for one group see {@linkcode readSize}. */
export function sizeOf(place: Place, stats: Pick<Stats, "queues" | Exclude<Place["in"], "queue">>): number {
  if (place.in === "queue") return stats.queues.find((queue) => queue.name === place.queue)?.size ?? 0;
  return stats[place.in];
}
