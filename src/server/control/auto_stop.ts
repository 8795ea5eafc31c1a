/**
 * Bounds: ends a server by itself: when its queues are empty (`burst`), when it has performed so many jobs, or when it
 * has had nothing to do for so long. What is scheduled is left alone.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { LoopBody } from "../service.ts";

/** When to end; undefined or false: not for that reason. */
export interface Limits {
  readonly burst: boolean;
  readonly maxJobs: number | undefined;
  readonly maxIdleMs: number | undefined;
}

/** What is going on. */
export interface Activity {
  /** Jobs that are running, wait here, or are not yet settled. */
  readonly underWay: number;
  /** The last look at the queues found them empty, and nothing has come since. */
  readonly queuesEmpty: boolean;
  /** It has taken as many jobs as it may. */
  readonly exhausted: boolean;
}

/** Between two looks. */
const POLL_INTERVAL_MS = 50;

/** Looks whether to end. Its loop's task is `auto-stop`. */
export class AutoStop implements LoopBody<void> {
  readonly name = "auto-stop";
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #activity: () => Activity;
  readonly #hasQueuedJobs: () => Promise<boolean>;
  readonly #end: (why: string) => void;
  #idleSince: number;

  /**
   * @param options.activity what is going on now
   * @param options.hasQueuedJobs whether its queues have jobs now, or may have rescued ones soon; called only before it
   * ends
   * @param options.end ends the server; called again and again until it has ended
   */
  constructor(options: {
    clock: Clock;
    limits: Limits;
    activity: () => Activity;
    hasQueuedJobs: () => Promise<boolean>;
    end: (why: string) => void;
  }) {
    this.#clock = options.clock;
    this.#limits = options.limits;
    this.#activity = options.activity;
    this.#hasQueuedJobs = options.hasQueuedJobs;
    this.#end = options.end;
    this.#idleSince = options.clock.monotonic();
  }

  /** Whether there is anything to look for. */
  static needed({ burst, maxJobs, maxIdleMs }: Limits): boolean {
    return burst || maxJobs !== undefined || maxIdleMs !== undefined;
  }

  /** Looks once. */
  async step(): Promise<void> {
    const { underWay, queuesEmpty, exhausted } = this.#activity();
    const { burst, maxIdleMs } = this.#limits;
    const now = this.#clock.monotonic();
    if (underWay > 0) this.#idleSince = now;
    else if (exhausted) this.#end("max-jobs");
    else if (burst && queuesEmpty) await this.#endUnlessQueued("burst");
    else if (maxIdleMs !== undefined && now - this.#idleSince >= maxIdleMs) await this.#endUnlessQueued("max-idle");
  }

  /**
   * Ends unless the store has jobs for this worker: some wait for a limit, or were pushed a moment ago, by a job that has just
   * ended, say, and the fetcher has not been notified yet.
   */
  async #endUnlessQueued(why: string): Promise<void> {
    // A store that cannot be read is asked again at the next step.
    if (await this.#hasQueuedJobs().catch(() => true)) return;
    // Jobs may have been taken in the meantime.
    if (this.#activity().underWay === 0) this.#end(why);
  }

  rest(_result: void, signal: AbortSignal): Promise<void> {
    return this.#clock.sleep(POLL_INTERVAL_MS, signal);
  }
}
