/**
 * Places of jobs by their names in URLs, forms and the API, and the actions on jobs there.
 *
 * @module
 */
import { isStoredGroup } from "../../job/aside.ts";
import { GROUP_NAME_EXPECTED } from "../../job/group.ts";
import { isQueueName, QUEUE_NAME_EXPECTED } from "../../job/queue_name.ts";
import type { Place } from "../../store/port/entries.ts";
import { readPlace } from "../../store/ops/job_sets.ts";
import type { JobAction } from "../../operator/actions/job_ids.ts";
import { HttpError } from "../http/body.ts";

/**
 * Returns the place of this name.
 *
 * @throws {HttpError} if the place is unknown
 */
export function parsePlace(name: string): Place {
  const place = readPlace(name);
  if (place?.in === "queue") {
    checkQueue(place.queue);
    if (place.group !== undefined) checkGroup(place.group);
  }
  if (place !== undefined) return place;
  throw new HttpError(
    400,
    `Unknown place "${name.slice(0, 80)}"; expected scheduled, retry, dead, running, queue:NAME or queue:NAME|GROUP`,
  );
}

/**
 * Returns the name of a queue.
 *
 * @throws {HttpError} if it is invalid
 */
export function checkQueue(name: string): string {
  if (isQueueName(name)) return name;
  throw new HttpError(400, `Invalid queue name "${name.slice(0, 80)}"; expected ${QUEUE_NAME_EXPECTED}`);
}

/**
 * Returns the name of a group, or of that of a priority or of jobs aside.
 *
 * @throws {HttpError} if it is invalid
 */
export function checkGroup(name: string): string {
  if (isStoredGroup(name)) return name;
  const shown = String(name).slice(0, 80);
  throw new HttpError(400, `Invalid group "${shown}"; expected ${GROUP_NAME_EXPECTED}`, "group");
}

/** Returns the path of the page of a queue, or of a group in it. */
export function queuePath(queue: string, group?: string): string {
  const path = `/queues/${encodeURIComponent(queue)}`;
  return group === undefined ? path : `${path}/groups/${encodeURIComponent(group)}`;
}

/** Returns the path of the page that lists a place. */
export function placePath(place: Place): string {
  switch (place.in) {
    case "queue":
      return queuePath(place.queue, place.group);
    case "running":
      return "/running";
    case "retry":
      return "/retrying";
    default:
      return `/${place.in}`;
  }
}

/** Returns whether the jobs of a place have failed before. */
export function hasErrors(place: Place): boolean {
  return place.in === "retry" || place.in === "dead";
}

/** Returns the actions on the jobs of a place. */
export function actionsIn(place: Place): readonly JobAction[] {
  switch (place.in) {
    case "running":
      return [];
    case "queue":
      return ["move", "kill", "cancel", "delete"];
    case "dead":
      return ["retry", "move", "delete"];
    default:
      return ["retry", "move", "kill", "cancel", "delete"];
  }
}
