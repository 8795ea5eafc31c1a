/**
 * Looking through a place with a filter, in windows, for as long as a visitor may wait; it goes on where it stopped.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { AdminStore, Entry, Place } from "../../store/admin/admin.ts";
import { type Filter, isEmpty, matcher } from "./filter.ts";
import type { Mask } from "./mask.ts";
import type { CooperativeQueue } from "../http/cooperative_queue.ts";

/** What to look for, and how far. */
export interface ScanRequest {
  readonly place: Place;
  readonly filter: Filter;
  /** From the page before. */
  readonly cursor?: string | undefined;
  /** Stops once it has so many, or so much, at the end of a window. */
  readonly limit: number;
  readonly reverse?: boolean;
  /** Stops after so long. */
  readonly budgetMs: number;
}

/** What was found. */
export interface Scan {
  readonly entries: readonly Entry[];
  /** Where to go on; absent at the end. */
  readonly next?: string;
  /** How many were looked at. */
  readonly looked: number;
}

/** What a scan needs. */
export interface ScanTools {
  readonly store: { readonly admin: Pick<AdminStore, "page"> };
  readonly clock: Clock;
  readonly mask: Mask;
  readonly slices: CooperativeQueue;
}

/** One window: those in it that pass, how many were looked at, and where the next one begins. */
export interface Window {
  readonly entries: readonly Entry[];
  readonly looked: number;
  readonly next?: string;
}

/** The first window: nobody knows yet how large the payloads are. */
const FIRST_WINDOW = 10;
/** The windows grow up to this. */
const MAX_WINDOW = 1_000;
/** So many characters of payloads are about as many as one window, and one page, hold: a thousand may be a gigabyte. */
const MAX_TEXT = 8 * 1024 * 1024;

/** The windows of a place, one after the other; without a filter, of no more than `most` entries in all. */
export async function* windows(
  { store, clock, slices, mask }: ScanTools,
  { place, filter, reverse = false, cursor: from }: Pick<ScanRequest, "place" | "filter" | "reverse" | "cursor">,
  most: number = Infinity,
): AsyncGenerator<Window> {
  const fits = isEmpty(filter) ? undefined : matcher(filter, mask, clock.now());
  let cursor = from;
  let left = most;
  for (let size = FIRST_WINDOW;;) {
    const limit = fits === undefined ? Math.min(size, left) : size;
    const { entries, next } = await store.admin.page(place, {
      limit,
      reverse,
      ...(cursor === undefined ? {} : { cursor }),
    });
    yield {
      entries: fits === undefined ? entries : await filterInSlices(slices, entries, fits),
      looked: entries.length,
      ...(next === undefined ? {} : { next }),
    };
    left -= entries.length;
    if (next === undefined || fits === undefined && left <= 0) return;
    cursor = next;
    const mean = Math.max(1, textOf(entries) / Math.max(1, entries.length));
    size = Math.max(1, Math.min(MAX_WINDOW, size * 4, Math.floor(MAX_TEXT / mean)));
    await clock.turn(); // others have their turn too
  }
}

async function filterInSlices(
  slices: CooperativeQueue,
  entries: readonly Entry[],
  fits: (entry: Entry) => boolean,
): Promise<Entry[]> {
  const fitting = await slices.map(entries, { weigh: payloadLength, map: fits });
  return entries.filter((_, i) => fitting[i]);
}

/** Returns how many characters an entry's payload has: looking at it takes time in proportion. */
export function payloadLength({ payload }: Entry): number {
  return payload.length;
}

/** How many characters their payloads have. */
function textOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { payload }) => sum + payload.length, 0);
}

/** Looks through a place. Without a filter it is just a page. */
export async function scan(tools: ScanTools, request: ScanRequest): Promise<Scan> {
  const until = tools.clock.monotonic() + request.budgetMs;
  const entries: Entry[] = [];
  let looked = 0;
  let text = 0;
  for await (const window of windows(tools, request, request.limit)) {
    entries.push(...window.entries);
    looked += window.looked;
    text += textOf(window.entries);
    const { next } = window;
    const isFull = entries.length >= request.limit || text >= MAX_TEXT;
    if (next !== undefined && (isFull || tools.clock.monotonic() >= until)) {
      return { entries, looked, next };
    }
  }
  return { entries, looked };
}

/** How many jobs of a place pass a filter; `whole` is false when there was no time for all of them. */
export async function countMatching(
  tools: ScanTools,
  request: Pick<ScanRequest, "place" | "filter" | "budgetMs">,
): Promise<{ readonly count: number; readonly whole: boolean }> {
  const until = tools.clock.monotonic() + request.budgetMs;
  let count = 0;
  for await (const window of windows(tools, request)) {
    count += window.entries.length;
    if (window.next !== undefined && tools.clock.monotonic() >= until) return { count, whole: false };
  }
  return { count, whole: true };
}
