/**
 * Jobs that this process performs itself and at once, past the store: what crontab entries with `everyProcess` are.
 * Nothing of them is stored: one that fails is not tried again, one that is cut off is lost. The next occurrence comes.
 *
 * @module
 */
import { Shutdown } from "../../job/errors.ts";
import type { NewJob } from "../../store/port/jobs.ts";
import { Processor, type ProcessorServices } from "../work/processor.ts";

/** Handlers that listen to their signal get so long to clean up after it aborted. */
const CLEAN_UP_MS = 3_000;

interface Run {
  readonly jid: string;
  readonly processor: Processor;
  readonly ended: Promise<void>;
}

/** Performs jobs, beside the processors. */
export class InProcessRuns {
  readonly #services: ProcessorServices;
  readonly #running = new Set<Run>();
  #count = 0;

  /** @param services as processors have them; the settler is not used */
  constructor(services: ProcessorServices) {
    // There is no lease to settle.
    this.#services = { ...services, settler: { add: () => {} } };
  }

  /** Whether this job is still performed. */
  isRunning(jid: string | undefined): boolean {
    return [...this.#running].some((run) => run.jid === jid);
  }

  /** Begins to perform a job. */
  start({ jid, queue, payload }: NewJob): void {
    const processor = new Processor(++this.#count, this.#services, "local");
    const ended = processor.step({ token: jid, queue, payload }).then(() => void this.#running.delete(run));
    const run: Run = { jid, processor, ended };
    this.#running.add(run);
  }

  /** Waits for those that run until the deadline, or until `signal` aborts; then aborts them. */
  async stop(timeoutMs: number, signal: AbortSignal): Promise<void> {
    await this.#ended(timeoutMs, signal);
    for (const { processor } of this.#running) {
      // To be cut off is no failure.
      void processor.release();
      processor.abort(new Shutdown());
    }
    await this.#ended(CLEAN_UP_MS);
  }

  async #ended(mostMs: number, signal?: AbortSignal): Promise<void> {
    if (this.#running.size === 0) return;
    const over = new AbortController();
    const either = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
    const all = Promise.all([...this.#running].map((run) => run.ended));
    await Promise.race([all, this.#services.clock.sleep(mostMs, either)]);
    over.abort();
  }
}
