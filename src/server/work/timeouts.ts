/**
 * Timeouts: aborts jobs that exceed their timeout, and reports handlers that ignore their signal. JavaScript cannot stop such
 * a handler: its job stays leased, and fails when the handler ends. An isolated process is killed.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { RunningJob } from "../../handlers/running_job.ts";
import { Timeout } from "../../job/errors.ts";
import type { Log } from "../../log/log.ts";
import { logJob } from "./job_log.ts";

/** Time after the grace period before a job is reported: killing an isolated process takes a moment. */
const REPORT_AFTER_MS = 1_000;

export interface TimeoutsOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** An aborted job has this long to end. */
  readonly killAfterMs: number;
}

export class Timeouts {
  readonly #options: TimeoutsOptions;

  constructor(options: TimeoutsOptions) {
    this.#options = options;
  }

  /** Runs a job, and aborts it after `ms`. */
  async within<Result>(ms: number, job: RunningJob, run: () => Result): Promise<Awaited<Result>> {
    const ended = new AbortController();
    void this.#options.clock.sleep(ms, ended.signal).then(() => {
      if (!ended.signal.aborted) void this.abort(job, new Timeout(ms), ended.signal);
    });
    try {
      return await run();
    } finally {
      await job.finishSteps();
      // With a reason, the abort creates no exception with a stack.
      ended.abort("ended");
    }
  }

  /**
   * Aborts a job, and reports it if it doesn't end.
   *
   * @param ended aborts when the job has ended
   */
  async abort(job: RunningJob, reason: Error, ended: AbortSignal): Promise<void> {
    const { clock, killAfterMs, log } = this.#options;
    job.abort(reason);
    await clock.sleep(killAfterMs + REPORT_AFTER_MS, ended);
    if (ended.aborted) return;
    const { class: name, jid, queue } = job;
    const message = "Handler ignores its signal and keeps running: only isolate: true can end it";
    logJob(job, log, "warn", message, () => ({ class: name, jid, queue, reason: reason.message }));
  }
}
