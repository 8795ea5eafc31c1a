/**
 * The filter options that list, find, retry, kill, cancel, delete and move share: those of the criteria.
 *
 * @module
 */
import {
  CRITERIA_OF_JOBS,
  type Criterion,
  type CriterionName,
  describeJobsWith,
  filterOf,
  InvalidCriterion,
  isUnfiltered,
} from "../../operator/query/criteria.ts";
import type { JobFilter } from "../../operator/query/filter.ts";
import type { Flag } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";

/** Not options: a text is the argument of `jobs find`, and a status is that of a list. */
type Name = Exclude<CriterionName, "q" | "state">;
type FlagOf<One extends Name> = One extends "older" | "newer" ? `${One}-than` : One;

const { q: _, ...criteria } = CRITERIA_OF_JOBS;
const NAMES = Object.keys(criteria) as Name[];

/** The options. */
export const FILTER_FLAGS = Object.fromEntries(NAMES.map((name) => {
  const { short }: Criterion = criteria[name];
  return [flagOf(name), { takes: "text", ...(short !== undefined && { short }) }];
})) as { readonly [One in Name as FlagOf<One>]: Flag & { readonly takes: "text" } };

/** Their names. */
export const FILTER_NAMES = NAMES.map(flagOf);

/** Their values. */
export type FilterFlags = { readonly [Flag in keyof typeof FILTER_FLAGS]: string | undefined };

/** Their part of a help text. */
export const FILTER_HELP = `Filters, all of which must match; * stands for any characters:
${NAMES.map(helpLine).join("\n")}`;

function flagOf<One extends Name>(name: One): FlagOf<One> {
  return (isAge(name) ? `${name}-than` : name) as FlagOf<One>;
}

function isAge(name: Name): boolean {
  return name === "older" || name === "newer";
}

function helpLine(name: Name): string {
  const { short, about }: Criterion = criteria[name];
  const option = `--${flagOf(name)} ${isAge(name) ? "TIME" : name.toUpperCase()}`;
  return `${short === undefined ? "      " : `  -${short}, `}${option.padEnd(19)}${about}`;
}

/** Returns the criteria that are given. */
export function criteriaOf(flags: FilterFlags): { readonly [One in Name]?: string } {
  return Object.fromEntries(
    NAMES.flatMap((name) => flags[flagOf(name)] === undefined ? [] : [[name, flags[flagOf(name)]]]),
  );
}

/**
 * Parses the filter options.
 *
 * @param now epoch milliseconds, to which ages are relative
 * @throws {UsageError}
 */
export function parseFilter(flags: FilterFlags, now: number): JobFilter {
  try {
    return filterOf(criteriaOf(flags), now);
  } catch (invalid) {
    if (!(invalid instanceof InvalidCriterion)) throw invalid;
    throw new UsageError(`Invalid --${flagOf(invalid.criterion as Name)} "${invalid.value}": ${invalid.message}`);
  }
}

/** Describes the filter for questions and the audit log: `of class "Import" older than 2h`. */
export function describeFilterFlags(flags: FilterFlags): string {
  return describeJobsWith(criteriaOf(flags));
}

/** Returns whether a filter option is given. */
export function hasFilter(flags: FilterFlags): boolean {
  return !isUnfiltered(criteriaOf(flags));
}
