/**
 * The store port: everything the enqueuer and the server ask of the place where jobs are kept.
 *
 * Three rules hold for every verb of every adapter:
 *  1. A verb is one atomic step (one transaction, one script). It happened whole, or it did not happen.
 *  2. A job is in exactly one place at every moment: one queue, one set, or one lease.
 *  3. Time is the store's. A verb that needs "now" reads the store's clock, never the caller's.
 *
 * Times are epoch milliseconds, durations milliseconds. Payloads are JSON text and are kept byte for byte; an adapter
 * changes one only by splicing a top-level field in (`src/job/raw.ts`).
 *
 * Every verb throws {@linkcode StoreError} when the store cannot do it, and then nothing happened, or (only when the
 * connection broke while the answer was under way) it is unknown whether it did.
 *
 * The reading and editing side, for people, is `admin.ts`. The server never imports it.
 *
 * @module
 */
import type { RunningSuspects } from "../../job/suspicion.ts";
import type { ClassStore } from "./classes.ts";
import type { CronStore } from "./cron.ts";
import type { MetricsStore } from "./metrics.ts";
import type { NewRecord, ResultWaiter } from "./results.ts";

/** A job on its way in. */
export interface NewJob {
  /** 24 hex digits, or what the caller gave. */
  readonly jid: string;
  /** Name of the queue, already checked. */
  readonly queue: string;
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
}

/** A lock on "a job like this is already there". Let go when its job leaves the store, or after `ttlMs`. */
export interface UniqueLock {
  /** What makes two jobs the same. */
  readonly key: string;
  /** How long the lock holds at most. */
  readonly ttlMs: number;
}

/** What became of one {@linkcode NewJob}: stored, or refused because the job `holder` has the unique lock. */
export type EnqueueResult =
  | { readonly stored: true }
  | { readonly stored: false; readonly holder: string };

/** A job that a process has taken and not yet finished. */
export interface Lease {
  /** Names this one taking of this one job; good for one {@linkcode Outcome}. */
  readonly token: string;
  /** The queue it was taken from, and to which it is given back. */
  readonly queue: string;
  /** The payload as stored. It may be anything, even not JSON. */
  readonly payload: string;
}

/** Which jobs, how many, and for whom. */
export interface TakeRequest {
  /** Queues in the order in which to empty them. Paused ones are passed over, limited ones give what they may. */
  readonly queues: readonly string[];
  /** At most so many. */
  readonly limit: number;
  /** Identity of the process that takes. It must have called `beat` before. */
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
 * and `bury`.
 */
export type Outcome =
  & { readonly token: string; readonly unlock?: string; readonly jid?: string; readonly occurrence?: string }
  & { readonly record?: NewRecord }
  & (
    | { readonly kind: "ack" }
    | { readonly kind: "discard" }
    | { readonly kind: "retry"; readonly delayMs: number; readonly payload: string }
    | { readonly kind: "snooze"; readonly delayMs: number; readonly payload: string }
    | { readonly kind: "bury"; readonly payload: string }
    | { readonly kind: "release" }
  );

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

/** One running job, as shown to others. */
export interface RunningJobRecord {
  /** Label of the processor, e.g. `processor-3`. */
  readonly task: string;
  /** The queue it was taken from. */
  readonly queue: string;
  /** The payload as stored; one of more than 4,000 characters without its large fields. */
  readonly payload: string;
  /** When it started. */
  readonly since: number;
  /** What it last said of itself. */
  readonly progress?: string;
  /** The last line it logged. */
  readonly lastLine?: string;
  /** The last lines it logged, that one included. */
  readonly log?: readonly string[];
}

/** A process as it describes itself at each beat. */
export interface WorkerRecord {
  /** `hostname:pid:nonce`. */
  readonly identity: string;
  /** The machine. */
  readonly hostname: string;
  /** Its process number there. */
  readonly pid: number;
  /** Free text shown beside the process; may be empty. */
  readonly tag: string;
  /** More words shown beside it. */
  readonly labels: readonly string[];
  /** The queues it takes from, each once. */
  readonly queues: readonly string[];
  /** Queue → weight; all 0 when strict. */
  readonly weights: Readonly<Record<string, number>>;
  /** How many jobs it performs at once. */
  readonly concurrency: number;
  /** The version of this program. */
  readonly version: string;
  /** When it started. */
  readonly startedAt: number;
  /** Takes nothing new. */
  readonly quiet: boolean;
  /** Jobs running now. */
  readonly busy: number;
  /** Resident memory in bytes. */
  readonly rss: number;
  /** What it performs now. */
  readonly work: readonly RunningJobRecord[];
  /** The classes that it has handlers for. Absent for a process of Sidekiq's, and where there are thousands. */
  readonly classes?: readonly string[];
  /** What it has done, by class. Absent for a process of Sidekiq's. */
  readonly totals?: Readonly<Record<string, ClassTotals>>;
}

/** What a process has done of one class. */
export interface ClassTotals {
  /** Ended well. */
  readonly done: number;
  /** A failure that is tried again counts each time. */
  readonly failed: number;
  /** Ended because somebody asked for it. */
  readonly cancelled: number;
  /** Dropped because they had not started in time. */
  readonly expired: number;
  /** Time that they took, in milliseconds. */
  readonly workedMs: number;
}

/** What others may ask of a process. */
export interface Command {
  /** Names this asking, for the answer. Absent for one that came as a Sidekiq signal. */
  readonly id?: string;
  /** What it is asked to do. */
  readonly verb: "quiet" | "resume" | "stop" | "dump" | "cancel";
  /** For `cancel`: the jid. */
  readonly jid?: string;
}

/** What a beat brought. */
export interface HeartbeatReply {
  /** What others asked of the process by Sidekiq's own signal list (Redis; else empty). */
  readonly commands: readonly Command[];
  /**
   * Whether the process counted as dead before this beat and leases that it had may have been given back: `held` tells
   * which it still has. After this beat no more of them can be, until it lapses again. May be true for the first beat.
   */
  readonly lapsed: boolean;
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

/** The live process that has a named lease. */
export interface ClaimHolder {
  /** Its identity. */
  readonly owner: string;
  /** Until when its last heartbeat counts, by the store's clock: another value tells of another heartbeat. */
  readonly beatUntil: number;
  /** Milliseconds until the lease is free, if nothing is heard of its owner any more. */
  readonly freeInMs: number;
}

/** The store, to those who put jobs in and those who perform them. Closing it ends every wait on it. */
export interface Store extends CronStore, ResultWaiter, ClassStore, MetricsStore, AsyncDisposable {
  /** The address as given, without any password: for logs and people. */
  readonly url: string;

