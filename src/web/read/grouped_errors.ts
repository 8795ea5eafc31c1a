/**
 * Groups the failed jobs of a place by class and error, within a time budget.
 *
 * @module
 */
import { type ErrorGroup, ErrorGroups } from "../../operator/query/error_groups.ts";
import { jobsIn } from "../../operator/query/jobs.ts";
import { windows } from "../../store/ops/scan.ts";
import type { Place } from "../../store/port/entries.ts";
import type { Services } from "../services.ts";
import { type Filter, jobFilter } from "./filter.ts";
import { payloadLength } from "./job_view.ts";

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
/** Groups on a page. */
const MAX_GROUPS = 100;

/** Groups the jobs of a place that match a filter, as many as it can read in {@linkcode BUDGET_MS}. */
export async function groupErrors(services: Services, place: Place, filter: Filter): Promise<GroupedErrors> {
  const { clock, mask, slices } = services;
  const until = clock.monotonic() + BUDGET_MS;
  const groups = new ErrorGroups({ mask, times: true });
  let looked = 0;
  let whole = true;
  const source = jobsIn(services, { place, filter: jobFilter(filter, clock.now()), reverse: place.in === "dead" });
  for await (const window of windows(source)) {
    looked += window.looked;
    await slices.map(window.rows, { weigh: payloadLength, map: (entry) => groups.add(entry) });
    whole = window.next === undefined;
    if (!whole && clock.monotonic() >= until) break;
  }
  return groupedErrors(groups, { looked, whole });
}

/** Returns the groups that fit on a page. */
export function groupedErrors(
  groups: ErrorGroups,
  { looked, whole }: Pick<GroupedErrors, "looked" | "whole">,
): GroupedErrors {
  const all = groups.list();
  return { groups: all.slice(0, MAX_GROUPS), more: Math.max(0, all.length - MAX_GROUPS), looked, whole };
}
