/**
 * The work of a worker: taking jobs and performing them. Quiet stops taking, resume continues it, and a stop ends both.
 *
 * Where the job is at each await: a lease of this worker until its outcome is stored, also while a stop waits for handlers or
 * for the store. Jobs that are not settled or released in time are rescued when this worker's heartbeat has lapsed, or when it
 * deregisters.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { StopNotice } from "../../handlers/stop_notice.ts";
import { type Component, type Loop, OUTCOMES_SHARE, QUIET_SHARE, type ShutdownBudget } from "../component.ts";
import type { InProcessRuns } from "../schedule/in_process_runs.ts";
import type { Fetcher } from "./fetcher.ts";
import type { Manager } from "./manager.ts";
import type { Settler } from "./settler.ts";

export interface WorkOptions {
  /** Notifies running jobs that the worker becomes quiet. */
  readonly stopNotice: StopNotice;
  readonly manager: Manager;
  readonly fetcher: Fetcher;
  readonly settler: Settler;
  readonly inProcessRuns: InProcessRuns;
  readonly clock: Clock;
  /** The loops that take jobs out of the store, or move them into queues; the fetcher's is one of them. */
  readonly taking: readonly Loop[];
  /** A stop waits this long for running jobs. */
  readonly timeoutMs: () => number;
  /** Aborts when running jobs must end at once (a cold stop). */
  readonly cold: AbortSignal;
  /** Called when the last take has ended. */
  readonly onQuiet?: () => void | Promise<void>;
}

export class Work implements Component {
  readonly name = "work";
  readonly #options: WorkOptions;
  #quietSince: number | undefined;
  #isStopping = false;
  /** The number of calls of quiet and resume: only the last call counts. */
  #requests = 0;
  /** Resolves when a quiet worker has ended its last take. */
  #takingEnded: Promise<unknown> = Promise.resolve();
  /** Aborts the release of jobs that a take with a lost reply may have leased. */
  #returning = new AbortController();

  constructor(options: WorkOptions) {
    this.#options = options;
  }

  /** Since when it is quiet, in epoch milliseconds; undefined if it isn't. */
  get quietSince(): number | undefined {
    return this.#quietSince;
  }

  /** Whether {@link stop} was called: it doesn't take jobs again. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  start(): void {
    this.#options.manager.start();
    this.#startTaking();
  }

  /** Stops taking jobs. Resolves when the last take has ended. Running jobs continue. */
  async quiet(): Promise<void> {
    this.#requests++;
    if (this.#quietSince !== undefined) return;
    this.#quietSince = this.#options.clock.now();
    this.#options.stopNotice.give();
    this.#options.fetcher.goQuiet();
    await (this.#takingEnded = this.#endTaking());
    await this.#options.onQuiet?.();
  }

  /** Takes jobs again. Does nothing during and after a stop. */
  async resume(): Promise<void> {
    const request = ++this.#requests;
    // A loop that is still ending must not run twice. An earlier request may end the loops once more.
    for (let ended: Promise<unknown> | undefined; ended !== this.#takingEnded;) {
      // The next take returns the jobs of a lost reply.
      this.#returning.abort();
      await (ended = this.#takingEnded);
    }
    if (this.#quietSince === undefined || this.#isStopping) return;
    if (request !== this.#requests) {
      // Quiet was requested again in the meantime.
      this.#takingEnded = this.#endTaking();
      return;
    }
    this.#quietSince = undefined;
    this.#options.stopNotice.renew();
    this.#options.fetcher.resume();
    this.#startTaking();
  }

  /** Stops taking jobs, and ends the running ones. */
  async stop(budget: ShutdownBudget): Promise<void> {
    const { manager, settler, inProcessRuns, cold } = this.#options;
    this.#isStopping = true;
    // The timeout counts from now, even if the store delays the end of the last take.
    const quieted = this.quiet();
    const timeoutMs = this.#options.timeoutMs();
    await Promise.all([manager.stop(timeoutMs, cold, budget), inProcessRuns.stop(timeoutMs, cold)]);
    if (await budget.within(this.#takingEnded)) await budget.within(quieted, QUIET_SHARE);
    // Releases jobs that the last take has leased.
    if (!await budget.within(settler.flush(), OUTCOMES_SHARE)) settler.abandon();
  }

  /** Stops releasing jobs that a take with a lost reply may have leased. */
  abandon(): void {
    this.#returning.abort();
  }

  #startTaking(): void {
    for (const loop of this.#options.taking) loop.start();
  }

  async #endTaking(): Promise<void> {
    const { signal } = this.#returning = new AbortController();
    await Promise.all(this.#options.taking.map((loop) => loop.stop()));
    await this.#options.fetcher.returnUnanswered(signal);
  }
}
