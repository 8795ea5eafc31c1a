/**
 * Reads the page of a list that a request names, for pages and the API.
 *
 * @module
 */
import { readSize } from "../../store/ops/job_sets.ts";
import type { Context } from "hono";
import type { Entry, Place } from "../../store/port/entries.ts";
import type { Services, WebEnv } from "../services.ts";
import { jobsIn } from "../../operator/query/jobs.ts";
import { type Page, page } from "../../store/ops/scan.ts";
import { type Filter, jobFilter, parseFilter, readFilter } from "./filter.ts";
import { placePath } from "./job_sets.ts";
import { type JobView, viewEntries } from "./job_view.ts";

/** The longest time to scan for the rows of a page. */
const BUDGET_MS = 600;
const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000;

/** Returns the limit and the cursor of a request. An empty cursor counts as absent. */
export function pageOf(
  c: Context<WebEnv>,
  defaultLimit: number = DEFAULT_LIMIT,
): { readonly limit: number; readonly cursor?: string } {
  const { searchParams } = new URL(c.req.url);
  const limit = Math.min(MAX_LIMIT, Math.max(1, Math.floor(Number(searchParams.get("limit")) || defaultLimit)));
  const cursor = searchParams.get("cursor") || undefined;
  return { limit, ...(cursor !== undefined && { cursor }) };
}

/** Dead jobs are listed latest first; other places begin with the job that comes next. */
function orderOf(params: URLSearchParams, place: Place): { readonly reverse: boolean } {
  const order = params.get("order");
  return { reverse: order === null ? place.in === "dead" : order === "reverse" };
}

/** Returns the entries that a request names. */
export async function entriesOf(services: Services, c: Context<WebEnv>, place: Place): Promise<Page<Entry>> {
  const params = new URL(c.req.url).searchParams;
  const filter = jobFilter(parseFilter(params), services.clock.now());
  return await page(
    jobsIn(services, { place, filter, ...orderOf(params, place) }),
    services.clock,
    spanOf(services, c),
  );
}

/** Returns the part of a list that a request names, with the time until which rows are searched for. */
export function spanOf({ clock }: Pick<Services, "clock">, c: Context<WebEnv>) {
  return { ...pageOf(c), until: clock.monotonic() + BUDGET_MS };
}

/** One page of a list. */
export interface JobList {
  readonly place: Place;
  /** The page's path, which filters and paging keep. */
  readonly path: string;
  readonly filter: Filter;
  readonly rows: readonly JobView[];
  readonly size: number;
  readonly cursor: string | undefined;
  readonly next: string | undefined;
  readonly reverse: boolean;
  /** How many jobs were searched for these rows. */
  readonly looked: number;
  /** Present if a filter is invalid: then nothing was searched. */
  readonly errors?: Readonly<Record<string, string>> | undefined;
}

/** Returns the page of a list that a request names; with an invalid filter, an empty list with its error. */
export async function listOf(
  services: Services,
  c: Context<WebEnv>,
  place: Place,
  path: string = placePath(place),
): Promise<JobList> {
  const params = new URL(c.req.url).searchParams;
  const { filter, errors } = readFilter(params);
  const request = { filter, ...orderOf(params, place), cursor: undefined, ...pageOf(c) };
  if (errors !== undefined) {
    const size = await readSize(services.store.admin, place);
    return { ...request, place, path, errors, rows: [], size, next: undefined, looked: 0 };
  }
  const [found, size] = await Promise.all([
    page(
      jobsIn(services, { place, filter: jobFilter(filter, services.clock.now()), reverse: request.reverse }),
      services.clock,
      spanOf(services, c),
    ),
    readSize(services.store.admin, place),
  ]);
  return {
    ...request,
    place,
    path,
    rows: await viewEntries(found.rows, services),
    size,
    next: found.next,
    looked: found.looked,
  };
}

/** Returns a path if it stays on this host; `/` otherwise. Prevents redirects to other sites. */
export function localPath(path: string | undefined): string {
  return path !== undefined && /^\/(?![/\\])[\x21-\x7e]*$/.test(path) ? path : "/";
}

/** Returns the path and query of a request, without the prefix. Probes may come without it. */
export function herePath({ prefix }: Services, c: Context): string {
  const { pathname, search } = new URL(c.req.url);
  return (pathname === prefix || pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) : pathname) + search;
}
