/**
 * Jobs that this process performs itself, at once, without the store: those of cron entries with `everyProcess`. Nothing of
 * them is stored: a job that fails is not retried, one that is cut off is lost. The next occurrence follows.
 *
 * @module
 */
import { Shutdown } from "../../job/errors.ts";
import type { NewJob } from "../../store/port/jobs.ts";
import { CLEAN_UP_MS } from "../component.ts";
import { jobFields, logJob } from "../work/job_log.ts";
import { Processor } from "../work/processor.ts";
import type { ProcessorServices } from "../work/processor_services.ts";

interface Run {
  readonly jid: string;
  readonly processor: Processor;
  readonly ended: Promise<void>;
}

export class InProcessRuns {
  readonly #services: ProcessorServices;
  readonly #running = new Set<Run>();
  #count = 0;

  /** @param services those of the processors; the settler is not used */
  constructor(services: ProcessorServices) {
    // There is no lease to settle.
    this.#services = { ...services, settler: { add: () => {} } };
  }

  /** Returns whether a job is still running. */
  isRunning(jid: string | undefined): boolean {
    return [...this.#running].some((run) => run.jid === jid);
  }

  start({ jid, queue, payload }: NewJob): void {
    const processor = new Processor(++this.#count, this.#services, "in-process");
    const ended = processor.step({ token: jid, queue, payload }).then(() => void this.#running.delete(run));
    const run: Run = { jid, processor, ended };
    this.#running.add(run);
  }

  /** Waits for running jobs until the deadline, or until `cold` aborts; then aborts them, and waits a moment longer. */
  async stop(timeoutMs: number, cold: AbortSignal): Promise<void> {
    await this.#ended(timeoutMs, cold);
    const late = [...this.#running].flatMap(({ processor }) => {
      const job = processor.attempt?.job;
      return job ? [{ task: processor.name, job }] : [];
    });
    for (const { processor } of this.#running) processor.abort(new Shutdown());
    await this.#ended(CLEAN_UP_MS);
    for (const { task, job } of late) {
      logJob(job, this.#services.log, "info", "Cut off at the shutdown timeout", () => jobFields(task, job));
    }
    // A job that is cut off has not failed.
    for (const { processor } of this.#running) void processor.release();
  }

  async #ended(maxMs: number, cold?: AbortSignal): Promise<void> {
    if (this.#running.size === 0) return;
    const over = new AbortController();
    const signal = cold ? AbortSignal.any([cold, over.signal]) : over.signal;
    const all = Promise.all([...this.#running].map((run) => run.ended));
    await Promise.race([all, this.#services.clock.sleep(maxMs, signal)]);
    over.abort();
  }
}
