/**
 * Jobs as operators see them: one job in one place, pages of a place, and edits.
 *
 * @module
 */
import type { NewRecord } from "./results.ts";

/** The sets, by name. */
export type SetName = "scheduled" | "retry" | "dead";

/** The place of a job. A queue's name alone stands for its jobs without a group. */
export type Place =
  | { readonly in: "queue"; readonly queue: string; readonly group?: string }
  | { readonly in: SetName }
  | { readonly in: "running" };

/** One job in one place. */
export interface Entry {
  /** Names this entry for an edit. Valid until the entry moves. */
  readonly ref: string;
  /** Its place. */
  readonly place: Place;
  /** The payload as stored; may be unreadable. */
  readonly payload: string;
  /** Scheduled and retry: when it is due. Dead: when it died. Leased: when it was taken. */
  readonly at?: number;
  /** Leased: ID of the worker that has it. */
  readonly worker?: string;
  /** Leased: it was cancelled. If its worker doesn't end it, the next rescue does. */
  readonly cancelled?: true;
  /** In a queue, if `admin.get` was asked for it: how many of its jobs are taken before this one, up to a bound. */
  readonly before?: number;
}

/** One page of a list. */
export interface Page {
  /** The entries, in the requested order. */
  readonly entries: readonly Entry[];
  /** Pass it to get the next page; absent on the last. */
  readonly next?: string;
}

/** A request for a page. */
export interface PageRequest {
  /** From the page before; absent for the first. */
  readonly cursor?: string;
  /** Maximum number of entries. Default 25. A page whose payloads exceed 4 MiB ends earlier. */
  readonly limit?: number;
  /** Sets: latest first. Queues: newest first. */
  readonly reverse?: boolean;
}

/**
 * An edit of an entry.
 *
 * - `requeue`: to the back of its queue. From `retry` and `dead`, the next attempt is not counted: `retry_count` is one lower. An
 *   unreadable one stays where it is.
 * - `kill`: to `dead`, and its unique lock is released. A dead one stays unchanged.
 * - `delete`: removed, with its unique lock.
 */
export type Edit = "requeue" | "kill" | "delete";

/** Observes a search through many jobs or records. */
export interface SearchWatch {
  /** Ends the search when it aborts. The matches until then are returned. */
  readonly signal?: AbortSignal;
  /** Called after each step, with the approximate number of jobs or records in it. */
  readonly onStep?: (count: number) => void;
}

/** The jobs whose payload contains a text, ignoring case, except in its packed stack. */
export interface TextSelection extends SearchWatch {
  /** The text. */
  readonly text: string;
  /** Maximum number of entries. */
  readonly limit: number;
}

/** The first entries of a place that can be edited, earliest first. */
export interface PlaceSelection {
  /** The place. */
  readonly in: Place;
  /** Maximum number of entries. A step edits fewer if their payloads exceed 4 MiB, but at least one. */
  readonly limit: number;
}

/** The same as `delete`, and keeps a record of the job in the same step, which wakes the waiters for its result. */
export interface Cancellation {
  /** The record. */
  readonly cancel: NewRecord;
}
