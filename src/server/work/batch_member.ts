/**
 * Adds the end of an attempt to the counts of its batch.
 *
 * @module
 */
import { countedAs, type MemberEnd, membershipOf } from "../../job/batch.ts";
import type { Job } from "../../job/job.ts";
import type { Outcome } from "../../store/port/jobs.ts";

/**
 * Adds to an outcome how the job's batch counts it from then on. A job without a batch keeps its outcome, and so does one
 * that runs again: release, retry and snooze don't end it.
 *
 * @param acknowledged how a job ends that is acknowledged
 */
export function withBatch<Any extends Outcome>(outcome: Any, { payload }: Job, acknowledged: MemberEnd): Any {
  if (payload["batch_counted"] === undefined) return outcome;
  const batch = membershipOf(payload);
  if (batch?.counted === undefined) return outcome;
  const change = (to: MemberEnd | "dead") => ({ batch: { id: batch.id, from: batch.counted!, to } });
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
