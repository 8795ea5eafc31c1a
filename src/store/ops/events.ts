/**
 * Reads the log of events. Each reader keeps the store recording for {@linkcode READER_KEEP_MS}: one that comes back within that time has
 * missed nothing.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { type EventFilter, type JobEvent, passes, readEvent } from "../../job/event.ts";
import { type EventStore, IDS_PER_MS } from "../port/events.ts";
import { StoreError } from "../port/errors.ts";
import type { ServerStore } from "../port/store.ts";

/** Events are recorded for this time after a read. */
export const READER_KEEP_MS = 3_600_000;
/** A reader that waits for events says so this often. */
const RENEW_MS = 60_000;
/** The pause before another attempt to reach the store. */
const RETRY_MS = 1_000;

/** The parts of the store that events are read from. */
export interface EventReader extends Pick<ServerStore, "watch"> {
  readonly events: EventStore;
}

/** Events that were read. */
export interface ReadEvents {
  readonly events: readonly JobEvent[];
  /** The ID to continue after: no event up to it is missing. */
  readonly last: number;
  /** Whether there was nothing to read, not even events that the filter leaves out. */
  readonly isEnd: boolean;
}

/** Options of {@linkcode followEvents}. */
export interface FollowEventsOptions {
  readonly clock: Clock;
  /** Begins after the event with this ID. Default: the latest. 0: the oldest that is kept. */
  readonly after?: number | undefined;
  readonly filter?: EventFilter | undefined;
  /** Ends the wait for more events. */
  readonly signal: AbortSignal;
}

/** Returns the next events after an ID. Before them, a gap if some were not kept. */
export async function readEvents(
  { events }: Pick<EventReader, "events">,
  after: number,
  { filter = {}, limit }: { readonly filter?: EventFilter | undefined; readonly limit?: number } = {},
): Promise<ReadEvents> {
  const page = await events.read(after, limit);
  const read = page.events.map(readEvent).filter((event) => passes(event, filter));
  const last = page.events.at(-1)?.id ?? page.missing ?? after;
  const isEnd = last === after;
  if (page.missing === undefined || after === 0) return { events: read, last, isEnd };
  const gap = { id: page.missing, type: "gap", at: Math.floor(page.missing / IDS_PER_MS), after } as const;
  return { events: [gap, ...read], last, isEnd };
}

/**
 * Yields events as they are recorded, a page at a time; a page without events when the filter has left out all of it, and at first without
 * `after`, so that the caller knows where it begins. Ends when the signal aborts or the store closes. While the store is unreachable, it
 * waits. The caller decides when it reads on: nothing gathers here.
 */
export async function* followEvents(
  store: EventReader,
  { clock, after, filter, signal }: FollowEventsOptions,
): AsyncGenerator<ReadEvents> {
  let last = after;
  let renewAt = -Infinity;
  /** Returns the next page; undefined if there is none yet. */
  const next = async (): Promise<ReadEvents | undefined> => {
    if (clock.monotonic() >= renewAt) {
      await store.events.keep(READER_KEEP_MS);
      renewAt = clock.monotonic() + RENEW_MS;
    }
    const isFirst = last === undefined;
    last ??= await store.events.last();
    const page = await readEvents(store, last, { filter });
    last = page.last;
    return page.isEnd && !isFirst ? undefined : page;
  };
  while (!signal.aborted) {
    try {
      const page = await next();
      if (page !== undefined) {
        yield page;
        continue;
      }
    } catch (error) {
      if (!(error instanceof StoreError && error.transient)) throw error;
      await clock.sleep(RETRY_MS, signal);
      continue;
    }
    const renewal = new AbortController();
    const stop = AbortSignal.any([signal, renewal.signal]);
    const renew = clock.sleep(renewAt - clock.monotonic(), stop).then(() => renewal.abort());
    const isOpen = await store.watch({ events: last! }, stop);
    const isOver = !isOpen && !renewal.signal.aborted;
    renewal.abort();
    await renew;
    if (isOver) return;
  }
}
