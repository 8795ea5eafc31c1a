/**
 * States of jobs that haven't ended, and the places in the store that hold their jobs.
 *
 * @module
 */
import { closestWord } from "../../job/suggest.ts";
import type { AdminStore } from "../../store/admin/admin.ts";
import type { Place } from "../../store/port/entries.ts";
import { readPlace } from "../../store/ops/job_sets.ts";
import { queuePlaces } from "../../store/ops/queue_places.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { type State, STATE_BY_PLACE } from "../../text/jobs.ts";
import { Refused } from "./action.ts";

/** The states of jobs that haven't ended, in the order of a job's life. */
export const STATES = Object.values(STATE_BY_PLACE);

/** Returns the state of the jobs in a place. */
export function stateOfPlace(place: Pick<Place, "in">): State {
  return STATE_BY_PLACE[place.in];
}

/** Returns the place of a name, or the state: all queues for `queued`. Undefined for an unknown name. */
export function readIn(name: string): Place | { readonly in: "queued" } | undefined {
  if (name === "queued") return { in: "queued" };
  return name === "retrying" ? { in: "retry" } : readPlace(name);
}

/** The places of a state, and the queue criterion that they leave to the filter. */
export interface StatePlaces {
  readonly places: readonly Place[];
  /** The queue criterion for a filter; undefined if the places answer it. */
  readonly queue: string | undefined;
}

/**
 * Returns the places that hold the jobs of a state. Only queued jobs are spread over several: one per
 * queue and one per group of it, by name.
 *
 * @param queue the queue criterion
 * @throws {Refused} if `queue` names a queue that doesn't exist, of queued jobs
 */
export async function placesOf(
  store: { readonly admin: Pick<AdminStore, "stats" | "groups"> },
  state: State,
  queue: string | undefined,
): Promise<StatePlaces> {
  if (state !== "queued") {
    const name = (Object.keys(STATE_BY_PLACE) as Exclude<Place["in"], "queue">[]).find((place) =>
      STATE_BY_PLACE[place] === state
    )!;
    return { places: [{ in: name }], queue };
  }
  const names = (await store.admin.stats()).queues.map(({ name }) => name).filter((name) => name !== ALL_QUEUES);
  const isPattern = queue?.includes("*") ?? true;
  if (!isPattern && !names.includes(queue!)) throw queueNotFound(queue!, names);
  const chosen = isPattern ? names : [queue!];
  const places: Place[] = [];
  for (const name of chosen) places.push(...await queuePlaces(store.admin, name));
  return { places, queue: isPattern ? queue : undefined };
}

/** Returns the refusal for a queue that doesn't exist, with a suggestion. */
export function queueNotFound(name: string, known: readonly string[]): Refused {
  const meant = closestWord(name, known);
  return new Refused("missing", `Queue "${name}" not found; ${meant ? `did you mean "${meant}"?` : "see jobs queues"}`);
}
