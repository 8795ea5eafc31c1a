/**
 * Auto-stop: stops the worker when its queues are empty (`burst`), after a number of jobs, or after a time without jobs.
 * Scheduled jobs don't keep it running.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { LoopBody } from "../component.ts";

export interface Limits {
  readonly burst: boolean;
  /** Undefined: any number. */
  readonly maxJobs: number | undefined;
  /** Undefined: for any time. */
  readonly maxIdleMs: number | undefined;
}

/** The state that a decision depends on. */
export interface Activity {
  /** Jobs that are running, have not started, or whose outcomes are not stored. */
  readonly unfinished: number;
  /** Jobs that the worker has taken so far. */
  readonly taken: number;
  /** The queues were empty at the last taking, and the store has not reported jobs since. */
  readonly queuesEmpty: boolean;
  /** The worker has taken as many jobs as it may. */
  readonly exhausted: boolean;
}

const POLL_INTERVAL_MS = 50;

export interface AutoStopOptions {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly activity: () => Activity;
  /** Returns whether the queues have jobs, or may have rescued ones soon. Called only right before a stop. */
  readonly hasQueuedJobs: () => Promise<boolean>;
  /** Stops the worker. May be called repeatedly. */
  readonly end: (why: string) => void;
}

export class AutoStop implements LoopBody<void> {
  readonly name = "auto-stop";
  readonly #options: AutoStopOptions;
  #idleSince: number;

  constructor(options: AutoStopOptions) {
    this.#options = options;
    this.#idleSince = options.clock.monotonic();
  }

  static needed({ burst, maxJobs, maxIdleMs }: Limits): boolean {
    return burst || maxJobs !== undefined || maxIdleMs !== undefined;
  }

  async step(): Promise<void> {
    const { activity, clock, end, limits: { burst, maxIdleMs } } = this.#options;
    const { unfinished, taken, queuesEmpty, exhausted } = activity();
    const now = clock.monotonic();
    if (unfinished > 0) this.#idleSince = now;
    else if (exhausted) end("max-jobs");
    else if (burst && queuesEmpty) await this.#endUnlessQueued("burst", taken);
    else if (maxIdleMs !== undefined && now - this.#idleSince >= maxIdleMs) {
      await this.#endUnlessQueued("max-idle", taken);
    }
  }

  /**
   * Stops unless the store has jobs for this worker: jobs that wait for a limit, or that were pushed a moment ago (by a job
   * that has just ended, for example) and that the fetcher has not been notified of.
   */
  async #endUnlessQueued(why: string, takenBefore: number): Promise<void> {
    const { activity, end, hasQueuedJobs } = this.#options;
    // If the store fails, the next step repeats the question.
    if (await hasQueuedJobs().catch(() => true)) return;
    // Jobs may have been taken in the meantime. One that has ended already may have made others due.
    if (activity().taken === takenBefore) end(why);
  }

  rest(_result: void, signal: AbortSignal): Promise<void> {
    return this.#options.clock.sleep(POLL_INTERVAL_MS, signal);
  }
}
