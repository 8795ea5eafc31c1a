/**
 * Scans a place for jobs that match a filter, in windows, within a time budget. The cursor continues a scan where it
 * stopped.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { AdminStore, Entry, Place } from "../../store/admin/admin.ts";
import { type Filter, isEmpty, matcher } from "./filter.ts";
import type { Mask } from "../../text/mask.ts";
import type { CooperativeQueue } from "../http/cooperative_queue.ts";

/** Options of {@linkcode scan}. */
export interface ScanRequest {
  readonly place: Place;
  readonly filter: Filter;
  /** From the page before. */
  readonly cursor?: string | undefined;
  /** Stops after a window with at least this many matches in total. */
  readonly limit: number;
  readonly reverse?: boolean;
  /** Stops after the window in which this time has passed. */
  readonly budgetMs: number;
}

/** The matching jobs. */
export interface Scan {
  readonly entries: readonly Entry[];
  /** The cursor to continue from; absent at the end. */
  readonly next?: string;
  /** How many jobs were read. */
  readonly looked: number;
}

/** The services that a scan uses. */
export interface ScanTools {
  readonly store: { readonly admin: Pick<AdminStore, "page"> };
  readonly clock: Clock;
  readonly mask: Mask;
  readonly slices: CooperativeQueue;
}

/** The matches of one window, how many jobs it has, and the cursor of the next one. */
export interface Window {
  readonly entries: readonly Entry[];
  readonly looked: number;
  readonly next?: string;
}

/** The size of the first window: the size of payloads isn't known yet. */
const FIRST_WINDOW = 10;
/** Jobs in a window. */
const MAX_WINDOW = 1_000;
/** Characters of payloads in a window, and on a page, approximately: a thousand payloads may be a gigabyte. */
const MAX_TEXT_CHARS = 8 * 1024 * 1024;

/** Yields the windows of a place; without a filter, at most `max` entries in total. */
export async function* windows(
  { store, clock, slices, mask }: ScanTools,
  { place, filter, reverse = false, cursor: from }: Pick<ScanRequest, "place" | "filter" | "reverse" | "cursor">,
  max: number = Infinity,
): AsyncGenerator<Window> {
  const fits = isEmpty(filter) ? undefined : matcher(filter, mask, clock.now());
  let cursor = from;
  let left = max;
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
    size = Math.max(1, Math.min(MAX_WINDOW, size * 4, Math.floor(MAX_TEXT_CHARS / mean)));
    await clock.turn();
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

/** Returns the characters of an entry's payload, which the time to process it is proportional to. */
export function payloadLength({ payload }: Entry): number {
  return payload.length;
}

/** Returns the characters of all payloads. */
function textOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { payload }) => sum + payload.length, 0);
}

/** Scans a place. Without a filter, returns a page of it. */
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
    const isFull = entries.length >= request.limit || text >= MAX_TEXT_CHARS;
    if (next !== undefined && (isFull || tools.clock.monotonic() >= until)) {
      return { entries, looked, next };
    }
  }
  return { entries, looked };
}

/** Counts the jobs of a place that match a filter. `whole` is false if there was no time to read all jobs. */
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
