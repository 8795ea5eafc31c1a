/**
 * The counts of jobs and workers by the names that pages, live updates and the API use.
 *
 * @module
 */
import type { Stats } from "../../store/admin/admin.ts";

/** All counts at one moment. */
export interface Counts {
  /** Jobs that workers perform now. */
  readonly running: number;
  /** Jobs in all queues. */
  readonly queued: number;
  /** Jobs to run later. */
  readonly scheduled: number;
  /** Steps of jobs that wait for a signal, such as an approval. */
  readonly signals: number;
  /** Failed jobs that run again. */
  readonly retrying: number;
  /** Jobs that exhausted their retries. */
  readonly dead: number;
  /** Workers that are online. */
  readonly workers: number;
  /** Attempts ended since the store was created, failed ones included. */
  readonly processed: number;
  /** Of these, how many failed. */
  readonly failed: number;
}

/** Returns the store's counts under their names. */
export function countsOf(stats: Omit<Stats, "queues">): Counts {
  return {
    running: stats.running,
    queued: stats.enqueued,
    scheduled: stats.scheduled,
    signals: stats.waits.wait,
    retrying: stats.retry,
    dead: stats.dead,
    workers: stats.workers,
    processed: stats.processed,
    failed: stats.failed,
  };
}
