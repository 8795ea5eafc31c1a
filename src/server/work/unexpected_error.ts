/**
 * The net under a processor: the outcome of a job for which the worker's own code has failed. A processor performs one job
 * after the other, and would otherwise end with its first one.
 *
 * @module
 */
import { RunningJob } from "../../handlers/running_job.ts";
import { describeError } from "../../job/describe_error.ts";
import { parsePayload } from "../../job/job.ts";
import { type AttemptOutcome, outcomeOf } from "../../store/ops/outcome.ts";
import type { Lease } from "../../store/port/jobs.ts";
import type { ProcessorServices } from "./processor_services.ts";

/**
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
  const ended = { error: failure, hasWrittenSteps: attempted?.steps?.hasWritten };
  try {
    const running = attempted ?? new RunningJob(job, lease.queue, services);
    return outcomeOf(lease.token, running.job, await services.retrier.end(running, failure), ended);
  } catch {
    return outcomeOf(lease.token, attempted?.job ?? job, { kind: "bury", payload: lease.payload }, ended);
  }
}
