/**
 * Filters of the lists of finished jobs and of audit entries: by the values of single fields. They combine, and are part of
 * the page's URL.
 *
 * @module
 */
import type { Context } from "hono";
import type { Services } from "../services.ts";
import { FILTERS, matchesPattern } from "./filter.ts";
import { pageOf } from "./paging.ts";

/** A filter, as pages and the API describe it. */
export interface RecordFilterText {
  readonly label: string;
  readonly example?: string;
  /** The API's description. */
  readonly about: string;
}

/** The filters of finished jobs, by their names in URLs. */
export const FINISHED_FILTERS = {
  state: { label: "Status", example: "failed", about: "succeeded, failed, dead, cancelled or expired" },
  class: { label: "Class", example: "ImportFile, or Import*", about: "the class, exactly; * stands for any text" },
  queue: { label: "Queue", example: "default", about: "the queue, exactly; * stands for any text" },
  error: FILTERS.error,
  tag: FILTERS.tag,
  older: { ...FILTERS.older, about: "at least this long since it ended: 30s, 10m, 2h, 1d" },
  newer: { ...FILTERS.newer, about: "at most this long since it ended: 30s, 10m, 2h, 1d" },
} as const satisfies Record<string, RecordFilterText>;

/** The filters of audit entries, by their names in URLs. */
export const AUDIT_FILTERS = {
  user: { label: "User", example: "ann", about: "the user, exactly; * stands for any text" },
  action: { label: "Action", example: "delete, or cron *", about: "the action, exactly; * stands for any text" },
  target: { label: "Target", example: "queue:default", about: "the target, exactly; * stands for any text" },
} as const satisfies Record<string, RecordFilterText>;

/** The values of the filters that are set. */
export type RecordFilter<Name extends string> = { readonly [Key in Name]?: string };

const MAX_VALUE_CHARS = 200;

/** Returns the filters that a request names. */
export function recordFilterOf<Name extends string>(
  c: Context,
  filters: Readonly<Record<Name, RecordFilterText>>,
): RecordFilter<Name> {
  const given = (Object.keys(filters) as Name[]).map((name) =>
    [name, (c.req.query(name) ?? "").trim().slice(0, MAX_VALUE_CHARS)] as const
  );
  return Object.fromEntries(given.filter(([, text]) => text !== "")) as RecordFilter<Name>;
}

/** Returns whether all filters match a row; `valueOf` returns the row's text for a filter. */
export function matchesRecord<Name extends string>(
  filter: RecordFilter<Name>,
  valueOf: (name: Name) => string,
): boolean {
  return (Object.keys(filter) as Name[]).every((name) => matchesPattern(valueOf(name), filter[name]!));
}

/** A page of rows. */
export interface RecordPage<Row> {
  readonly rows: readonly Row[];
  /** The cursor of the next page; absent on the last. */
  readonly next?: string;
  /** How many rows were read for this page. */
  readonly looked: number;
}

/** The longest time to read rows for a page. */
const BUDGET_MS = 600;
const MAX_WINDOW = 1_000;

/**
 * Reads the page of a list that a request names. With a filter, reads on until the page is full or the time is over; the
 * page may then have a few more rows than its limit.
 */
export async function readRecords<Row>(
  { clock }: Pick<Services, "clock">,
  c: Context,
  read: (
    page: { readonly limit: number; readonly cursor?: string },
  ) => Promise<{ rows: readonly Row[]; next?: string }>,
  matches: ((row: Row) => boolean) | undefined,
): Promise<RecordPage<Row>> {
  const page = pageOf(c);
  if (matches === undefined) {
    const { rows, next } = await read(page);
    return { rows, looked: rows.length, ...(next !== undefined && { next }) };
  }
  const until = clock.monotonic() + BUDGET_MS;
  const found: Row[] = [];
  let looked = 0;
  let { cursor } = page;
  for (let size = page.limit;; size = Math.min(MAX_WINDOW, size * 4)) {
    const { rows, next } = await read({ limit: size, ...(cursor !== undefined && { cursor }) });
    found.push(...rows.filter(matches));
    looked += rows.length;
    if (next === undefined) return { rows: found, looked };
    if (found.length >= page.limit || clock.monotonic() >= until) return { rows: found, looked, next };
    cursor = next;
    await clock.turn();
  }
}
