/**
 * Filters of lists in addresses and forms. They combine, and they are part of the page's address.
 *
 * @module
 */
import type { Context } from "hono";
import {
  aboutCriterion,
  type CRITERIA,
  type Criteria,
  CRITERIA_OF_JOBS,
  type Criterion,
  filterOf,
  InvalidCriterion,
} from "../../operator/query/criteria.ts";
import type { JobFilter } from "../../operator/query/filter.ts";
import { HttpError } from "../http/body.ts";

/** The values of the filters that are set; a job passes when it passes all of them. */
export type Filter = { readonly [Name in keyof Criteria]?: string };

const MAX_SHOWN_CHARS = 500;

/** Returns the meaning of filters as parameters of the API. */
export function queryOf(
  filters: Readonly<Record<string, Pick<Criterion, "about" | "isPattern">>>,
): Record<string, string> {
  return Object.fromEntries(Object.entries(filters).map(([name, filter]) => [name, aboutCriterion(filter)]));
}

/**
 * Reads the filters in a URL or a form.
 *
 * @param known those that the list has
 * @throws {HttpError} if a filter is invalid
 */
export function parseFilter(params: URLSearchParams, known: Partial<typeof CRITERIA> = CRITERIA_OF_JOBS): Filter {
  const filter = textsOf(params, Object.keys(known), Infinity);
  jobFilter(filter, 0);
  return filter;
}

/** Returns the filters in a URL; with an invalid one, the texts that were typed, and its error by field. */
export function readFilter(
  params: URLSearchParams,
): { readonly filter: Filter; readonly errors?: Readonly<Record<string, string>> } {
  try {
    return { filter: parseFilter(params) };
  } catch (error) {
    if (!(error instanceof HttpError) || error.field === undefined) throw error;
    return { filter: textsOf(params, Object.keys(CRITERIA_OF_JOBS)), errors: { [error.field]: error.message } };
  }
}

/** Returns the values that a request has for these names, trimmed and cut; valid or not. */
export function textsIn<Name extends string>(c: Context, names: readonly Name[]): { readonly [One in Name]?: string } {
  return textsOf(new URL(c.req.url).searchParams, names);
}

function textsOf<Name extends string>(
  params: URLSearchParams,
  names: readonly Name[],
  maxChars = MAX_SHOWN_CHARS,
): { readonly [One in Name]?: string } {
  const given = names.map((name) => [name, (params.get(name) ?? "").trim().slice(0, maxChars)]);
  return Object.fromEntries(given.filter(([, value]) => value !== "")) as { readonly [One in Name]?: string };
}

/**
 * Returns a filter of jobs at the time `now`.
 *
 * @throws {HttpError} if it is invalid
 */
export function jobFilter(filter: Filter, now: number): JobFilter {
  try {
    return filterOf(filter, now);
  } catch (error) {
    if (!(error instanceof InvalidCriterion)) throw error;
    const { criterion, value, message } = error;
    throw new HttpError(422, `Invalid filter "${criterion}": "${value.slice(0, 40)}"; ${message}`, criterion);
  }
}

/** Returns whether no filter is set. */
export function isEmpty(filter: Filter): boolean {
  return Object.keys(filter).length === 0;
}
