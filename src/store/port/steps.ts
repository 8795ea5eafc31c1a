/**
 * The steps part of the store port: the steps of jobs, and the signals that they wait for. A step is written under the lease of
 * its job: a worker that was frozen and has lost the job writes nothing.
 *
 * The steps of a job are deleted when the job ends, and stay while it is dead. The payload of a job with steps that isn't
 * running has a mark ({@linkcode STEPS_FIELD}), so that the end of a job without steps costs nothing: a worker marks the payload of
 * a job that runs again, and the store that of a job that loses its lease without an outcome.
 *
 * @module
 */
import { StoreError } from "./errors.ts";
import type { NewJob } from "./jobs.ts";

/** The lease that a step is written under. */
export interface StepLease {
  /** The worker. */
  readonly worker: string;
  /** Its token, from `take`. */
  readonly token: string;
  /** Its job. */
  readonly jid: string;
}

/** A step with its record (`job/step.ts`). */
export interface StoredStep {
  /** Names it within its job. */
  readonly name: string;
  /** JSON text. */
  readonly record: string;
}

/** A step that waits. */
export interface NewWait {
  /** Names it within its job. */
  readonly name: string;
  /** JSON members of its record: its kind, and what operators see of it. Empty for a sleep. */
  readonly about: string;
  /** It times out after this many milliseconds. */
  readonly forMs: number;
  /** When the job's last step began: the wait begins later, by whatever clock. Default: it is the first. */
  readonly after?: number;
  /** The signal that ends it earlier. */
  readonly key?: string;
  /** The job to enqueue with it, whose end ends it. Its payload names this step in the field `parent`. Absent if it has begun. */
  readonly child?: NewJob;
}

/** A step that waits, or has ended. */
export interface Wait {
  /** JSON text. */
  readonly record: string;
  /** Milliseconds until it times out, by the store's clock; 0 if it has ended. */
  readonly leftMs: number;
}

/** The result of a signal. */
export type SignalResult =
  /** A job waited for it, and runs again. */
  | { readonly reached: string }
  /** No job waits for it yet; it is kept for the first that does, unless its `ttlMs` is 0. */
  | { readonly reached?: undefined };

/** A signal. */
export interface Signal {
  /** The key that a job waits for. */
  readonly key: string;
  /** JSON text. */
  readonly data: string;
  /** While no job waits, the signal is kept for this many milliseconds. 0: it isn't kept. */
  readonly ttlMs: number;
}

/** A step that waits for a signal. */
export interface SignalWait {
  /** The key of the signal. */
  readonly key: string;
  /** The job. */
  readonly jid: string;
  /** The step. */
  readonly name: string;
  /** JSON text of the step. */
  readonly record: string;
  /** The payload of the job while it sleeps. */
  readonly payload?: string;
}

/** A page of the steps that wait for signals. */
export interface WaitPage {
  /** The steps. */
  readonly waits: readonly SignalWait[];
  /** Pass it to get the next page; absent on the last. */
  readonly next?: string;
}

/** Which steps that wait for signals to read. */
export interface WaitRequest {
  /** Only those that wait for this key, the longest waiting first. */
  readonly key?: string;
  /** From the page before; absent for the first. */
  readonly cursor?: string;
  /** Maximum number of steps. A page whose payloads exceed 4 MiB ends earlier. */
  readonly limit: number;
}

/** Maximum number of signals that a key keeps. */
export const MAX_KEPT_SIGNALS = 1_000;

/** Returns the error for a signal beyond {@linkcode MAX_KEPT_SIGNALS}. */
export function tooManySignals(key: string): StoreError {
  return new StoreError(
    "full",
    `Signal "${key}" not stored: its key already keeps ${MAX_KEPT_SIGNALS} signals, the maximum, and no job waits for it`,
  );
}

/** Stores steps and signals. */
export interface StepStore {
  /** Returns the steps of a job in the order in which they were first written. */
  read(jid: string): Promise<StoredStep[]>;

  /**
   * Writes a step, unless it is done already: a stored result never changes.
   *
   * @returns the stored record; undefined if the worker has lost the lease, and nothing was written
   */
  remember(lease: StepLease, step: StoredStep): Promise<string | undefined>;

  /**
   * Begins or continues a wait: takes a signal that was kept, and ends a wait whose time has passed. The child is
   * enqueued in the same step, once. The step of a child that has begun stays deleted if it was: its job is due.
   *
   * @returns undefined if the worker has lost the lease, and nothing was written
   */
  wait(lease: StepLease, wait: NewWait): Promise<Wait | undefined>;

  /**
   * Returns a page of the steps that wait for signals, the first to time out first, without those of dead jobs. The cost of a page
   * doesn't grow with their number. One round trip on Redis.
   *
   * @throws {CursorError}
   */
  waits(request: WaitRequest): Promise<WaitPage>;

  /**
   * Ends the oldest wait for a key with data, and makes its job due. With no job waiting, the signal is kept.
   *
   * @throws {StoreError} `full` if the key already keeps {@linkcode MAX_KEPT_SIGNALS} signals
   */
  signal(signal: Signal): Promise<SignalResult>;

  /**
   * Deletes steps of a job, so that they run again: these, or all. A running job writes them again. A job whose sleep or wait is
   * deleted becomes due, and begins it again. With `waits`, ends its sleeps and waits instead, as if their time had passed, and
   * makes the job due.
   *
   * @returns the number of deleted steps, or ended sleeps and waits
   */
  clear(jid: string, which?: readonly string[] | "waits"): Promise<number>;
}
