/**
 * The steps of jobs, and the signals that they wait for. A step is written under the lease of its job: a worker that was
 * frozen and has lost the job writes nothing.
 *
 * The steps of a job go when the job ends, and stay while it is dead. The first step marks the payload of its job
 * ({@linkcode STEPS_FIELD}), so that ending a job without steps costs nothing.
 *
 * @module
 */
import { StoreError } from "./errors.ts";
import type { NewJob } from "./jobs.ts";

/** The lease that a step is written under. */
export interface StepLease {
  /** The worker. */
  readonly owner: string;
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
  /** JSON members of its record: its kind, and what people see of it. */
  readonly about: string;
  /** It ends by itself after this many milliseconds. */
  readonly forMs: number;
  /** The signal that ends it earlier. */
  readonly key?: string;
  /** The job to enqueue with it, whose end ends it. Its payload names this step in the field `parent`. */
  readonly child?: NewJob;
}

/** A step that waits, or has ended. */
export interface Wait {
  /** JSON text. */
  readonly record: string;
  /** Milliseconds until it gives up, by the store's clock; 0 if it has ended. */
  readonly leftMs: number;
}

/** What a signal did. */
export type SignalResult =
  /** A job waited for it, and runs again. */
  | { readonly reached: string }
  /** No job waits for it yet; it is kept for the first that does. */
  | { readonly reached?: undefined };

/** A signal that is kept while no job waits for it. */
export interface Signal {
  /** What the job waits for. */
  readonly key: string;
  /** JSON text. */
  readonly data: string;
  /** It is kept for this many milliseconds. */
  readonly ttlMs: number;
}

/** A key keeps this many signals. */
export const MAX_KEPT_SIGNALS = 1_000;

/** Returns the error for a signal beyond {@linkcode MAX_KEPT_SIGNALS}. */
export function tooManySignals(key: string): StoreError {
  return new StoreError(
    "full",
    `Signal "${key}" not stored: its key already keeps ${MAX_KEPT_SIGNALS} signals, the maximum, and no job waits for it`,
  );
}

/** The steps, to workers and clients. */
export interface StepStore {
  /** Returns the steps of a job in the order in which they were first written. */
  read(jid: string): Promise<StoredStep[]>;

  /**
   * Writes a step, unless it is done already: a result that is remembered never changes.
   *
   * @returns the record that the store has now; undefined if the worker has lost the lease, and nothing was written
   */
  remember(lease: StepLease, step: StoredStep): Promise<string | undefined>;

  /**
   * Begins a wait, or continues it: takes a signal that was kept, and ends a wait whose time has passed. The child is
   * enqueued in the same step, once.
   *
   * @returns undefined if the worker has lost the lease, and nothing was written
   */
  wait(lease: StepLease, wait: NewWait): Promise<Wait | undefined>;

  /**
   * Ends the oldest wait for a key with data, and makes its job due. With no job waiting, the signal is kept.
   *
   * @throws {StoreError} `full` when the key keeps {@linkcode MAX_KEPT_SIGNALS} signals already
   */
  signal(signal: Signal): Promise<SignalResult>;

  /**
   * Deletes steps of a job, so that they run again; one that runs writes them anew.
   *
   * @param name default: all
   * @returns how many
   */
  clear(jid: string, name?: string): Promise<number>;

  /**
   * Ends the sleeps and waits of a job, as if their time had passed, and makes the job due.
   *
   * @returns how many
   */
  wake(jid: string): Promise<number>;
}
