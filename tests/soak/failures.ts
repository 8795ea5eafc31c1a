/**
 * Which ends of programs are failures.
 *
 * @module
 */
import type { Incident, Outage, Run } from "./records.ts";
import type { Ending } from "./program.ts";

/** The circumstances of an end. */
interface Evidence {
  readonly runs: readonly Run[];
  readonly outages: readonly Outage[];
  readonly incidents: readonly Incident[];
}

/** A program that runs for less than this has just started, and needed the store for that. */
const STARTING_MS = 40_000;

/**
 * Returns the ends that are failures, each as a line. A worker may be killed by a poisonous job. A start fails with its
 * first child. A start, or a stop, may fail while the store is down or the line to it is cut.
 */
export function failuresOf(endings: readonly Ending[], { runs, outages, incidents }: Evidence): string[] {
  const poison = runs.filter(({ class: name, end }) => name === "Poison" && end === undefined);
  const poisoned = new Set(poison.map(({ pid }) => pid));
  const lostChild = new Set([...poison.map(({ ppid }) => ppid), ...incidents.map(({ parent }) => parent)]);
  const away = incidents.filter(({ effect }) => effect === "away");
  return endings.filter(({ pid, t, ranMs, asked }) => {
    if (poisoned.has(pid) || !asked && ranMs < STARTING_MS && lostChild.has(pid)) return false;
    const from = t - (asked ? STARTING_MS : Math.min(ranMs, STARTING_MS));
    const isStoreDown = [...outages, ...away.filter((one) => one.pid === pid)].some((one) =>
      one.from < t && one.to > from
    );
    return !(isStoreDown && (asked || ranMs < STARTING_MS));
  }).map(({ name, pid, ranMs, how, asked }) =>
    `${name} (${pid}) ended with ${how} after ${Math.round(ranMs / 1_000)} s${asked ? ", when it was stopped" : ""}`
  );
}
