/**
 * The jobs part of the store port: storing jobs, leasing them, ending leases, moving due jobs, rescuing leases.
 *
 * @module
 */
import type { BatchMember, BatchRefusal } from "./batches.ts";
import type { Cancellation, Edit, Entry, PlaceSelection, TextSelection } from "./entries.ts";
import type { Outcome, SettleOptions, SettleResult } from "./outcomes.ts";

/** A job to store. */
export interface NewJob {
  /** 24 hex digits, or an ID that the caller chose. */
  readonly jid: string;
  /** Name of the queue, already checked. */
  readonly queue: string;
  /** Its group in the queue (`groups.ts`), which the payload also names. Absent: none. */
  readonly group?: string;
  /** The payload without `at` and `enqueued_at`: a JSON object's text. The store adds `enqueued_at` by its clock. */
  readonly payload: string;
  /** When it runs, by the store's clock. Absent, now or past: at once. */
  readonly at?: number;
  /**
   * Milliseconds from the store's now until it runs: "in five minutes" doesn't depend on the caller's clock. Not together with
   * `at`.
   */
  readonly delayMs?: number;
  /** A lock to take in the same step. If another live job holds it, this one isn't stored. */
  readonly unique?: UniqueLock;
  /** Stored only if no job was stored with the same key before, in the same step. A refused job doesn't use up its key. */
  readonly once?: OnceKey;
  /** Refuses the job if as many were pushed with the same key in a time, in the same step. A refused job doesn't count. */
  readonly throttle?: Throttle;
  /**
   * Puts the job off, in the same step, and replaces the one in `scheduled` with the same key. Not together with `at`, `delayMs`,
   * `unique` and `batch`. The payload names the key in the field `debounce_key`.
   */
  readonly debounce?: Debounce;
  /** The batch that counts it, in the same step. Its payload has the mark `batch_counted`. */
  readonly batch?: BatchMember;
}

/** A lock against duplicates. It is released when its job leaves the store, or after `ttlMs`. */
export interface UniqueLock {
  /** Two jobs with the same key are duplicates. */
  readonly key: string;
  /** Longest time that the lock is held, in milliseconds. */
  readonly ttlMs: number;
  /**
   * The job replaces the one that has the lock, in the same step, if that one waits (queued, scheduled or retrying) and was stored
   * with `replace`, too. The job then has the jid of that one, starts its attempts from the beginning, and takes its position if
   * both are in the same queue; otherwise the time and queue of the push count. Not replaced: a running job, one with durable steps, a
   * member of a batch, a job that a step of another waits for. Not together with `batch` and `debounce`. The payload
   * has the field `on_duplicate`, `"replace"`.
   */
  readonly replace?: boolean;
}

/** Makes a push idempotent: jobs with the same key are stored once in this time, also after the first has ended. */
export interface OnceKey {
  /** Names the push. */
  readonly key: string;
  /** How long the key is remembered, in milliseconds. */
  readonly ttlMs: number;
  /** A digest of what is pushed: up to 43 letters, digits, `_` and `-`. Absent: the key alone decides. */
  readonly fingerprint?: string;
}

/** At most `count` jobs with the same key are stored in any `perMs` milliseconds. */
export interface Throttle {
  /** Names what is throttled. */
  readonly key: string;
  /** From 1. */
  readonly count: number;
  /** Milliseconds, from 1. */
  readonly perMs: number;
}

/**
 * Of the jobs with one key, one at most is in `scheduled`: with the last payload, and the jid of the first. It is due
 * `waitMs` after the last push, and `maxMs` after the first one at the latest.
 */
export interface Debounce {
  /** Letters, digits, `_` and `-`. */
  readonly key: string;
  /** Milliseconds. */
  readonly waitMs: number;
  /** Milliseconds. Absent: each push puts the job off. */
  readonly maxMs?: number;
}

