/**
 * The events part of the store port: one log of ends. Each event is written in the step that ends its subject, so that none is lost, and
 * none is recorded of an end that didn't happen.
 *
 * Whether the store records is decided by the store in that step: {@linkcode EventStore.keep} sets until when. So processes can't
 * disagree, and a store that records nothing pays for one look per step.
 *
 * IDs rise in the order in which readers see the events. They rise with the time, too: a store that has lost its latest writes, or an
 * older copy of it, repeats no ID. The log is bounded by number and age, and a reader receives a gap for the events that it missed.
 *
 * @module
 */

/** The log keeps about this many events. Redis has the number in its script (`lua/events.lua`). */
export const MAX_KEPT_EVENTS = 100_000;

/** A page has at most this many events. */
export const MAX_PAGE_EVENTS = 500;
/** A page has no more characters than this, but at least one event. */
export const MAX_PAGE_EVENT_CHARACTERS = 256 * 1024;

/** IDs of events in one millisecond; further ones continue in the next. */
export const IDS_PER_MS = 1_024;

/** An event as it is kept. */
export interface StoredEvent {
  /** Its ID. */
  readonly id: number;
  /** Epoch milliseconds. */
  readonly at: number;
  /** A JSON object. */
  readonly body: string;
}

/** A page of the log. */
export interface EventPage {
  /** The events, oldest first. */
  readonly events: readonly StoredEvent[];
  /** The ID of the last event after the requested one that is no longer kept; absent if none is missing. */
  readonly missing?: number;
}

/** Stores events. */
export interface EventStore {
  /**
   * Records events from now on for this time, and keeps them for that long. A longer time that was set before stays. Where recording had
   * ended, a gap is recorded. Drops events that are too old or too many.
   *
   * @param ms 0: only drops events
   */
  keep(ms: number): Promise<void>;

  /** Returns the ID of the latest event; 0 if there is none. */
  last(): Promise<number>;

  /** Returns the events after an ID, oldest first: a page. */
  read(after: number, limit?: number): Promise<EventPage>;
}
