/**
 * The store as people see it: counts, lists, one job, and the edits an operator makes. For the command line and the
 * dashboard. The server never imports it.
 *
 * Lists are pages by cursor, so that their cost does not grow with the length of what is listed.
 *
 * @module
 */
import type { JobImport } from "./import.ts";
import type { HealthReader } from "./health.ts";
import type { Auditor } from "./audit.ts";
import type { HistoryReader } from "./history.ts";
import type { LimitInfo, QueueLimit } from "../port/limits.ts";
import type { MetricsReader } from "../port/metrics.ts";
import type { ResultReader } from "../port/results.ts";
import type { Command, WorkerRecord } from "../port/jobs.ts";

/** The sets, by name. */
export type SetName = "scheduled" | "retry" | "dead";

/** Where a job is. */
export type Place =
  | { readonly in: "queue"; readonly queue: string }
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

/** A registered process with what only the store knows of it. */
export interface WorkerInfo extends WorkerRecord {
  /** When it last said that it is alive. */
  readonly beatAt: number;
  /** False when its time is over and nobody has cleared it away yet. */
  readonly alive: boolean;
}

/** A queue that is paused, or what stands for all of them. */
export type QueuePause = Pick<QueueInfo, "name" | "paused" | "pausedForMs">;

/** What an edit does to an entry. */
export type Edit = "requeue" | "kill" | "delete";

/** The store, to people. */
export interface StoreAdmin extends ResultReader, JobImport, Auditor, HistoryReader, MetricsReader, HealthReader {
  /** The counts of everything. */
  stats(): Promise<Stats>;
  /** Every queue that has jobs, had some and was not forgotten, is paused or limited; by name. */
  queues(): Promise<QueueInfo[]>;
  /** Those of these queues that are paused; costs nothing for the others that there are. */
  pauses(queues: readonly string[]): Promise<QueuePause[]>;
  /** The registered processes. */
  processes(): Promise<WorkerInfo[]>;
  /**
   * One page of a place.
   *
   * @throws {CursorError} when the cursor is none of this place's; so for every list
   */
  page(place: Place, request?: PageRequest): Promise<Page>;
  /** The entry, if it is still where its ref says. */
  get(ref: string): Promise<Entry | undefined>;
  /**
   * How many jobs of its queue are taken before this entry, counted up to `most`; undefined when it is in no queue, or no
   * longer.
   */
  before(ref: string, most: number): Promise<number | undefined>;
  /** Every entry whose payload has this jid. Usually one; none when the job is done or unknown. */
  find(jid: string): Promise<Entry[]>;
  /** The same for several at once, which on Redis costs as much as one: all is looked through once. */
  findAll(jids: readonly string[]): Promise<Entry[]>;
  /** Entries anywhere whose payload contains the text (case counts not), but in its packed stack; at most `limit`. */
  search(text: string, limit: number): Promise<Entry[]>;
  /**
   * Edits entries, each in one step and only if it is still where its ref says. Leased ones cannot be edited.
   *
   * - `requeue`: to the back of the queue that its payload names, now. From `retry` and `dead`, the attempt to come is
   *   not counted: `retry_count` is one lower. One that is not readable stays where it is.
   * - `kill`: to `dead`, and its unique lock is let go. A dead one stays as it is.
   * - `delete`: away, with its unique lock.
   *
   * @returns how many were edited
   */
  edit(refs: readonly string[], edit: Edit, queue?: string): Promise<number>;
  /** The same for up to `limit` entries of a place, earliest first. Call again until it returns 0. */
  editSome(place: Place, edit: Edit, limit: number): Promise<number>;
  /**
   * Lets none of a queue's jobs be taken: for so many milliseconds by the store's clock, or until it is resumed. The last
   * call counts. Those who wait for work notice within a second that the time is over.
   */
  pause(queue: string, forMs?: number): Promise<void>;
  /** Lets a queue's jobs be taken again. */
  resume(queue: string): Promise<void>;
  /**
   * Limits a queue, in place of any limit that it had; with neither part it is limited no more. Jobs that run already are
   * not ended: as long as there are more than it may have, none is taken. Those who wait for work notice within a second.
   */
  limit(queue: string, limit: QueueLimit): Promise<void>;
  /**
   * Takes an empty queue off the list of queues; the next job that is pushed there, or comes back there, puts it on again.
   *
   * @returns false where it has jobs, is paused or limited, or is not on the list; on SQLite also while one of its jobs runs
   */
  forgetQueue(queue: string): Promise<boolean>;
  /** Asks something of a process. False when there is no such live process. */
  send(identity: string, command: Command): Promise<boolean>;
  /** Resolves with the answer to a command, or undefined when `signal` aborts. */
  awaitReply(id: string, signal: AbortSignal): Promise<string | undefined>;
}
