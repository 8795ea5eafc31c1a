/**
 * The states of jobs on the command line, and where in the store their jobs are.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import { closestWord } from "../../job/suggest.ts";
import type { Place } from "../../store/port/entries.ts";
import { queuePlaces } from "../../store/ops/queue_places.ts";
import { UsageError } from "../terminal/errors.ts";
import { queueNotFound } from "../terminal/confirm.ts";

/** The states of jobs that haven't ended, in the order of a job's life. */
export const STATES = ["queued", "scheduled", "retrying", "dead", "running"] as const;

/** A state of a job that hasn't ended. */
export type State = typeof STATES[number];

const BY_PLACE: Readonly<Record<Place["in"], State>> = {
  queue: "queued",
  scheduled: "scheduled",
  retry: "retrying",
  dead: "dead",
  running: "running",
};

/** Words of Sidekiq and of other systems → the state. */
const MEANT: Readonly<Record<string, string>> = {
  retry: "retrying",
  retries: "retrying",
  queue: "queued",
  enqueued: "queued",
  busy: "running",
  active: "running",
  failed: "dead",
  morgue: "dead",
  delayed: "scheduled",
  done: "finished",
  completed: "finished",
  succeeded: "finished",
};

/** Returns the state of the jobs in a place. */
export function stateOfPlace(place: Pick<Place, "in">): State {
  return BY_PLACE[place.in];
}

/**
 * Parses a state.
 *
 * @param argument its name in messages: `--all`
 * @param allowed the states that the command accepts
 * @throws {UsageError}
 */
export function parseState<S extends string>(argument: string, text: string, allowed: readonly S[]): S {
  const found = allowed.find((state) => state === text);
  if (found !== undefined) return found;
  const suggested = Object.hasOwn(MEANT, text) ? MEANT[text]! : closestWord(text, allowed);
  const meant = (allowed as readonly string[]).includes(suggested ?? "") ? suggested : undefined;
  throw new UsageError(
    `Invalid ${argument} "${text}": expected ${allowed.join(", ")}${
      meant === undefined ? "" : `; did you mean ${meant}?`
    }`,
  );
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
 * @param queue the `--queue` criterion
 * @throws {NotFoundError} if `queue` names a queue that doesn't exist, of queued jobs
 */
export async function placesOf(
  store: { readonly admin: Pick<Store["admin"], "stats" | "groups"> },
  state: State,
  queue: string | undefined,
): Promise<StatePlaces> {
  if (state !== "queued") {
    const name = (Object.keys(BY_PLACE) as Exclude<Place["in"], "queue">[]).find((place) => BY_PLACE[place] === state)!;
    return { places: [{ in: name }], queue };
  }
  const names = (await store.admin.stats()).queues.map(({ name }) => name).filter((name) => name !== "*");
  const isPattern = queue?.includes("*") ?? true;
  if (!isPattern && !names.includes(queue!)) throw queueNotFound(queue!, names);
  const chosen = isPattern ? names : [queue!];
  const places: Place[] = [];
  for (const name of chosen) places.push(...await queuePlaces(store.admin, name));
  return { places, queue: isPattern ? queue : undefined };
}
