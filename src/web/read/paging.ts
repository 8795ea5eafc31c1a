/**
 * Reads the page of a list that a request names, for pages and the API.
 *
 * @module
 */
import { sizeOf } from "../../store/ops/job_sets.ts";
import type { Context } from "hono";
import type { Place } from "../../store/admin/admin.ts";
import type { Services, WebEnv } from "../services.ts";
import { type Filter, parseFilter } from "./filter.ts";
import { placePath } from "./job_sets.ts";
import { payloadLength, type Scan, scan } from "./scan.ts";
import { viewEntry } from "./job_view.ts";
import type { JobList } from "../pages/job_table.tsx";

/** The longest time to scan for the rows of a page. */
const BUDGET_MS = 600;
const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000;

/** The page of a list that a request names. */
interface ListRequest {
  readonly filter: Filter;
  readonly cursor: string | undefined;
  readonly reverse: boolean;
  readonly limit: number;
}

/** Returns the limit and the cursor of a request. An empty cursor counts as absent. */
export function pageOf(c: Context<WebEnv>): { readonly limit: number; readonly cursor?: string } {
  const { searchParams } = new URL(c.req.url);
  const limit = Math.min(MAX_LIMIT, Math.max(1, Math.floor(Number(searchParams.get("limit")) || DEFAULT_LIMIT)));
  const cursor = searchParams.get("cursor") || undefined;
  return { limit, ...(cursor !== undefined && { cursor }) };
}

function listRequestOf(c: Context<WebEnv>, place: Place): ListRequest {
  const params = new URL(c.req.url).searchParams;
  // Dead jobs are listed latest first; other places begin with the job that comes next.
  const order = params.get("order");
  return {
    filter: parseFilter(params),
    cursor: undefined,
    reverse: order === null ? place.in === "dead" : order === "reverse",
    ...pageOf(c),
  };
}

/** Returns the entries that a request names. */
export async function scanOf(services: Services, c: Context<WebEnv>, place: Place): Promise<Scan> {
  return await scan(services, { place, ...listRequestOf(c, place), budgetMs: BUDGET_MS });
}

/** Returns the page of a list that a request names. */
export async function listOf(
  services: Services,
  c: Context<WebEnv>,
  place: Place,
  path: string = placePath(place),
): Promise<JobList> {
  const request = listRequestOf(c, place);
  const [found, stats] = await Promise.all([
    scan(services, { place, ...request, budgetMs: BUDGET_MS }),
    services.store.admin.stats(),
  ]);
  return {
    ...request,
    place,
    path,
    rows: await services.slices.map(found.entries, {
      weigh: payloadLength,
      map: (entry) => viewEntry(entry, services.mask),
    }),
    size: sizeOf(place, stats),
    next: found.next,
    looked: found.looked,
  };
}

/** Returns a path if it stays on this host; `/` otherwise. Prevents redirects to other sites. */
export function localPath(path: string | undefined): string {
  return path !== undefined && /^\/(?![/\\])[\x21-\x7e]*$/.test(path) ? path : "/";
}

/** Returns the path and query of a request, without the prefix. */
export function herePath(services: Services, c: Context): string {
  const url = new URL(c.req.url);
  return url.pathname.slice(services.prefix.length) + url.search;
}