/** The result for one {@linkcode NewJob}. If it isn't stored for several reasons, the one named first here counts. */
export type EnqueueResult =
  | { readonly kind: "stored" }
  /** Stored. It replaced a waiting job, and has its jid instead of the given one. */
  | { readonly kind: "replaced"; readonly jid: string }
  /** Not stored: the job `first` was stored with the same {@linkcode OnceKey}. `differs`: with another fingerprint. */
  | { readonly kind: "existing"; readonly first: string; readonly differs?: true }
  /** Not stored: its batch accepts no members. */
  | { readonly kind: "refused"; readonly batch: BatchRefusal }
  /** Not stored: its throttle accepts the next job in `freeInMs`, when the place of the job `by` is free. */
  | { readonly kind: "throttled"; readonly by: string; readonly freeInMs: number }
  /** Not stored: the job `holder` has its unique lock. */
  | { readonly kind: "duplicate"; readonly holder: string };

/** A job that a worker has taken and not yet ended. */
export interface Lease {
  /** Identifies this lease. Valid for one {@linkcode Outcome}. */
  readonly token: string;
  /** The queue it was taken from, and to which it is returned. */
  readonly queue: string;
  /** The group it was taken from; absent if it has none. */
  readonly group?: string;
  /** The payload as stored. It may be any text, even invalid JSON. */
  readonly payload: string;
  /** It was cancelled, or its batch before the take: the worker ends it as cancelled, without starting it. */
  readonly cancelled?: true;
  /** When its attempt began, in epoch milliseconds, if another process of the same worker began it. No store sets it. */
  readonly since?: number;
}

/** A request for jobs. */
export interface TakeRequest {
  /** Queues in the order in which to empty them. Paused queues are skipped; limited queues give what their limit allows. */
  readonly queues: readonly string[];
  /** Maximum number of jobs. 0: see {@linkcode JobStore.take}. */
  readonly limit: number;
  /** ID of the worker. It must have called `workers.heartbeat` before. */
  readonly worker: string;
  /**
   * Jobs that a group gets in its turn, even if more groups than `limit` have jobs; at most {@linkcode MAX_MIN_TURN}. Default 1,
   * the fairest. A worker that finishes thousands of jobs/s needs fewer changes between groups with more.
   */
  readonly minTurn?: number;
  /**
   * The classes that the worker has. Of the jobs that wait aside for a worker with their class, it takes those of these classes,
   * before the other jobs of a queue. Jobs that aren't aside are taken whatever their class. Absent: all classes.
   */
  readonly classes?: readonly string[] | undefined;
}

/** The maximum of {@linkcode TakeRequest.minTurn}. */
export const MAX_MIN_TURN = 16;

/** The result of a promotion. */
export interface PromoteResult {
  /** Jobs moved from `scheduled` and `retry` to their queues. */
  readonly moved: number;
  /** Payloads that aren't JSON, moved to `dead` unchanged. */
  readonly buried: number;
  /** Milliseconds until the next member is due, by the store's clock; 0 if more are due; undefined if none is left. */
  readonly nextInMs: number | undefined;
}

/** A request to rescue leases. */
export interface RescueRequest {
  /** ID of the rescuing worker. It rescues nothing but cancelled jobs until its heartbeats have been continuous for a whole timeout. */
  readonly worker: string;
  /** Maximum number of leases in one step. */
  readonly limit: number;
  /** A job that was blamed for this many deaths of workers is doomed: see `job/suspicion.ts`. */
  readonly maxRescues: number;
}

/** A job that isn't rescued, because it keeps killing its workers, is unreadable, or was cancelled. */
export interface DoomedJob extends Lease {
  /** ID of the offline worker, which still has the lease. */
  readonly worker: string;
  /** Number of deaths of workers that ran the job; 0 for an unreadable or cancelled one. */
  readonly deaths: number;
  /** How the worker ended, if its parent noted it (`WorkerStore.note`): `killed by signal 9 (SIGKILL)`. */
  readonly ended?: string;
}

/** The result of a rescue. */
export interface RescueResult {
  /** Number of leases returned to the front of their queues. */
  readonly rescued: number;
  /** Jobs to end, with their new payloads. They stay leases of their offline workers until `settle` ends them. */
  readonly doomed: readonly DoomedJob[];
  /** IDs of the workers that were found offline. */
  readonly offline: readonly string[];
  /** Offline workers have more leases. The next step may follow once the doomed jobs are buried. */
  readonly more: boolean;
  /** Workers with leases are past their heartbeat timeout, but `worker` can't decide yet whether they are offline. */
  readonly waits: boolean;
}

