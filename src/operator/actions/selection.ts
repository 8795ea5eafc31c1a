/**
 * The jobs that an operator selects: all of a state or a place that match criteria.
 *
 * @module
 */
import { isStoredGroup } from "../../job/aside.ts";
import { isQueueName } from "../../job/queue_name.ts";
import type { Entry, Place } from "../../store/port/entries.ts";
import { readSize } from "../../store/ops/job_sets.ts";
import { windows } from "../../store/ops/scan.ts";
import { CRITERIA_OF_JOBS, describeCriteria, filterOf, InvalidCriterion } from "../query/criteria.ts";
import type { JobFilter } from "../query/filter.ts";
import { jobsIn } from "../query/jobs.ts";
import { invalid, object, optional } from "../shapes/shape.ts";
import { parsed } from "../shapes/values.ts";
import type { Tools } from "./action.ts";
import { placesOf, readIn, stateOfPlace } from "./places.ts";

/** A criterion. Left out, an empty one would select all: it may be a variable that is unset. */
function criterion(about: string) {
  return parsed(about, {
    word: "text",
    expected: "a text that isn't empty",
    schema: { type: "string" },
    parse: (value) => typeof value === "string" && value.trim() !== "" ? value.trim() : undefined,
  });
}

/** All jobs of a place that match all criteria. */
export const allShape = object("", {
  in: parsed("a state, or scheduled, retry, dead, running, queue:NAME or queue:NAME|GROUP", {
    word: "text",
    expected: "queued, scheduled, retrying, dead, running, queue:NAME or queue:NAME|GROUP",
    schema: { type: "string" },
    parse: (value) => {
      const place = typeof value === "string" ? readIn(value) : undefined;
      if (place?.in !== "queue") return place && value as string;
      const { queue, group } = place;
      const isValid = isQueueName(queue) && (group === undefined || isStoredGroup(group));
      return isValid ? value as string : undefined;
    },
  }),
  ...Object.fromEntries(
    Object.entries(CRITERIA_OF_JOBS).map(([name, { about }]) => [name, optional(criterion(about))]),
  ) as Readonly<Record<keyof typeof CRITERIA_OF_JOBS, ReturnType<typeof optional<string>>>>,
});

/** Jobs as an operator selects them: in a state, or in the place of a name. */
export type All = { readonly in: string } & { readonly [Name in keyof typeof CRITERIA_OF_JOBS]?: string };

/** The jobs that an operator has selected, in the store. */
export interface Selected {
  readonly places: readonly Place[];
  readonly filter: JobFilter;
  /** The jobs in these places, matching or not. */
  readonly total: number;
}

/**
 * Finds the places of selected jobs.
 *
 * @param now epoch milliseconds, which ages are relative to
 * @throws {Refused} if a queue doesn't exist
 */
export async function select(store: Tools["store"], { in: name, ...criteria }: All, now: number): Promise<Selected> {
  const place = readIn(name)!;
  const { places, queue } = place.in === "queued"
    ? await placesOf(store, "queued", criteria.queue)
    : { places: [place], queue: criteria.queue };
  // The places of a state overlap: a queue counts its groups.
  const whole = places.filter((one) => one.in !== "queue" || one.group === undefined || places.length === 1);
  const sizes = await Promise.all(whole.map((one) => readSize(store.admin, one)));
  return { places, filter: filterOf({ ...criteria, queue }, now), total: sizes.reduce((sum, size) => sum + size, 0) };
}

/** Returns `dead jobs with class "Import"`, `queued jobs in queue "mail"`. */
export function describeAll({ in: name, ...criteria }: All): string {
  const place = readIn(name)!;
  const { queue, ...others } = criteria;
  const isNamed = place.in === "queued" && queue !== undefined && !queue.includes("*");
  const filter = describeCriteria(isNamed ? others : criteria);
  const at = place.in === "queue" ? place : isNamed ? { queue, group: undefined } : undefined;
  return [
    `${place.in === "queued" ? "queued" : stateOfPlace(place)} jobs`,
    at?.group !== undefined && `in group "${at.group}" of`,
    at !== undefined && `${at.group === undefined ? "in " : ""}queue "${at.queue}"`,
    filter !== "" && `with ${filter}`,
  ].filter(Boolean).join(" ");
}

/** @throws {InvalidInput} if one is invalid */
export function checkCriteria({ in: _, ...criteria }: All): void {
  try {
    filterOf(criteria, 0);
  } catch (error) {
    if (!(error instanceof InvalidCriterion)) throw error;
    throw invalid(error.value, error.expected, `all.${error.criterion}`);
  }
}

/** Reads selected jobs in windows over all places; jobs that arrive meanwhile are left out. */
export async function* windowsOf(
  tools: Pick<Tools, "store" | "mask" | "slices">,
  { places, filter, total }: Selected,
): AsyncGenerator<{ readonly rows: readonly Entry[]; readonly looked: number }> {
  let left = total;
  for (const place of places) {
    for await (const window of windows(jobsIn(tools, { place, filter }), { most: left })) {
      left -= window.looked;
      yield window;
    }
  }
}
