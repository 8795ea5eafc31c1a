/**
 * Burial: ends a job that keeps killing its workers. It ends like any job whose retries are exhausted: with an error, a
 * record, the hook `death` and a line in the log. A job that was cancelled before its worker died ends like any cancelled job.
 *
 * The job stays a lease of its offline worker until its outcome is stored. If this process dies before that, the next
 * rescuer finds the job doomed again: the hook may be called twice, and is never left out.
 *
 * @module
 */
import { RunningJob } from "../../handlers/running_job.ts";
import { WorkerDied } from "../../job/errors.ts";
import { type Job, parsePayload } from "../../job/job.ts";
import type { DoomedJob, JobStore } from "../../store/port/jobs.ts";
import type { Outcome } from "../../store/port/outcomes.ts";
import { outcomeOf } from "../../store/ops/outcome.ts";
import type { ProcessorServices } from "./processor_services.ts";
import { unstartedOutcome } from "./unstarted_end.ts";

export class Burial {
  readonly #store: { readonly jobs: Pick<JobStore, "settle"> };
  readonly #services: ProcessorServices;

  /** @param services the services of the processors: a doomed job ends as it would end in one */
  constructor(store: { readonly jobs: Pick<JobStore, "settle"> }, services: ProcessorServices) {
    this.#store = store;
    this.#services = services;
  }

  /**
   * Moves a job to `dead`, or discards it if its options say so. Acknowledges a cancelled one.
   *
   * @returns false if another worker was faster, or if the heartbeat of the job's worker has resumed
   * @throws {StoreError} if the outcome cannot be stored
   */
  async bury(doomed: DoomedJob): Promise<boolean> {
    const job = parsePayload(doomed.payload);
    const outcome = job === undefined ? this.#buryUnreadable(doomed) : await this.#outcome(doomed, job);
    const { lost } = await this.#store.jobs.settle(doomed.worker, [outcome]);
    if (lost.length > 0) return false;
    if (job && doomed.cancelled) this.#services.classCounters.addUnstarted(job.class, "cancelled");
    else if (job) this.#services.classCounters.addDied(job.class, outcome.kind === "discard" ? "discarded" : "dead");
    return true;
  }

  #buryUnreadable({ token, queue, payload }: DoomedJob): Outcome {
    this.#services.log.error("Moved an unreadable payload to dead", { queue });
    return { kind: "bury", token, payload };
  }

  async #outcome({ token, queue, deaths, ended, worker, cancelled }: DoomedJob, job: Job): Promise<Outcome> {
    const { results, retrier, listener } = this.#services;
    const running = new RunningJob(job, queue, this.#services, { worker, token });
    if (cancelled) return await unstartedOutcome(token, running, "cancelled", this.#services);
    const error = new WorkerDied(deaths, ended);
    const end = await retrier.end(running, error, { worker });
    const record = results.died(end, running, error, { worker, steps: await running.stepHistory() });
    return outcomeOf(token, job, end, { error, record, listener });
  }
}
