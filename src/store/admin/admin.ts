/**
 * The admin part of the store port, for the command line and the dashboard: counts, lists, single jobs, edits. The code of
 * workers never imports it.
 *
 * Lists have pages with cursors, so that the cost of a page doesn't grow with the length of the list.
 *
 * @module
 */
import type { Entry, Page, PageRequest, Place } from "../port/entries.ts";
import type { GroupLimit, GroupPage, GroupRequest, LargestGroups } from "../port/groups.ts";
import type { LimitInfo, QueueLimit } from "../port/limits.ts";
import type { Health } from "./health.ts";

/** One queue. */
export interface QueueInfo {
  /** Its name. */
  readonly name: string;
  /** Jobs in it. */
  readonly size: number;
  /** Age of its oldest job in milliseconds; 0 if it is empty. */
  readonly latencyMs: number;
  /** Whether it is paused. */
  readonly paused: boolean;
  /** Milliseconds until the pause ends; absent if it has no end. */
  readonly pausedForMs?: number;
  /** Its limit, and how much of it is used; absent without a limit. */
  readonly limit?: LimitInfo;
  /**
   * Groups with jobs that were at their limit or paused at their last turn, counted up to {@linkcode MAX_HELD}; absent
   * without any.
   */
  readonly heldGroups?: number;
  /** Jobs that wait aside for a worker with their class; absent without any. */
  readonly aside?: number;
  /** Whether limits or pauses of its groups are stored; absent without any. */
  readonly hasGroupSettings?: boolean;
  /** Its largest groups, if they were requested; absent if it has no jobs in groups. */
  readonly groups?: LargestGroups;
}

/** Held groups are counted up to this number. */
export const MAX_HELD = 1_000;

/** The kinds of steps that wait, as in their records (`job/step.ts`). */
export const WAIT_KINDS = ["sleep", "wait", "child"] as const;
/** A kind of {@linkcode WAIT_KINDS}. */
export type WaitKind = typeof WAIT_KINDS[number];

/** Totals, and the sizes of all places. */
export interface Stats {
  /** Attempts finished since the store exists, including failures, as Sidekiq counts. */
  readonly processed: number;
  /** How many of them failed. */
  readonly failed: number;
  /** Queued jobs. */
  readonly enqueued: number;
  /** Scheduled jobs. */
  readonly scheduled: number;
  /** Retrying jobs. */
  readonly retry: number;
  /** Dead jobs. */
  readonly dead: number;
  /** Running jobs. */
  readonly running: number;
  /** Online workers. */
  readonly workers: number;
  /**
   * Durable steps that sleep, wait for a signal, and wait for a child. One whose time has passed may be counted until its job
   * runs.
   */
  readonly waits: Readonly<Record<WaitKind, number>>;
  /** The queues, by name. */
  readonly queues: readonly QueueInfo[];
}

/** Which members of a batch to read. */
export interface MemberRequest extends Omit<PageRequest, "reverse"> {
  /** Only dead ones. */
  readonly dead?: boolean;
}

/**
 * One setting of a queue or, with `group`, of that group of it.
 *
 * - `pause`: no worker takes its jobs for this many milliseconds by the store's clock, with `true` until it is resumed. `false`
 *   and 0 resume it. The last call counts.
 * - `limit`: replaces its limit; without any part, it has none. With `eachGroup`, that of each group without a separate one.
 *   Running jobs are not ended: while they exceed the limit, none is taken. See `port/limits.ts` and `port/groups.ts`.
 * - `forget`: removes an empty queue from the list of queues. The next job that is pushed or returned to it lists it again.
 */
export type QueueSettings =
  | { readonly pause: boolean | number; readonly group?: string | undefined }
  | LimitSettings
  | { readonly forget: true };

/** A limit in place of the previous one: of the queue, of one group, or of each group. */
export type LimitSettings =
  | { readonly limit: QueueLimit; readonly group?: undefined }
  | { readonly limit: GroupLimit; readonly group: string }
  | { readonly limit: GroupLimit; readonly eachGroup: true; readonly group?: undefined };

/** Returns the group that a limit belongs to, `""` for each group; undefined for the queue. */
export function limitedGroup(settings: LimitSettings): string | undefined {
  return settings.group ?? ("eachGroup" in settings ? "" : undefined);
}

/** Counts, lists and edits the contents of the store. */
export interface AdminStore {
  /**
   * Returns the totals, and every queue that has jobs, is paused, is limited, or was not forgotten. With `queues`, these instead,
   * also unknown ones: `enqueued` counts only their jobs, and the number of other queues doesn't affect the cost. One round
   * trip for 500 queues, and one more for every further 500.
   *
   * With `groups`, each of the queues has this many of its largest groups. Of a queue with more than 10,000 groups with jobs, only
   * that many are compared. That takes further round trips.
   */
  stats(request?: { readonly queues?: readonly string[]; readonly groups?: number }): Promise<Stats>;

  /** Returns the health of the store. Two round trips, and more if it has many keys or unique locks. */
  health(): Promise<Health>;

  /**
   * Returns one page of a place. Two round trips from a cursor on. Of running jobs two for every worker, and one more.
   *
   * @throws {CursorError} if the cursor doesn't belong to this place; the same holds for every list
   */
  page(place: Place, request?: PageRequest): Promise<Page>;

  /**
   * Returns a page of the jobs that name a batch, in any order. Present if the store has an index of them: otherwise all
   * places have to be read.
   */
  members?(batch: string, request: MemberRequest): Promise<Page>;

  /**
   * Returns the entries, each undefined unless it is still where its ref says. With `before`, those of queues have `before`, counted
   * up to that number.
   */
  get(refs: readonly string[], request?: { readonly before?: number }): Promise<(Entry | undefined)[]>;

  /**
   * Changes the settings of a queue, or of its groups: see {@linkcode QueueSettings}. Workers that wait for work notice within a
   * second. One step, except that a limit of groups on Redis counts the running jobs first. Two round trips at most, and for
   * a limit of groups three or more.
   *
   * @returns false if the queue isn't forgotten: it has jobs, is paused or limited, or is not listed; on SQLite also while one
   * of its jobs runs
   */
  configure(queue: string, settings: QueueSettings): Promise<boolean>;

  /**
   * Returns the groups of a queue that have jobs, a separate limit or a pause, by name. On Redis some ten round trips, and more for
   * every 500 groups.
   */
  groups(queue: string, request?: GroupRequest): Promise<GroupPage>;
}
