/**
 * The burial of jobs that keep killing their workers: each ends like any job that has failed for good, with an error, a
 * record, the hook `death` and a line in the log.
 *
 * The job stays a lease of its dead worker until its outcome is stored. If this process dies before that, the next
 * rescuer finds the job doomed again: the hook may be called twice, and is never left out.
 *
 * @module
 */
import { JobContext } from "../../handlers/context.ts";
import { WorkerDied } from "../../job/errors.ts";
import { type Job, parsePayload } from "../../job/job.ts";
import type { DoomedJob, Outcome, Store } from "../../store/port/jobs.ts";
import type { ProcessorServices } from "./processor.ts";

/** Buries jobs. */
export class Burial {
  readonly #store: Pick<Store, "settle">;
  readonly #services: ProcessorServices;

  /** @param services what processors share: a doomed job ends as it would with them */
  constructor(store: Pick<Store, "settle">, services: ProcessorServices) {
    this.#store = store;
    this.#services = services;
  }

  /**
   * Buries a job.
   *
   * @returns false when another worker was faster, or its own worker lives after all
   * @throws {StoreError} when the outcome cannot be stored
   */
  async bury(doomed: DoomedJob): Promise<boolean> {
    const job = parsePayload(doomed.payload);
    const outcome = job === undefined ? this.#asItIs(doomed) : await this.#outcome(doomed, job);
    const { lost } = await this.#store.settle(doomed.owner, [outcome]);
    if (lost.length > 0) return false;
    if (job) this.#services.classCounters.addDied(job.class, outcome.kind === "discard" ? "discarded" : "dead");
    return true;
  }

  #asItIs({ token, queue, payload }: DoomedJob): Outcome {
    this.#services.log.error("Unreadable payload, moved to dead as it is", { queue });
    return { kind: "bury", token, payload };
  }

  async #outcome(doomed: DoomedJob, job: Job): Promise<Outcome> {
    const { queue, deaths, ended, owner } = doomed;
    const { results, retrier } = this.#services;
    const error = new WorkerDied(deaths, ended);
    const context = new JobContext({ ...job, queue }, this.#services);
    return results.died(await retrier.outcome(doomed, job, context, error), context, error, owner);
  }
}
