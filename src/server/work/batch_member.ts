/**
 * Counts members of batches: at the start of a job that no counter counts yet, and at the end of an attempt.
 *
 * @module
 */
import { countedAs, type MemberEnd, membershipOf } from "../../job/batch.ts";
import { type Job, parsePayload } from "../../job/job.ts";
import type { Log } from "../../log/log.ts";
import type { BatchStore } from "../../store/port/batches.ts";
import type { Lease } from "../../store/port/jobs.ts";
import type { Outcome } from "../../store/port/outcomes.ts";

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

/**
 * Adds to an outcome the change of the batch's counters, which the store makes in the same step. Returns the outcome unchanged
 * if the job has no batch, or if it runs again: after a release, a retry or a snooze the batch still counts it as pending.
 *
 * @param acknowledged the counter of a job that is acknowledged
 * @param result returns the result of a flow's node, as JSON
 */
export function withBatch<Any extends Outcome>(
  outcome: Any,
  { payload }: Job,
  acknowledged: MemberEnd,
  result?: () => string | undefined,
): Any {
  if (payload["batch_counted"] === undefined) return outcome;
  const batch = membershipOf(payload);
  if (batch?.counted === undefined) return outcome;
  const { id, counted: from, node } = batch;
  const text = node === undefined ? undefined : result?.();
  const change = (to: MemberEnd | "dead") => ({
    batch: { id, from, to, ...(node !== undefined && { node }), ...(text !== undefined && { result: text }) },
  });
  switch (outcome.kind) {
    case "ack":
      return { ...outcome, ...change(acknowledged) };
    case "discard":
      return { ...outcome, ...change("failed") };
    case "bury":
      return { ...outcome, ...change("dead"), payload: countedAs(outcome.payload, "dead") };
    default:
      return outcome;
  }
}
