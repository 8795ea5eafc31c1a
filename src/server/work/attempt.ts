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
import { RunningJob } from "../../handlers/running_job.ts";
import { membershipOf } from "../../job/batch.ts";
import { describeError } from "../../job/describe_error.ts";
import { Cancelled, Shutdown, Timeout } from "../../job/errors.ts";
import { type Job, parsePayload } from "../../job/job.ts";
import type { Log } from "../../log/log.ts";
import { type AttemptOutcome, outcomeOf } from "../../store/ops/outcome.ts";
import type { BatchStore } from "../../store/port/batches.ts";
import type { Lease } from "../../store/port/jobs.ts";
import type { ProcessorServices } from "./processor_services.ts";

export type LeaseState = "held" | "released" | "lost" | "settled";

export interface Attempt {
  readonly lease: Lease;
  readonly job: RunningJob;
  /** When it started, on the monotonic clock. */
  readonly since: number;
  leaseState: LeaseState;
  /** Whether it ended because its lease was lost: nothing has finished. */
  hasGivenUp?: boolean;
  /** The outcome that the handler has written in a transaction of the application. Whether that commits decides. */
  completed?: AttemptOutcome;
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

interface MemberServices {
  readonly batches: Pick<BatchStore, "admit">;
  readonly worker: string;
  readonly log: Log;
}

/**
 * Counts a member that a client pushed without counting it, such as Sidekiq's. Returns the job with its new payload, or the
 * given job if nothing was counted.
 */
export function countMember(lease: Lease, job: Job, { batches, worker, log }: MemberServices): Job | Promise<Job> {
  const batch = membershipOf(job.payload);
  if (batch === undefined || batch.counted !== undefined) return job;
  const fields = { jid: job.jid, batch: batch.id };
  return batches.admit({ worker, token: lease.token, jid: job.jid }, batch.id).then((payload) => {
    if (payload !== undefined) return parsePayload(payload)!;
    log.warn("Batch member not counted: its batch is closed, or doesn't exist", fields);
    return job;
  }, (error) => {
    log.warn("Batch member not counted: its batch could not be reached", { ...fields, error: error.message });
    return job;
  });
}

/**
 * The net under a processor: the outcome of a job for which the worker's own code has failed. A processor performs one job
 * after the other, and would otherwise end with its first one.
 *
 * Logs an error of the worker's own code, and returns the outcome of the job: it has failed. Never rejects.
 *
 * @param attempted the job, if its attempt had begun
 */
export async function afterUnexpectedError(
  lease: Lease,
  error: unknown,
  services: ProcessorServices,
  attempted?: RunningJob,
): Promise<AttemptOutcome> {
  const { class: errorClass, message, stack } = describeError(error);
  const job = parsePayload(lease.payload);
  services.log.error("Worker failed to settle a job: it counts as failed", {
    class: job?.class,
    jid: job?.jid,
    error: `${errorClass}: ${message}`,
    stack: stack.join("\n"),
  });
  if (job === undefined) return { kind: "bury", token: lease.token, payload: lease.payload };
  // A new error: the given one may be the reason.
  const failure = Object.assign(new Error(message), { name: errorClass });
  const ended = { error: failure, hasWritten: attempted?.hasWritten, listener: services.listener };
  try {
    const running = attempted ?? new RunningJob(job, lease.queue, services);
    return outcomeOf(lease.token, running.job, await services.retrier.end(running, failure), ended);
  } catch {
    return outcomeOf(lease.token, attempted?.job ?? job, { kind: "bury", payload: lease.payload }, ended);
  }
}
