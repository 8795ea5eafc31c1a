/**
 * The filter options that list, find, retry, kill, cancel, delete and move share.
 *
 * @module
 */
import { filterOf, InvalidCriterion } from "../../operator/query/criteria.ts";
import type { JobFilter } from "../../operator/query/filter.ts";
import type { Flag } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";

/** The options. */
export const FILTER_FLAGS = {
  class: { takes: "text" },
  queue: { takes: "text", short: "q" },
  group: { takes: "text" },
  error: { takes: "text" },
  tag: { takes: "text" },
  "older-than": { takes: "text" },
  "newer-than": { takes: "text" },
} as const satisfies Record<string, Flag>;

/** Their names. */
export const FILTER_NAMES = Object.keys(FILTER_FLAGS) as (keyof FilterFlags)[];

/** Their values. */
export type FilterFlags = { readonly [Name in keyof typeof FILTER_FLAGS]: string | undefined };

/** Their part of a help text. */
export const FILTER_HELP = `Filters, all of which must match; * stands for any characters:
      --class CLASS      exactly this class; 'Import*' for a pattern
  -q, --queue QUEUE      exactly this queue
      --group GROUP      exactly this group of its queue
      --error TEXT       this text anywhere in "ErrorClass: message"
      --tag TAG          exactly this tag
      --older-than TIME  in this state for longer than 30m, 2h or 7d
      --newer-than TIME  in this state for less than that`;

/**
 * Parses the filter options.
 *
 * @param now epoch milliseconds, to which ages are relative
 * @throws {UsageError}
 */
export function parseFilter(flags: FilterFlags, now: number): JobFilter {
  const { class: name, queue, group, error, tag, "older-than": older, "newer-than": newer } = flags;
  try {
    return filterOf({ class: name, queue, group, error, tag, older, newer }, now);
  } catch (invalid) {
    if (!(invalid instanceof InvalidCriterion)) throw invalid;
    throw new UsageError(`Invalid --${invalid.criterion}-than "${invalid.value}": ${invalid.message}`);
  }
}

/** Describes the filter for questions and the audit log: `of class "Import" older than 2h`. */
export function describeFilterFlags(flags: FilterFlags): string {
  return [
    flags.class === undefined ? "" : `of class "${flags.class}"`,
    flags.queue === undefined ? "" : `in queue "${flags.queue}"`,
    flags.group === undefined ? "" : `in group "${flags.group}"`,
    flags.error === undefined ? "" : `with error "${flags.error}"`,
    flags.tag === undefined ? "" : `with tag "${flags.tag}"`,
    flags["older-than"] === undefined ? "" : `older than ${flags["older-than"]}`,
    flags["newer-than"] === undefined ? "" : `newer than ${flags["newer-than"]}`,
  ].filter(Boolean).join(" ");
}

/** Returns whether a filter option is given. */
export function hasFilter(flags: FilterFlags): boolean {
  return FILTER_NAMES.some((name) => flags[name] !== undefined);
}
