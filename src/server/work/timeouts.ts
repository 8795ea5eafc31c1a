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

/** A job that runs with a timeout. */
interface Limited {
  readonly job: RunningJob;
  readonly ms: number;
  /** When it is aborted, by the monotonic clock. */
  readonly at: number;
  /** Of a job that was aborted: aborts when it has ended. */
  ended?: AbortController;
}

/** One timer serves all jobs: a timer and a signal for each would take half as much time again as a small job. */
export class Timeouts {
  readonly #options: TimeoutsOptions;
  readonly #running = new Set<Limited>();
  /** Wakes at the first abort, or before it. */
  #timer: { readonly at: number; readonly stop: AbortController } | undefined;
  #isResting = false;

  constructor(options: TimeoutsOptions) {
    this.#options = options;
  }

  /** Runs a job, and aborts it after `ms`. */
  async within<Result>(ms: number, job: RunningJob, run: () => Result): Promise<Awaited<Result>> {
    const limited: Limited = { job, ms, at: this.#options.clock.monotonic() + ms };
    this.#running.add(limited);
    if (this.#timer === undefined || limited.at < this.#timer.at) this.#wakeAt(limited.at);
    try {
      return await run();
    } finally {
      await job.finishSteps();
      this.#running.delete(limited);
      // With a reason, the abort creates no exception with a stack.
      limited.ended?.abort("ended");
      if (this.#running.size === 0 && !this.#isResting) void this.#rest();
    }
  }

  #wakeAt(at: number): void {
    const { clock } = this.#options;
    const stop = new AbortController();
    this.#timer?.stop.abort("earlier");
    this.#timer = { at, stop };
    void clock.sleep(at - clock.monotonic(), stop.signal).then(() => {
      if (!stop.signal.aborted) this.#abortDue();
    });
  }

  #abortDue(): void {
    this.#timer = undefined;
    const now = this.#options.clock.monotonic();
    let next = Infinity;
    for (const limited of this.#running) {
      if (limited.ended !== undefined) continue;
      if (limited.at > now) {
        next = Math.min(next, limited.at);
        continue;
      }
      limited.ended = new AbortController();
      void this.abort(limited.job, new Timeout(limited.ms), limited.ended.signal);
    }
    if (next < Infinity) this.#wakeAt(next);
  }

  /** Stops the timer if the turn of the event loop ends without a job: a busy worker has the next one by then. */
  async #rest(): Promise<void> {
    this.#isResting = true;
    await this.#options.clock.turn();
    this.#isResting = false;
    if (this.#running.size > 0) return;
    this.#timer?.stop.abort("idle");
    this.#timer = undefined;
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
