/**
 * Places as addresses, forms and the API name them, and what can be done there.
 *
 * @module
 */
import { QUEUE_NAME } from "../../job/queue_name.ts";
import type { Place } from "../../store/admin/admin.ts";
import { readPlace } from "../../store/ops/job_sets.ts";
import { HttpError } from "../http/body.ts";

/** What can be done with a job. Cancelled and deleted it is gone; cancelled, whoever asks or waits for it is told. */
export type JobAction = "retry" | "kill" | "cancel" | "delete" | "move";

/**
 * The place of that name.
 *
 * @throws {HttpError} when there is none
 */
export function parsePlace(name: string): Place {
  const place = readPlace(name);
  if (place?.in === "queue") checkQueue(place.queue);
  if (place !== undefined) return place;
  throw new HttpError(400, `No place "${name}"; wanted: scheduled, retry, dead, running or queue:NAME`);
}

/**
 * The queue's name, if it can be one.
 *
 * @throws {HttpError} when it cannot
 */
export function checkQueue(name: string): string {
  if (QUEUE_NAME.test(name)) return name;
  throw new HttpError(400, `Queue "${name.slice(0, 80)}" cannot be; wanted: letters, digits and _ : . -`);
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

/** What can be done with the jobs in it. */
export function actionsIn(place: Place): readonly JobAction[] {
  switch (place.in) {
    case "leased":
      return [];
    case "queue":
      return ["move", "kill", "cancel", "delete"];
    case "dead":
      return ["retry", "move", "delete"];
    default:
      return ["retry", "move", "kill", "cancel", "delete"];
  }
}
