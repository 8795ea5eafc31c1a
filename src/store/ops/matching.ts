/**
 * Walks the jobs of a place that match a filter, in windows of bounded number and size: a place may hold millions.
 *
 * @module
 */
import type { AdminStore, Entry, Place } from "../admin/admin.ts";
import { compileEntryFilter, isEmptyFilter, type JobFilter } from "./filter.ts";

/** Entries read at once. A page of the store ends earlier once its payloads exceed 4 MiB. */
const WINDOW = 500;

/** A window of a place. */
export interface MatchWindow {
  /** The matching entries, in order. */
  readonly entries: readonly Entry[];
  /** Number of entries read. */
  readonly looked: number;
  /** The cursor after the window; absent at the end. */
  readonly next?: string;
}

/** A request for matching entries. */
export interface MatchRequest {
  readonly place: Place;
  readonly filter: JobFilter;
  readonly cursor?: string | undefined;
  readonly reverse?: boolean;
  /** Stop after reading this many entries: jobs that arrive meanwhile are left out. Default: none. */
  readonly most?: number;
}

/** Yields windows until the end of the place. A window's entries may leave the place before the next one is read. */
export async function* matchingWindows(
  store: { readonly admin: Pick<AdminStore, "page"> },
  { place, filter, cursor: from, reverse = false, most = Infinity }: MatchRequest,
): AsyncGenerator<MatchWindow> {
  const matches = isEmptyFilter(filter) ? undefined : compileEntryFilter(filter);
  let cursor = from;
  for (let left = most; left > 0;) {
    const limit = Math.min(WINDOW, left);
    const { entries, next } = await store.admin.page(place, {
      limit,
      reverse,
      ...(cursor !== undefined && { cursor }),
    });
    yield {
      entries: matches === undefined ? entries : entries.filter(matches),
      looked: entries.length,
      ...(next !== undefined && { next }),
    };
    if (next === undefined) return;
    left -= entries.length;
    cursor = next;
  }
}

/** A page of matching entries. */
export interface MatchPage {
  readonly entries: readonly Entry[];
  /** The cursor after the last entry; absent at the end of the place. */
  readonly next?: string;
}

/** Reads up to `limit` matching entries, however far apart they are. */
export async function matchingPage(
  store: { readonly admin: Pick<AdminStore, "page"> },
  request: Omit<MatchRequest, "most"> & { readonly limit: number },
): Promise<MatchPage> {
  const found: Entry[] = [];
  let cursor = request.cursor;
  for await (const window of matchingWindows(store, request)) {
    const missing = request.limit - found.length;
    if (window.entries.length < missing || window.entries.length === missing && window.looked === missing) {
      found.push(...window.entries);
      cursor = window.next;
      if (cursor === undefined || found.length >= request.limit) return page(found, cursor);
      continue;
    }
    // The window has more. Its cursor would skip them: find the one after the last entry that is returned.
    return page(
      [...found, ...window.entries.slice(0, missing)],
      await cursorAfter(store, request, cursor, window, missing),
    );
  }
  return { entries: found };
}

async function cursorAfter(
  store: { readonly admin: Pick<AdminStore, "page"> },
  { place, filter, reverse = false }: Omit<MatchRequest, "most">,
  cursor: string | undefined,
  window: MatchWindow,
  missing: number,
): Promise<string | undefined> {
  const matches = compileEntryFilter(filter);
  const { entries } = await store.admin.page(place, {
    limit: window.looked,
    reverse,
    ...(cursor !== undefined && { cursor }),
  });
  let matched = 0;
  const index = entries.findIndex((entry) => matches(entry) && ++matched === missing);
  if (index < 0) return window.next;
  const { next } = await store.admin.page(place, {
    limit: index + 1,
    reverse,
    ...(cursor !== undefined && { cursor }),
  });
  return next;
}

function page(entries: readonly Entry[], next: string | undefined): MatchPage {
  return { entries, ...(next !== undefined && { next }) };
}
