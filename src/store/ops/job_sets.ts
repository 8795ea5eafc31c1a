/**
 * Names of places: `scheduled`, `retry`, `dead`, `running`, `queue:NAME`.
 *
 * @module
 */
import type { Place, SetName, Stats } from "../admin/admin.ts";

const SETS: readonly string[] = ["scheduled", "retry", "dead"] satisfies SetName[];

/** Returns the place of a name; undefined for an unknown one. `busy` is `running`, too. */
export function readPlace(name: string): Place | undefined {
  if (SETS.includes(name)) return { in: name as SetName };
  if (name === "running" || name === "busy") return { in: "leased" };
  return /^queue:./s.test(name) ? { in: "queue", queue: name.slice("queue:".length) } : undefined;
}

/** Returns the name of a place. */
export function placeName(place: Place): string {
  if (place.in === "queue") return `queue:${place.queue}`;
  return place.in === "leased" ? "running" : place.in;
}

/** Returns the number of jobs in a place. */
export function sizeOf(place: Place, stats: Pick<Stats, "queues" | Exclude<Place["in"], "queue">>): number {
  if (place.in === "queue") return stats.queues.find((queue) => queue.name === place.queue)?.size ?? 0;
  return stats[place.in];
}
