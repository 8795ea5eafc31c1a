/**
 * The filters of cron entries: one meaning on the command line, on the pages and in the API.
 *
 * @module
 */
import type { CronPageRequest } from "../../store/port/cron.ts";

/** The filters, by their names. */
export const CRON_FILTERS = {
  prefix: { label: "Name begins with", example: "acme:", about: "the beginning of the name" },
  tag: { label: "Tag", example: "reports", about: "a tag of its jobs, exactly" },
  sort: {
    label: "Order",
    example: "next",
    about: "name or next, by the next run; next can't be combined with a filter",
  },
} as const;

/** The filters that are given, as they were written. */
export type CronFilter = { readonly [Name in keyof typeof CRON_FILTERS]?: string | undefined };

/** A filter that can't be read. */
export class InvalidCronFilter extends Error {
  override readonly name = "InvalidCronFilter";
}

/**
 * Returns the request for the entries of a filter.
 *
 * @throws {InvalidCronFilter} with one line for people
 */
export function cronRequest({ prefix, tag, sort }: CronFilter): Pick<CronPageRequest, "prefix" | "tag" | "sort"> {
  if (sort !== undefined && sort !== "name" && sort !== "next") {
    throw new InvalidCronFilter(`Invalid sort "${sort.slice(0, 60)}": expected name or next`);
  }
  if (sort === "next" && (prefix !== undefined || tag !== undefined)) {
    throw new InvalidCronFilter("Entries of a filter are in the order of their names; leave out sort");
  }
  return { prefix, tag, sort };
}
