/**
 * The store as people see it: counts, lists, one job, and the edits an operator makes. For the command line and the
 * dashboard. The server never imports it.
 *
 * Lists are pages by cursor, so that their cost does not grow with the length of what is listed.
 *
 * @module
 */
import type { GroupLimit, GroupPage, GroupRequest } from "../port/groups.ts";
import type { LimitInfo, QueueLimit } from "../port/limits.ts";
import type { Health } from "./health.ts";
import type { DayCount } from "./history.ts";

/** The sets, by name. */
export type SetName = "scheduled" | "retry" | "dead";

/** Where a job is. A queue's name alone stands for its jobs without a group. */
export type Place =
  | { readonly in: "queue"; readonly queue: string; readonly group?: string }
  | { readonly in: SetName }
  | { readonly in: "leased" };

/** One job in one place. */
export interface Entry {
  /** Names exactly this entry for an edit; good as long as it stays where it is. */
  readonly ref: string;
  /** Where it is. */
  readonly place: Place;
  /** The payload as stored; may be unreadable. */
  readonly payload: string;
  /** Scheduled and retry: when it is due. Dead: when it died. Leased: when it was taken. */
  readonly at?: number;
  /** Leased: the process that has it. */
  readonly owner?: string;
}

/** One page of a list. */
export interface Page {
  /** In the order asked for. */
  readonly entries: readonly Entry[];
  /** Pass it to get the next page; absent on the last. */
  readonly next?: string;
}

/** Which page. */
export interface PageRequest {
  /** From the page before; absent for the first. */
  readonly cursor?: string;
  /** The most entries to return. Default 25. A page whose payloads exceed 4 MiB ends earlier. */
  readonly limit?: number;
  /** Sets: latest first. Queues: newest first. */
  readonly reverse?: boolean;
}

/** One queue. */
export interface QueueInfo {
  /** Its name. */
  readonly name: string;
  /** Jobs in it. */
  readonly size: number;
  /** Age of its oldest job in milliseconds; 0 when empty. */
  readonly latencyMs: number;
  /** Whether nothing is taken from it. */
  readonly paused: boolean;
  /** Milliseconds until that ends by itself; absent when it does not. */
  readonly pausedForMs?: number;
  /** What it is limited to, and how much of that is used; absent when it is not. */
  readonly limit?: LimitInfo;
}

/** The counts of everything. */
export interface Stats {
  /** Finished since the beginning, failures included, as Sidekiq counts. */
  readonly processed: number;
  /** Of those, how many failed. */
  readonly failed: number;
  /** Jobs in all queues. */
  readonly enqueued: number;
  /** Jobs to run later. */
  readonly scheduled: number;
  /** Failed jobs to run again. */
  readonly retry: number;
  /** Jobs that failed for good. */
  readonly dead: number;
  /** Jobs that processes have taken and not finished. */
  readonly leased: number;
  /** Live processes. */
  readonly processes: number;
  /** By name. */
  readonly queues: readonly QueueInfo[];
}

/** A queue that is paused, or what stands for all of them. */
export type QueuePause = Pick<QueueInfo, "name" | "paused" | "pausedForMs">;

/** What an edit does to an entry. */
export type Edit = "requeue" | "kill" | "delete";

/** Counts, lists and edits what is in the store. */
export interface AdminStore {
  /** Returns the counts of everything, with every queue that has jobs, is paused, is limited, or was not forgotten. */
  stats(): Promise<Stats>;

  /** Returns those of these queues that are paused. The number of other queues doesn't affect its cost. */
  pausedQueues(queues: readonly string[]): Promise<QueuePause[]>;

  /** Returns how many jobs finished on each day (UTC) from `from` to `to`, both epoch milliseconds. Kept for five years. */
  history(from: number, to: number): Promise<DayCount[]>;

  /** Returns the state of the store itself. Takes a round trip or two. */
  health(): Promise<Health>;

  /**
   * Returns one page of a place.
   *
   * @throws {CursorError} if the cursor doesn't belong to this place; so for every list
   */
  page(place: Place, request?: PageRequest): Promise<Page>;

  /** Returns the entry, if it is still where its ref says. */
  get(ref: string): Promise<Entry | undefined>;

  /**
   * Returns how many jobs of its queue are taken before this entry, counted up to `most`; undefined if it is not in a
   * queue, or no longer.
   */
  position(ref: string, most: number): Promise<number | undefined>;

  /**
   * Returns every entry whose payload has one of these jids: usually one for each, none for a job that has ended or is
   * unknown. On Redis, looking for many costs as much as looking for one.
   */
  find(jids: readonly string[]): Promise<Entry[]>;

  /** Returns entries whose payload contains the text (ignoring case), except in its packed stack; at most `limit`. */
  search(text: string, limit: number): Promise<Entry[]>;

  /**
   * Edits entries, each in one step and only if it is still where its ref says. Leased ones cannot be edited.
   *
   * - `requeue`: to the back of `queue`, or of the queue that its payload names. From `retry` and `dead`, the next attempt
   *   is not counted: `retry_count` is one lower. An unreadable one stays where it is.
   * - `kill`: to `dead`, and its unique lock is released. A dead one stays as it is.
   * - `delete`: removed, with its unique lock.
   *
   * @returns the number of edited entries
   */
  edit(refs: readonly string[], edit: Edit, queue?: string): Promise<number>;

  /** Does the same to up to `limit` entries of a place, earliest first. Call it again until it returns 0. */
  editSome(place: Place, edit: Edit, limit: number): Promise<number>;

  /**
   * Pauses a queue: for this many milliseconds by the store's clock, or until it is resumed. 0 resumes it. The last call
   * counts. Workers that wait for work notice the end of a pause within a second.
   */
  pause(queue: string, forMs?: number): Promise<void>;

  /**
   * Limits a queue, in place of its previous limit; with neither part it has none. Running jobs are not ended: while there
   * are more than the limit allows, none is taken. Workers that wait for work notice a new limit within a second.
   */
  limit(queue: string, limit: QueueLimit): Promise<void>;

  /**
   * Limits one group of a queue, or each group that has no limit of its own, in place of the previous limit; without any
   * part, it has none. Running jobs are not ended. See `port/groups.ts`.
   */
  limitGroup(queue: string, group: string | undefined, limit: GroupLimit): Promise<void>;

  /** Returns the groups of a queue that have jobs or a limit of their own, by name. */
  groups(queue: string, request?: GroupRequest): Promise<GroupPage>;

  /**
   * Removes an empty queue from the list of queues. The next job that is pushed or returned to it lists it again.
   *
   * @returns false if it has jobs, is paused or limited, or is not listed; on SQLite also while one of its jobs runs
   */
  forgetQueue(queue: string): Promise<boolean>;
}
