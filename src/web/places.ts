/**
 * Places by the names they have in addresses, forms and the API: `scheduled`, `retry`, `dead`, `running`, `queue:NAME`.
 *
 * @module
 */
import { QUEUE_NAME } from "../config_parse.ts";
import type { Place, SetName, Stats } from "../store/admin.ts";
import { Refusal } from "./body.ts";

/** What can be done with a job. */
export type JobAction = "retry" | "kill" | "delete" | "move";

const SETS: readonly string[] = ["scheduled", "retry", "dead"] satisfies SetName[];

/**
 * The place of that name.
 *
 * @throws {Refusal} when there is none
 */
export function parsePlace(name: string): Place {
  if (SETS.includes(name)) return { in: name as SetName };
  if (name === "running") return { in: "leased" };
  if (name.startsWith("queue:")) return { in: "queue", queue: checkQueue(name.slice("queue:".length)) };
  throw new Refusal(400, `No place "${name}"; wanted: ${SETS.join(", ")}, running or queue:NAME`);
}

/**
 * The queue's name, if it can be one.
 *
 * @throws {Refusal} when it cannot
 */
export function checkQueue(name: string): string {
  if (QUEUE_NAME.test(name)) return name;
  throw new Refusal(400, `Queue "${name.slice(0, 80)}" cannot be; wanted: letters, digits and _ : . -`);
}

/** Its name. */
export function placeName(place: Place): string {
  if (place.in === "queue") return `queue:${place.queue}`;
  return place.in === "leased" ? "running" : place.in;
}

/** Its page. */
export function placePath(place: Place): string {
  switch (place.in) {
    case "queue":
      return `/queues/${encodeURIComponent(place.queue)}`;
    case "leased":
      return "/busy";
    case "retry":
      return "/retries";
    default:
      return `/${place.in}`;
  }
}

/** How many jobs are in it. */
export function sizeOf(place: Place, stats: Stats): number {
  if (place.in === "queue") return stats.queues.find((queue) => queue.name === place.queue)?.size ?? 0;
  return stats[place.in];
}

/** What can be done with the jobs in it. */
export function actionsIn(place: Place): readonly JobAction[] {
  switch (place.in) {
    case "leased":
      return [];
    case "queue":
      return ["move", "kill", "delete"];
    case "dead":
      return ["retry", "move", "delete"];
    default:
      return ["retry", "move", "kill", "delete"];
  }
}
