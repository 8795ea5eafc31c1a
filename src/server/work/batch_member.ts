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
