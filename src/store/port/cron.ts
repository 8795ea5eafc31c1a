/**
 * The cron part of the store port: the state of each cron entry. The caller makes all decisions; the store compares and swaps.
 * Either an occurrence is decided and its job is in its queue, or neither.
 *
 * @module
 */
import type { NewJob } from "./jobs.ts";

/** A cron entry as stored. */
export interface StoredCron {
  /** Names the entry. */
  readonly name: string;
  /** Increases with every change of the other fields except `seenAt`. Never the same again, not even after a removal. */
  readonly version: number;
  /** The entry's definition. The store doesn't parse it. */
  readonly definition: string;
  /** The entry's state. The store doesn't parse it. */
  readonly state: string;
  /** The job that was enqueued last for it, while it is in a queue, `scheduled`, `retry` or a lease. */
  readonly live: string | undefined;
  /** When a worker with this entry in its configuration last read it, or its definition was last written. */
  readonly seenAt: number;
}

/** A change of one entry, with the jobs that follow from it. It is applied completely or not at all. */
export interface CronWrite {
  /** Names the entry. */
  readonly name: string;
  /** The version that was read; 0: the entry must not exist. If the version has changed, nothing happens. */
  readonly version: number;
  /** The new definition; absent: unchanged. A new definition wakes all waiters. */
  readonly definition?: string;
  /** The new state. */
  readonly state: string;
  /** Jobs to enqueue in this order, without `at`, `delayMs` and `unique`. The last one becomes `live`; without jobs it stays. */
  readonly jobs: readonly NewJob[];
  /** Further jobs to enqueue, those of webhooks. */
  readonly follow?: readonly NewJob[];
  /** The members of events (`src/job/event.ts`). */
  readonly events?: readonly string[];
  /** Whether the end of `live` wakes all waiters. */
  readonly awaited: boolean;
  /** Records to add to the log `cron:NAME` (`logs.ts`), oldest first. */
  readonly records: readonly string[];
}

/** The removal of an entry with its history. Its job stays where it is. All waiters wake. */
export interface CronRemoval {
  /** Names the entry. */
  readonly name: string;
  /** The version that was read. If it has changed, nothing happens. */
  readonly version: number;
  /** Distinguishes it from a change. */
  readonly remove: true;
}

/** The result of a read. */
export interface CronReading {
  /** The store's time. */
  readonly now: number;
  /** The entries, by name. */
  readonly entries: readonly StoredCron[];
}

/** Stores the cron entries. */
export interface CronStore {
  /**
   * Reads entries: all, or those of the given names that exist.
   *
   * @param request.configured entries that this worker has in its configuration as stored: they are marked as seen now
   */
  read(
    request?: { readonly names?: readonly string[]; readonly configured?: readonly string[] },
  ): Promise<CronReading>;

  /**
   * Changes or removes entries, each whole or not at all. One round trip for every 100 on Redis.
   *
   * @returns the new version of each, the last one of a removed entry; undefined for one that has changed since it was read,
   * which stays as it is
   */
  write(writes: readonly (CronWrite | CronRemoval)[]): Promise<(number | undefined)[]>;
}
