/**
 * Ends jobs without starting them: those that have expired, and those that were cancelled, alone or with their batch. Also
 * cancelled jobs of workers that have died.
 *
 * @module
 */
import type { RunningJob } from "../../handlers/running_job.ts";
import { Cancelled } from "../../job/errors.ts";
import { Expired } from "../../steps/errors.ts";
import { type AttemptOutcome, outcomeOf } from "../../store/ops/outcome.ts";
import { logJob } from "./job_log.ts";
import type { ProcessorServices } from "./processor_services.ts";

/** The services that the end of a job needs. */
export type UnstartedServices = Pick<
  ProcessorServices,
  "classCounters" | "listener" | "log" | "results" | "retrier" | "settler"
>;

/** Ends a job that has not started, with its record: at once, unless it has steps to read. */
export async function endUnstarted(
  token: string,
  running: RunningJob,
  how: "cancelled" | "expired",
  services: UnstartedServices,
): Promise<void> {
  const { class: name, jid, queue } = running;
  if (how === "expired") logJob(running, services.log, "info", "Expired", () => ({ class: name, jid, queue }));
  services.classCounters.addUnstarted(name, how);
  const outcome = unstartedOutcome(token, running, how, services);
  services.settler.add(outcome instanceof Promise ? await outcome : outcome);
}

/** Returns the outcome of a job that ends without having started here: at once, unless it has steps to read. */
export function unstartedOutcome(
  token: string,
  running: RunningJob,
  how: "cancelled" | "expired",
  { results, retrier, listener }: Pick<UnstartedServices, "results" | "retrier" | "listener">,
): AttemptOutcome | Promise<AttemptOutcome> {
  const { job, queue } = running;
  const end = how === "cancelled" ? retrier.cancelled(running) : { kind: "ack", as: how } as const;
  const error = how === "cancelled" ? new Cancelled() : new Expired();
  const outcome = (steps?: string) =>
    outcomeOf(token, job, end, { error, record: results.unstarted(job, queue, how, steps), listener });
  return running.stepHistory()?.then(outcome) ?? outcome();
}
