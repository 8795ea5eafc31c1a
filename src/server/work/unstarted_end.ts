/**
 * Ends jobs that a worker has taken and doesn't start: those that have expired, and those that were cancelled, alone or with
 * their batch.
 *
 * @module
 */
import type { RunningJob } from "../../handlers/running_job.ts";
import { Cancelled } from "../../job/errors.ts";
import { releasesOf } from "../../job/job.ts";
import { Expired } from "../../steps/errors.ts";
import { withSteps } from "../../steps/outcome.ts";
import { withBatch } from "./batch_member.ts";
import { logJob } from "./job_log.ts";
import type { ProcessorServices } from "./processor_services.ts";

/** The services that the end of a job needs. */
export type UnstartedServices = Pick<ProcessorServices, "classCounters" | "log" | "results" | "retrier" | "settler">;

/** Ends a job that has not started, with its record: at once, unless it has steps to read. */
export async function endUnstarted(
  token: string,
  running: RunningJob,
  how: "cancelled" | "expired",
  { classCounters, log, results, retrier, settler }: UnstartedServices,
): Promise<void> {
  const { class: name, jid, queue, job } = running;
  if (how === "expired") logJob(running, log, "info", "Expired", () => ({ class: name, jid, queue }));
  const outcome = how === "cancelled"
    ? retrier.cancelled(token, running)
    : { kind: "ack", token, ...releasesOf(job) } as const;
  classCounters.addUnstarted(name, how);
  const error = how === "cancelled" ? new Cancelled() : new Expired();
  const history = running.stepHistory();
  const steps = history && await history;
  const ended = withSteps({ ...outcome, ...results.unstarted(job, queue, how, steps) }, running, { error });
  settler.add(withBatch(ended, job, how));
}