  /**
   * Stores jobs: in their queues, or in `scheduled` when their time is to come, each with its unique lock, all in one
   * step. When it resolves, they are as durable as the store is set to be.
   */
  enqueue(jobs: readonly NewJob[]): Promise<EnqueueResult[]>;

  /**
   * Takes up to `limit` jobs, oldest first within a queue. Each becomes a lease of `owner`. Returns fewer than there are
   * when their payloads exceed 4 MiB, but at least one.
   */
  take(request: TakeRequest): Promise<Lease[]>;

  /**
   * Gives the jobs that a `take` leased and whose answer this connection lost back to the front of their queues. Otherwise
   * the next `take` returns them. Does nothing on SQLite, where no answer can be lost.
   */
  returnUnanswered(owner: string): Promise<void>;

  /** Ends leases of `owner`. An outcome whose token it no longer has changes nothing and is named in `lost`. */
  settle(owner: string, outcomes: readonly Outcome[]): Promise<SettleResult>;

  /**
   * Moves due members of `scheduled` and `retry`, earliest first, to the back of the queues that their payloads name
   * (none: `default`); at most `limit`, and fewer when their payloads exceed 4 MiB.
   */
  promote(limit: number): Promise<PromoteResult>;

  /**
   * Says that a process is alive and what it is doing; the first beat registers it. Without another beat within
   * `ttlMs` it counts as dead.
   */
  beat(process: WorkerRecord, ttlMs: number): Promise<HeartbeatReply>;

  /** Which of these leases `owner` still has, by their tokens. */
  held(owner: string, tokens: readonly string[]): Promise<string[]>;

  /** Ends a process's registration. Leases that it still has are given back to the front of their queues. */
  deregister(identity: string): Promise<void>;

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
   * Notes the suspects that `owner` runs from now on. Called before one of them starts, and before another job starts
   * beside them: a rescue reads from it which job to blame.
   */
  noteSuspects(owner: string, running: RunningSuspects): Promise<void>;

  /** Notes how a worker ended, for the errors of the jobs that it ran; nothing if the store no longer knows the worker. */
  noteDeath(identity: string, ended: string): Promise<void>;

  /**
   * Takes the named lease, or takes it over from an owner that is no live process (`beat`) or whose `ttlMs` is over.
   * Returns its fencing number, higher at every change of owner; undefined when another has it. Calling again as its
   * owner renews it.
   */
  claim(name: string, owner: string, ttlMs: number): Promise<number | undefined>;

  /** Who has the named lease; undefined when no live process has, and `claim` would take it. */
  holder(name: string): Promise<ClaimHolder | undefined>;

  /** Lets go of the named lease, if `owner` has it. */
  release(name: string, owner: string): Promise<void>;

  /** Resolves when one of the queues may have work, or when `signal` aborts. Never rejects; may wake for nothing. */
  waitForWork(queues: readonly string[], signal: AbortSignal): Promise<void>;

  /** Returns whether a queue that is not paused has jobs. A limit (`limits.ts`) may delay them. */
  hasQueuedJobs(queues: readonly string[]): Promise<boolean>;

  /**
   * Resolves when the earliest time in `scheduled` and `retry` may be earlier than the last `promote` of this connection
   * told, or when `signal` aborts. Never rejects.
   */
  waitForDue(signal: AbortSignal): Promise<void>;

  /** Resolves with what was asked of the process since, at least one command; empty when `signal` aborts. */
  receive(identity: string, signal: AbortSignal): Promise<Command[]>;

  /** Answers a command that has an `id`. Kept for a minute. */
  reply(id: string, text: string): Promise<void>;
}
