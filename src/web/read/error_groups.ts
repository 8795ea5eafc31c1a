/**
 * Groups the failed jobs of a place by class and error: five problems instead of five thousand jobs. Errors are grouped
 * after masking, so that the groups reveal no secrets.
 *
 * @module
 */
import type { Entry, Place } from "../../store/admin/admin.ts";
import { errorPattern } from "../../store/ops/error_groups.ts";
import type { Services } from "../services.ts";
import type { Filter } from "./filter.ts";
import { viewEntry } from "./job_view.ts";
import { payloadLength, windows } from "./scan.ts";

/** Jobs of one class with the same error. */
export interface ErrorGroup {
  readonly class: string;
  /** `ErrorClass: message` with `*` for what varies; a filter's error. Empty for jobs that never failed. */
  readonly error: string;
  readonly count: number;
  /** The first and last failure, epoch milliseconds; undefined if unknown. */
  readonly firstAt: number | undefined;
  readonly lastAt: number | undefined;
  /** The known times of the failures. */
  readonly times: readonly number[];
}

/** The groups of a place. */
export interface GroupedErrors {
  /** The largest first. */
  readonly groups: readonly ErrorGroup[];
  /** How many groups were left out. */
  readonly more: number;
  /** How many jobs were read. */
  readonly looked: number;
  /** Whether all jobs were read. */
  readonly whole: boolean;
}

/** The longest time that a visitor waits for the groups. */
const BUDGET_MS = 600;
/** Groups on a page, and groups that are counted. */
const MAX_GROUPS = 100;
const MAX_COUNTED = 2_000;

interface Collected {
  readonly class: string;
  readonly error: string;
  count: number;
  readonly times: number[];
}

/** Groups the jobs of a place that match a filter, as many as it can read in {@linkcode BUDGET_MS}. */
export async function groupErrors(services: Services, place: Place, filter: Filter): Promise<GroupedErrors> {
  const until = services.clock.monotonic() + BUDGET_MS;
  const groups = new Map<string, Collected>();
  let looked = 0;
  let whole = true;
  const add = (entry: Entry) => {
    const job = viewEntry(entry, services.mask);
    const error = errorPattern(job.error);
    const key = keyOf({ class: job.class, error });
    let group = groups.get(key);
    if (group === undefined) {
      if (groups.size >= MAX_COUNTED) return;
      groups.set(key, group = { class: job.class, error, count: 0, times: [] });
    }
    group.count++;
    if (job.failedAt !== undefined) group.times.push(job.failedAt);
  };
  for await (const window of windows(services, { place, filter, reverse: place.in === "dead" })) {
    looked += window.looked;
    await services.slices.map(window.entries, { weigh: payloadLength, map: add });
    if (window.next !== undefined && services.clock.monotonic() >= until) {
      whole = false;
      break;
    }
  }
  const all = [...groups.values()].sort((a, b) => b.count - a.count || (keyOf(a) < keyOf(b) ? -1 : 1));
  return { groups: all.slice(0, MAX_GROUPS).map(groupOf), more: Math.max(0, all.length - MAX_GROUPS), looked, whole };
}

function keyOf(group: Pick<Collected, "class" | "error">): string {
  return `${group.class}\n${group.error}`;
}

function groupOf(collected: Collected): ErrorGroup {
  const { times } = collected;
  const pick = (choose: (a: number, b: number) => number) => times.length === 0 ? undefined : times.reduce(choose);
  return { ...collected, firstAt: pick((a, b) => Math.min(a, b)), lastAt: pick((a, b) => Math.max(a, b)) };
}
