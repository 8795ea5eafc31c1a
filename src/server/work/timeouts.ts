/**
 * Deadlines: aborts jobs that run longer than they may, and reports those that do not listen. Nothing in JavaScript can
 * stop such a handler; its job stays leased, and it fails when it ends. In a horse it is killed.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { JobContext } from "../../handlers/context.ts";
import { Timeout } from "../../job/errors.ts";
import type { Log } from "../../log/log.ts";
import { logJob } from "./job_log.ts";

/** After the grace period a horse is killed; only what has not ended by then is reported. */
const TIMEOUT_MS = 1_000;

/** Aborts jobs. */
export class Timeouts {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #killAfterMs: number;

  /** @param options.killAfterMs what an aborted job has to end */
  constructor(options: { clock: Clock; log: Log; killAfterMs: number }) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#killAfterMs = options.killAfterMs;
  }

  /** Runs a job, and aborts it when it takes longer. */
  async within<Result>(ms: number, job: JobContext, run: () => Result): Promise<Awaited<Result>> {
    const ended = new AbortController();
    void this.#clock.sleep(ms, ended.signal).then(() => {
      if (!ended.signal.aborted) void this.abort(job, new Timeout(ms), ended.signal);
    });
    try {
      return await run();
    } finally {
      ended.abort();
    }
  }

  /**
   * Aborts a job, and reports it if it does not end.
   *
   * @param ended aborts when the job has ended
   */
  async abort(job: JobContext, reason: Error, ended: AbortSignal): Promise<void> {
    job.abort(reason);
    await this.#clock.sleep(this.#killAfterMs + TIMEOUT_MS, ended);
    if (ended.aborted) return;
    const message = "Handler does not listen to its signal and runs on; only isolate: true could end it";
    logJob(job, this.#log, "warn", message, () => ({
      class: job.class,
      jid: job.jid,
      queue: job.queue,
      reason: reason.message,
    }));
  }
}