/** Stores jobs, and leases them to workers. */
export interface JobStore {
  /**
   * Stores jobs: in their queues, or in `scheduled` if they run later, each with its unique lock, all in one step. Jobs without a
   * time are in their queue in the order of the call. When it resolves, the jobs are as durable as the store is configured to be.
   */
  enqueue(jobs: readonly NewJob[]): Promise<EnqueueResult[]>;

  /**
   * Takes up to `limit` jobs, oldest first within a queue. Each becomes a lease of `worker`. Returns fewer if their payloads exceed
   * 4 MiB, but at least one. Marks members of cancelled batches: those that moved or slept during the cancel, or that another
   * program pushed later.
   *
   * The result includes the jobs of an earlier `take` whose reply this connection lost, up to `limit`. The others return to the
   * front of their queues: with `limit` 0, all.
   */
  take(request: TakeRequest): Promise<Lease[]>;

  /** Ends leases of `worker`. An outcome whose token is no longer its lease changes nothing and is listed in `lost`. */
  settle(worker: string, outcomes: readonly Outcome[], options?: SettleOptions): Promise<SettleResult>;

  /** Returns those of the tokens that are still leases of `worker`; without tokens, all its leases. */
  stillLeased(worker: string, tokens?: readonly string[]): Promise<string[]>;

  /**
   * Moves due members of `scheduled` and `retry`, earliest first, to the back of the queues that their payloads name
   * (`default` without one); at most `limit`. A step that holds the store moves at most 4 MiB of payloads, or one job. A call is
   * one step on SQLite, and as many as are needed on Redis, each of two round trips.
   */
  promote(limit: number): Promise<PromoteResult>;

  /**
   * Returns leases of offline workers to the front of their queues in the order in which they were taken, and marks these jobs
   * as suspects, as `job/suspicion.ts` decides. Doomed jobs are in the result. Removes offline workers without leases. One step
   * handles at most `limit` leases, and a bounded number of bytes. Two round trips, one if no worker is offline.
   *
   * A lapsed heartbeat alone doesn't make a worker offline: the store may have been unreachable, its clock may have jumped, or
   * the whole machine may have been suspended. So the decision is part of the same step, uses the store's clock, and depends
   * on the heartbeats of `worker`. They are continuous while the gap between two is at most half of its timeout, and the
   * store's clock isn't set back. With T the longer of the two timeouts, a worker is offline if its last heartbeat is older
   * than T, and the heartbeats of `worker` have been continuous for T until now.
   */
  rescue(request: RescueRequest): Promise<RescueResult>;

  /**
   * Returns whether a queue that is not paused has jobs. A limit (`limits.ts`) may delay them.
   *
   * @param classes as {@linkcode TakeRequest.classes}
   */
  hasQueuedJobs(queues: readonly string[], classes?: readonly string[]): Promise<boolean>;

  /**
   * Returns every entry whose payload has one of these jids: usually one for each, none for a job that has ended or is
   * unknown. On Redis, searching for many costs as much as searching for one. Or returns entries whose payload contains a text.
   *
   * Many steps: Redis reads all jobs, in some ten round trips, and more for large places and each worker. A job that moves
   * meanwhile may be found twice, but isn't missed.
   */
  find(selection: readonly string[] | TextSelection): Promise<Entry[]>;

  /**
   * Edits entries by their refs, each in one step and only if it is still where its ref says. Or edits the first of a place, whose
   * payloads the caller needn't read: repeat that until it returns 0. A requeue in a queue does nothing. Leased ones cannot be edited.
   *
   * Several steps on Redis: three round trips for every 100 refs. Of a place, one, and two for every step of at most 250
   * entries.
   *
   * @param queue for `requeue`: another queue than the one that the payload names
   * @returns the number of edited entries
   */
  edit(selection: readonly string[] | PlaceSelection, edit: Edit | Cancellation, queue?: string): Promise<number>;
}
