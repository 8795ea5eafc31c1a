/**
 * The cron part of the store port: what is remembered of each crontab entry. Every decision is made by the caller; the
 * store compares and swaps. It happened that an occurrence was decided, and its job is in its queue, or neither.
 *
 * @module
 */
import type { NewJob } from "./jobs.ts";

/** One entry as it is stored. */
export interface StoredCron {
  /** Names the entry. */
  readonly name: string;
  /** Higher at every change of what is said here but `seenAt`, and never the same again, not even after a removal. */
  readonly version: number;
  /** What the entry says; the store does not read it. */
  readonly definition: string;
  /** What is remembered of its past; the store does not read it. */
  readonly state: string;
  /** The job that was enqueued last for it, while it is in a queue, `scheduled`, `retry` or a lease. */
  readonly live: string | undefined;
  /** When a process last said that it carries this entry, or wrote its definition. */
  readonly seenAt: number;
}

/** A change of one entry, with the jobs that follow from it: whole, or not at all. */
export interface CronWrite {
  /** Names the entry. */
  readonly name: string;
  /** As it was read; 0: there must be none yet. If it is another by now, nothing happens. */
  readonly version: number;
  /** What the entry says from now on; absent: what it said. A definition that is given is told to all who wait. */
  readonly definition?: string;
  /** What is to be remembered. */
  readonly state: string;
  /** To enqueue, in this order: without `at`, `delayMs` and `unique`. The last becomes `live`; none: it stays. */
  readonly jobs: readonly NewJob[];
  /** Whether something waits for the end of `live`: then that is told to all who wait. */
  readonly awaited: boolean;
  /** To add to the history, oldest first; the last {@linkcode MAX_CRON_RECORDS} are kept. */
  readonly records: readonly string[];
}

/** What is read of the crontab. */
export interface CronReading {
  /** The store's time. */
  readonly now: number;
  /** By name. */
  readonly entries: readonly StoredCron[];
}

/** So many records are kept of each entry. */
export const MAX_CRON_RECORDS = 100;

/** Keeps the cron entries. */
export interface CronStore {
  /**
   * Reads entries: all, or those of the given names that exist.
   *
   * @param request.carried entries that this process carries just as they are stored: they are marked as seen now
   */
  read(
    request?: { readonly names?: readonly string[]; readonly carried?: readonly string[] },
  ): Promise<CronReading>;

  /**
   * Changes entries, each whole or not at all.
   *
   * @returns the new version of each; undefined for one that has changed since it was read, which stays as it is
   */
  write(writes: readonly CronWrite[]): Promise<(number | undefined)[]>;

  /** Removes an entry with its history, if it is as it was read. Its job stays where it is. */
  remove(name: string, version: number): Promise<boolean>;

  /** Returns the records of an entry, newest first; at most `limit`. */
  history(name: string, limit: number): Promise<string[]>;

  /**
   * Resolves when a definition was written or removed, or an awaited job has ended, since the last reading of all
   * entries by this connection; or when `signal` aborts. Never rejects; may resolve for no reason.
   */
  wait(signal: AbortSignal): Promise<void>;
}
