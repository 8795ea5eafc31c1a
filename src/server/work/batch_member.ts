/**
 * Counts members of batches at the start of a job that no counter counts yet.
 *
 * @module
 */
import { membershipOf } from "../../job/batch.ts";
import { type Job, parsePayload } from "../../job/job.ts";
import type { Log } from "../../log/log.ts";
import type { BatchStore } from "../../store/port/batches.ts";
import type { Lease } from "../../store/port/jobs.ts";

/** The services that counting a member needs. */
export interface MemberServices {
  readonly batches: Pick<BatchStore, "admit">;
  /** The ID of the worker. */
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
