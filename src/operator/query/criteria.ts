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
  /** Before the word in a sentence about jobs: `jobs of class "ImportFile"`. Absent for an age: `jobs older than 2h`. */
  readonly preposition?: "of" | "in" | "with";
  /** Values that show how it works. */
  readonly example?: string;
  /** For help texts. */
  readonly about: string;
  /** Whether `*` in its value stands for any characters. */
  readonly isPattern?: true;
  /** The letter of its option. */
  readonly short?: string;
}

/** The criteria. */
export const CRITERIA = {
  q: {
    label: "Search…",
    word: "text",
    preposition: "with",
    example: 'bob "no such account"',
    about: 'words anywhere in the job, ignoring case, each of which must match; "quotes" keep a phrase together',
  },
  state: {
    label: "Status",
    word: "status",
    preposition: "with",
    example: "failed",
    about: "succeeded, failed, dead, cancelled or expired; of finished jobs",
  },
  class: {
    label: "Class",
    word: "class",
    preposition: "of",
    example: "ImportFile, or Import*",
    about: "the class, exactly",
    isPattern: true,
  },
  queue: {
    label: "Queue",
    word: "queue",
    preposition: "in",
    example: "default",
    about: "the queue, exactly",
    isPattern: true,
    short: "q",
  },
  group: {
    label: "Group",
    word: "group",
    preposition: "in",
    example: "customer-7",
    about: "the group in its queue, exactly",
    isPattern: true,
  },
  batch: {
    label: "Batch",
    word: "batch",
    preposition: "in",
    example: "1a203f735340c7e1a8800001",
    about: "the ID of the batch or flow, exactly",
    isPattern: true,
  },
  error: {
    label: "Error",
    word: "error",
    preposition: "with",
    example: "timeout, or No account *",
    about: 'text anywhere in "ErrorClass: message", ignoring case',
    isPattern: true,
  },
  tag: { label: "Tag", word: "tag", preposition: "with", example: "nightly", about: "a tag, exactly", isPattern: true },
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

const { state: _, ...ofJobs } = CRITERIA;
/** The criteria of jobs that haven't ended: all but the status. */
export const CRITERIA_OF_JOBS = ofJobs;

/** Returns the meaning of a criterion, with that of `*`. */
export function aboutCriterion({ about, isPattern }: Pick<Criterion, "about" | "isPattern">): string {
  return isPattern ? `${about}; * stands for any characters` : about;
}

/** The name of a criterion. */
export type CriterionName = keyof typeof CRITERIA;

/** The criteria that are given, as they were written. */
export type Criteria = { readonly [Name in CriterionName]?: string | undefined };

/** A value of a criterion that can't be read. */
export class InvalidCriterion extends Error {
  override readonly name = "InvalidCriterion";

  /** @param expected completes "expected …" */
  constructor(readonly criterion: CriterionName, readonly value: string, readonly expected: string) {
    super(`expected ${expected}`);
  }
}

const MAX_VALUE_CHARS = 500;

/**
 * Returns the filter of criteria.
 *
 * @param now epoch milliseconds, which ages are relative to
 * @throws {InvalidCriterion}
 */
export function filterOf(criteria: Criteria, now: number): JobFilter {
  const given = Object.entries(criteria).filter(([, value]) => value !== undefined) as [CriterionName, string][];
  // A value that is cut would match more jobs.
  const long = given.find(([, value]) => value.length > MAX_VALUE_CHARS);
  if (long !== undefined) throw new InvalidCriterion(...long, `at most ${MAX_VALUE_CHARS} characters`);
  const { older, newer, ...texts } = Object.fromEntries(given) as { readonly [Name in CriterionName]?: string };
  return {
    ...texts,
    ...(older !== undefined && { before: now - ageOf("older", older) }),
    ...(newer !== undefined && { after: now - ageOf("newer", newer) }),
  };
}

/** Returns whether no criterion is given. */
export function isUnfiltered(criteria: Criteria): boolean {
  return givenIn(criteria).length === 0;
}

/** Describes criteria, such as `class "ImportFile" and older than "2h"`. */
export function describeCriteria(criteria: Criteria): string {
  return givenIn(criteria).map(([{ word }, value]) => `${word} "${value}"`).join(" and ");
}

/** Describes criteria after the noun "jobs", such as `of class "ImportFile" older than 2h`. */
export function describeJobsWith(criteria: Criteria): string {
  return givenIn(criteria).map(([{ word, preposition }, value]) =>
    preposition === undefined ? `${word} ${value}` : `${preposition} ${word} "${value}"`
  ).join(" ");
}

function givenIn(criteria: Criteria): [criterion: Criterion, value: string][] {
  return (Object.keys(CRITERIA) as CriterionName[]).flatMap((name) =>
    criteria[name] === undefined ? [] : [[CRITERIA[name], criteria[name]]]
  );
}

function ageOf(name: CriterionName, text: string): number {
  try {
    return parseDuration(text);
  } catch {
    throw new InvalidCriterion(name, text, `an age such as 30m, 2h or 7d${boundOf(text)}`);
  }
}
