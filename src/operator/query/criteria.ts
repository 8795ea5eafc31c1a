/**
 * The criteria of a filter as people write them: one meaning on the command line, on the pages and in the API.
 *
 * @module
 */
import { boundOf, parseDuration } from "../../job/duration.ts";
import type { JobFilter } from "./filter.ts";

/** One criterion, in words. */
export interface Criterion {
  /** Of its field. */
  readonly label: string;
  /** Between a noun and its value: `class "ImportFile"`. */
  readonly word: string;
  /** Values that show how it works. */
  readonly example?: string;
  /** For the API and help texts. */
  readonly about: string;
}

/** The criteria. */
export const CRITERIA = {
  text: { label: "Search…", word: "text", about: "text anywhere in the job, ignoring case" },
  state: {
    label: "Status",
    word: "status",
    example: "failed",
    about: "succeeded, failed, dead, cancelled or expired; of finished jobs",
  },
  class: {
    label: "Class",
    word: "class",
    example: "ImportFile, or Import*",
    about: "the class, exactly; * stands for any characters",
  },
  queue: {
    label: "Queue",
    word: "queue",
    example: "default",
    about: "the queue, exactly; * stands for any characters",
  },
  group: {
    label: "Group",
    word: "group",
    example: "customer-7",
    about: "the group in its queue, exactly; * stands for any characters",
  },
  error: {
    label: "Error",
    word: "error",
    example: "timeout, or No account *",
    about: 'text anywhere in "ErrorClass: message", ignoring case; * stands for any characters',
  },
  tag: { label: "Tag", word: "tag", example: "nightly", about: "a tag, exactly; * stands for any characters" },
  older: {
    label: "Older than",
    word: "older than",
    example: "2h, 1d",
    about: "in its state for longer than this: 30s, 10m, 2h, 1d",
  },
  newer: {
    label: "Newer than",
    word: "newer than",
    example: "10m",
    about: "in its state for less than this: 30s, 10m, 2h, 1d",
  },
} as const satisfies Readonly<Record<string, Criterion>>;

/** The name of a criterion. */
export type CriterionName = keyof typeof CRITERIA;

/** The criteria that are given, as they were written. */
export type Criteria = { readonly [Name in CriterionName]?: string | undefined };

/** A value of a criterion that can't be read. */
export class InvalidCriterion extends Error {
  override readonly name = "InvalidCriterion";

  constructor(readonly criterion: CriterionName, readonly value: string) {
    super(`expected an age such as 30m, 2h or 7d${boundOf(value)}`);
  }
}

/**
 * Returns the filter of criteria.
 *
 * @param now epoch milliseconds, which ages are relative to
 * @throws {InvalidCriterion}
 */
export function filterOf({ older, newer, ...texts }: Criteria, now: number): JobFilter {
  return {
    ...Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined)),
    ...(older !== undefined && { before: now - ageOf("older", older) }),
    ...(newer !== undefined && { after: now - ageOf("newer", newer) }),
  };
}

/** Returns whether no criterion is given. */
export function isUnfiltered(criteria: Criteria): boolean {
  return Object.values(criteria).every((value) => value === undefined);
}

/** Describes criteria, such as `class "ImportFile" and older than "2h"`. */
export function describeCriteria(criteria: Criteria): string {
  return (Object.keys(CRITERIA) as CriterionName[]).filter((name) => criteria[name] !== undefined)
    .map((name) => `${CRITERIA[name].word} "${criteria[name]}"`).join(" and ");
}

function ageOf(name: CriterionName, text: string): number {
  try {
    return parseDuration(text);
  } catch {
    throw new InvalidCriterion(name, text);
  }
}
