/**
 * An attempt: one performance of a job, and the state of its lease.
 *
 * An attempt is `held` while its worker has the job's lease. Only a held attempt can be settled. Four events end that state:
 *
 *  - The handler ends, and the outcome is settled: `settled`.
 *  - The worker stops and returns the job to its queue: `released`. If the handler ends before that, its outcome counts,
 *    even after the job's signal has aborted.
 *  - The worker stops, but the job was cancelled or has timed out. Its outcome is settled without waiting: `settled`.
 *  - Another worker has the job now: `lost`.
 *
 * @module
 */
import type { RunningJob } from "../../handlers/running_job.ts";
import { Cancelled, Shutdown, Timeout } from "../../job/errors.ts";
import type { Lease } from "../../store/port/jobs.ts";

/** The state of an attempt's lease. */
export type LeaseState = "held" | "released" | "lost" | "settled";

/** One attempt. */
export interface Attempt {
  readonly lease: Lease;
  readonly job: RunningJob;
  /** When it started, on the monotonic clock. */
  readonly since: number;
  leaseState: LeaseState;
}

/** Returns whether a job was aborted because it was cancelled. */
export function isCancelled({ abortedBy }: RunningJob): boolean {
  return abortedBy instanceof Cancelled;
}

/** Returns whether a job was aborted at the worker's shutdown timeout. */
export function isShutDown({ abortedBy }: RunningJob): boolean {
  return abortedBy instanceof Shutdown;
}

/** Returns whether an aborted job must end in this worker: it was cancelled or has timed out, and must not be released. */
export function mustEnd(job: RunningJob): boolean {
  return isCancelled(job) || job.abortedBy instanceof Timeout;
}
