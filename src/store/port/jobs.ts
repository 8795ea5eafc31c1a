/**
 * The jobs part of the store port: storing jobs, leasing them, ending leases, moving due jobs, rescuing leases.
 *
 * @module
 */
import type { BatchMember, BatchRefusal, MemberChange } from "./batches.ts";
import type { NewRecord } from "./results.ts";

/** A job on its way in. */
export interface NewJob {
  /** 24 hex digits, or what the caller gave. */
  readonly jid: string;
  /** Name of the queue, already checked. */
  readonly queue: string;
  /** Its group in the queue (`groups.ts`), which the payload names too. Absent: none. */
  readonly group?: string;
  /** The payload without `at` and `enqueued_at`: a JSON object's text. The store adds `enqueued_at` by its clock. */
  readonly payload: string;
  /** When it is to run, by the store's clock. Absent, now or past: at once. */
  readonly at?: number;
  /**
   * Milliseconds from the store's now until it is to run: what "in five minutes" means, whatever the caller's clock
   * says. Not together with `at`.
   */
  readonly delayMs?: number;
  /** A lock to take in the same step. While another live job holds it, this one is not stored. */
  readonly unique?: UniqueLock;
  /** Stored only if no job was stored with the same key before, in the same step. A refused job doesn't use up its key. */
  readonly once?: OnceKey;
  /** The batch that counts it, in the same step. Its payload has the mark `batch_counted`. */
  readonly batch?: BatchMember;
}

/** A lock on "a job like this is already there". Let go when its job leaves the store, or after `ttlMs`. */
export interface UniqueLock {
  /** What makes two jobs the same. */
  readonly key: string;
  /** How long the lock holds at most. */
  readonly ttlMs: number;
}

/** Makes a push idempotent: jobs with the same key are stored once in this time, also after the first has ended. */
export interface OnceKey {
  /** Names the push. */
  readonly key: string;
  /** How long the key is remembered, in milliseconds. */
  readonly ttlMs: number;
}

/**
 * What happened to one {@linkcode NewJob}: it was stored; or it was not, because the job `holder` has its unique lock,
 * because the job `first` was stored with the same {@linkcode OnceKey}, or because of its batch. The key wins over the
 * lock and the batch.
 */
export type EnqueueResult =
  | { readonly stored: true }
  | { readonly stored: false; readonly holder: string; readonly first?: undefined; readonly batch?: undefined }
  | { readonly stored: false; readonly first: string; readonly holder?: undefined; readonly batch?: undefined }
  | { readonly stored: false; readonly batch: BatchRefusal; readonly first?: undefined; readonly holder?: undefined };

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
}

/** Which jobs to take, how many, and for which worker. */
export interface TakeRequest {
  /** Queues in the order in which to empty them. Paused queues are skipped; limited queues give what their limit allows. */
  readonly queues: readonly string[];
  /** Maximum number of jobs. */
  readonly limit: number;
  /** ID of the worker. It must have called `workers.heartbeat` before. */
  readonly owner: string;
}

/**
 * How a lease ends. Settling applies it and drops the lease in one step.
 *
 * - `ack`: done; the job leaves the store.
 * - `discard`: failed, and leaves the store without a trace.
 * - `retry`: failed, runs again at `at`; `payload` is what to keep, without `enqueued_at`.
 * - `snooze`: not failed, runs again at `at` (set `scheduled`).
 * - `bury`: failed for good, to `dead`; `payload` is what to keep.
 * - `release`: not run or not finished: back to the front of its queue, unchanged. Several of one batch, named in the
 *   order in which they were taken, are in that order there.
 *
 * `retry` and `snooze` give the time as `delayMs` from the store's now. `unlock` is the key of the unique lock to let go
 * of, if the job `jid` still has it. `occurrence` is set with `ack`, `discard` and `bury`, for the job `jid` of a
 * crontab entry: it is no longer the entry's live job. `record` is kept of a job that has ended: with `ack`, `discard`
 * and `bury`. `steps` is set where the job `jid` may have steps: `ack` and `discard` delete them, and with `snooze` it is
 * due at once if one of its waits has ended meanwhile. `parent` is set with `ack`, `discard` and `bury`: the step that
 * waits for the end of this job. `batch` is set with `ack`, `discard` and `bury`, for a member of a batch.
 */
export type Outcome =
  & { readonly token: string; readonly unlock?: string; readonly jid?: string; readonly occurrence?: string }
  & { readonly steps?: boolean; readonly parent?: ParentStep }
  & { readonly record?: NewRecord; readonly batch?: MemberChange }
  & (
    | { readonly kind: "ack" }
    | { readonly kind: "discard" }
    | { readonly kind: "retry"; readonly delayMs: number; readonly payload: string }
    | { readonly kind: "snooze"; readonly delayMs: number; readonly payload: string }
    | { readonly kind: "bury"; readonly payload: string }
    | { readonly kind: "release" }
  );

/** The step of another job that waits for the end of this one, and how that step ends. */
export interface ParentStep {
  /** Its job. */
  readonly jid: string;
  /** Its name. */
  readonly step: string;
  /** How it ends. */
  readonly state: "done" | "failed";
  /** JSON members of its record: `"value":…`, or `"error":…`. */
  readonly outcome: string;
}

