/**
 * What pages and API read from a request in the same way.
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

/** A page is looked for so long. */
const BUDGET_MS = 600;
const DEFAULT_LIMIT = 50;
const MOST = 1_000;

/** What a request asks for of a list. */
interface Wish {
  readonly filter: Filter;
  readonly cursor: string | undefined;
  readonly reverse: boolean;
  readonly limit: number;
}

/** Which page of a list a request asks for: so many, after an earlier page. An empty cursor is none. */
export function pageOf(c: Context<WebEnv>): { readonly limit: number; readonly cursor?: string } {
  const { searchParams } = new URL(c.req.url);
  const limit = Math.min(MOST, Math.max(1, Math.floor(Number(searchParams.get("limit")) || DEFAULT_LIMIT)));
  const cursor = searchParams.get("cursor") || undefined;
  return { limit, ...(cursor !== undefined && { cursor }) };
}

function wishOf(c: Context<WebEnv>, place: Place): Wish {
  const params = new URL(c.req.url).searchParams;
  // The latest failures are what is looked for in dead; elsewhere what comes next.
  const order = params.get("order");
  return {
    filter: parseFilter(params),
    cursor: undefined,
    reverse: order === null ? place.in === "dead" : order === "reverse",
    ...pageOf(c),
  };
}

/** The entries that a request asks for. */
export async function scanOf(services: Services, c: Context<WebEnv>, place: Place): Promise<Scan> {
  return await scan(services, { place, ...wishOf(c, place), budgetMs: BUDGET_MS });
}

/** The page of a list that a request asks for. */
export async function listOf(
  services: Services,
  c: Context<WebEnv>,
  place: Place,
  path: string = placePath(place),
): Promise<JobList> {
  const wish = wishOf(c, place);
  const [found, stats] = await Promise.all([
    scan(services, { place, ...wish, budgetMs: BUDGET_MS }),
    services.store.admin.stats(),
  ]);
  return {
    ...wish,
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

/** A path that leads nowhere else. */
export function localPath(path: string | undefined): string {
  return path !== undefined && /^\/(?![/\\])[\x21-\x7e]*$/.test(path) ? path : "/";
}

/** The path and query, without the prefix. */
export function herePath(services: Services, c: Context): string {
  const url = new URL(c.req.url);
  return url.pathname.slice(services.prefix.length) + url.search;
}