/** What settling a batch did. */
export interface SettleResult {
  /** Tokens that the owner no longer had: for these, nothing changed. */
  readonly lost: readonly string[];
  /** Dead jobs dropped because `dead` is over its limit of number or age. */
  readonly dropped: number;
}

/** What promoting did. */
export interface PromoteResult {
  /** Jobs moved from `scheduled` and `retry` to their queues. */
  readonly moved: number;
  /** Payloads that were not JSON, moved to `dead` as they are. */
  readonly buried: number;
  /** Milliseconds until the next member is due, by the store's clock; 0 if some are due still; undefined if none is left. */
  readonly nextInMs: number | undefined;
}

/** Who rescues, and how much of it in one step. */
export interface RescueRequest {
  /** The worker that asks. It rescues nothing before its own heartbeats have gone on for a whole timeout. */
  readonly owner: string;
  /** Maximum number of leases in one step. */
  readonly limit: number;
  /** A job that was to blame for this many deaths of workers is doomed: see `job/suspicion.ts`. */
  readonly maxRescues: number;
}

/** A job that is not rescued, because it keeps killing its workers, or is unreadable. */
export interface DoomedJob extends Lease {
  /** The dead worker, which still has the lease. */
  readonly owner: string;
  /** In how many deaths the job ran; 0 for an unreadable one. */
  readonly deaths: number;
  /** How the worker ended, where its parent has said so (`noteDeath`): `killed by signal 9 (SIGKILL)`. */
  readonly ended?: string;
}

/** What a rescue did. */
export interface RescueResult {
  /** Leases given back to the front of their queues. */
  readonly rescued: number;
  /** Jobs to bury, with their new payloads. They stay leases of their dead workers until `settle` has ended these. */
  readonly doomed: readonly DoomedJob[];
  /** The workers that were found offline. */
  readonly owners: readonly string[];
  /** Offline workers have more leases: the next step may come at once, when those that are doomed are buried. */
  readonly more: boolean;
  /** Workers with leases are past their heartbeat timeout, but `owner` cannot tell yet whether they are offline. */
  readonly waits: boolean;
}

/** Stores jobs, and leases them to workers. */
export interface JobStore {
  /**
   * Stores jobs: in their queues, or in `scheduled` if they run later, each with its unique lock, all in one step. When it
   * resolves, the jobs are as durable as the store is configured to be.
   */
  enqueue(jobs: readonly NewJob[]): Promise<EnqueueResult[]>;

  /**
   * Takes up to `limit` jobs, oldest first within a queue. Each becomes a lease of `owner`. Returns fewer than there are
   * when their payloads exceed 4 MiB, but at least one.
   */
  take(request: TakeRequest): Promise<Lease[]>;

  /**
   * Returns the jobs of a `take` whose reply this connection lost to the front of their queues. Without this call, the
   * next `take` hands them out. Does nothing on SQLite, where no reply can be lost.
   */
  returnUnanswered(owner: string): Promise<void>;

  /** Ends leases of `owner`. An outcome whose token is no longer its lease changes nothing and is listed in `lost`. */
  settle(owner: string, outcomes: readonly Outcome[]): Promise<SettleResult>;

  /** Returns those of the tokens that are still leases of `owner`. */
  stillLeased(owner: string, tokens: readonly string[]): Promise<string[]>;

  /**
   * Moves due members of `scheduled` and `retry`, earliest first, to the back of the queues that their payloads name
   * (`default` without one); at most `limit`, and fewer when their payloads exceed 4 MiB.
   */
  promote(limit: number): Promise<PromoteResult>;

  /**
   * Gives leases of offline workers back to the front of their queues in the order in which they were taken, and marks
   * these jobs as suspects, as `job/suspicion.ts` decides; those that are doomed it returns. Forgets offline workers
   * without leases. One step takes at most `limit` leases, and a bounded number of bytes.
   *
   * A lapsed heartbeat alone does not make a worker offline: the store may have been unreachable, its clock may have
   * jumped, or the whole machine may have stood still. So the decision is part of the same step, by the store's clock,
   * and rests on the heartbeats of `owner`. They are continuous while no two are further apart than half of its timeout,
   * and the store's clock has not gone back. Where T is the longer of the two timeouts, a worker is offline when it has
   * not beaten for T, and `owner` has beaten continuously for T and still does.
   */
  rescue(request: RescueRequest): Promise<RescueResult>;

  /**
   * Cancels a job: removes a waiting one and keeps its record, and asks the worker of a running one to abort it. A dead
   * job stays. The only verb that is several steps: after a crash in between, nothing or all of it has happened to the
   * job, and the same call again is safe.
   *
   * @param by the worker that calls. A job that it has leased itself is left alone
   * @returns false if `by` has leased the job
   */
  cancel(jid: string, by?: string): Promise<boolean>;

  /** Returns whether a queue that is not paused has jobs. A limit (`limits.ts`) may delay them. */
  hasQueuedJobs(queues: readonly string[]): Promise<boolean>;

  /** Resolves when one of the queues may have work, or when `signal` aborts. Never rejects; may resolve for no reason. */
  waitForWork(queues: readonly string[], signal: AbortSignal): Promise<void>;

  /**
   * Resolves when the earliest time in `scheduled` and `retry` may be earlier than the last `promote` of this connection
   * reported, or when `signal` aborts. Never rejects.
   */
  waitForDue(signal: AbortSignal): Promise<void>;
}
