/**
 * The components of a worker, most of which are loops.
 *
 *  - A {@linkcode Component} has a name, and may have to be started and stopped.
 *  - A {@linkcode Loop} is a component that alternates between the `step` and the `rest` of its body. It is the watchdog
 *    as well: a step that fails is logged and retried with backoff, so a component never ends because of an error.
 *  - The {@linkcode ShutdownBudget} bounds how long all components together wait for the store when they stop.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { Log } from "../log/log.ts";
import { isGone, StoreError } from "../store/port/errors.ts";
import type { Tasks } from "./control/tasks.ts";
import { OutageLog } from "./outage_log.ts";

export interface Component {
  /** Its name in the log and the dump. */
  readonly name: string;
  /** Starts it; resolves when it has started. */
  start?(): void | Promise<void>;
  /** Stops it; resolves when it has ended, or when waiting for the store has used up the budget. May be called without `start`. */
  stop?(budget: ShutdownBudget): void | Promise<void>;
}

/** The work of a loop. Tests call `step` directly. */
export interface LoopBody<Result> {
  /** Its label in the dump and in the log. */
  readonly name: string;
  /** Shown while a step runs; default `working`. `waiting` if most of a step is a wait. */
  readonly stepState?: string;
  /** Does the work once. `signal` aborts when the loop is being stopped. */
  step(signal: AbortSignal): Promise<Result>;
  /** Waits until there may be more to do, or until `signal` aborts. Never rejects. */
  rest(result: Result, signal: AbortSignal): Promise<void>;
  /** Called when the loop has ended: does what is left to do. */
  end?(): void | Promise<void>;
  /** Called if the last step, or `end`, takes longer than the shutdown budget. */
  abandon?(): void;
}

export interface LoopOptions {
  readonly clock: Clock;
  readonly tasks: Tasks;
  readonly log: Log;
  /** Shared by all components of a worker. Default: a new one. */
  readonly outage?: OutageLog;
  /** Stops the worker: the store is gone, and retrying cannot help. */
  readonly fail?: (error: StoreError) => void;
}

/** Pause after the first failure, doubled after each further one up to the maximum, with jitter. */
const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 5_000;
/** A loop warns after this many failures in a row, if heartbeats reach the store; at most this often. */
const MIN_REPEATED_FAILURES = 3;
const WARNING_INTERVAL_MS = 60_000;

/** Runs a {@linkcode LoopBody} from `start` to `stop`. It can be started again. */
// deno-lint-ignore no-explicit-any -- the result passes from step to rest, and is of no concern to others
export class Loop<Body extends LoopBody<any> = LoopBody<unknown>> implements Component {
  readonly body: Body;
  readonly #options: LoopOptions;
  #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(body: Body, options: LoopOptions) {
    this.body = body;
    this.#options = options;
  }

  get name(): string {
    return this.body.name;
  }

  /** Starts it. Does nothing if it is running. */
  start(): void {
    if (this.#running) return;
    this.#stop = new AbortController();
    this.#running = this.#run(this.#stop.signal);
  }

  /** Ends after the current step. Without a budget it waits for as long as that takes. */
  async stop(budget?: ShutdownBudget): Promise<void> {
    const ended = this.#end();
    if (budget === undefined) await ended;
    else if (!await budget.within(ended)) this.body.abandon?.();
  }

  async #end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#running = undefined;
    await this.body.end?.();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { tasks, clock, log, outage = new OutageLog(), fail } = this.#options;
    const task = tasks.add(this.name);
    let failures = 0;
    let warnedAt = -Infinity;
    while (!signal.aborted) {
      try {
        task.enter(this.body.stepState ?? "working");
        const result = await this.body.step(signal);
        const level = outage.over(this.name);
        if (failures > 0) log[level ?? "warn"]("Working again", { failures });
        failures = 0;
        task.enter("waiting");
        if (!signal.aborted) await this.body.rest(result, signal);
      } catch (error) {
        failures++;
        const backoff = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (failures - 1)) * (0.5 + Math.random());
        // A store that fails is logged once; an error in our code each time, with its stack.
        if (isGone(error)) fail?.(error);
        else if (!(error instanceof StoreError)) {
          log.error("Failed, retrying", { error, stack: (error as Error)?.stack });
        } else if (failures === 1) {
          log[outage.met(this.name, error)]("Store failed, retrying", { error: error.message });
        } else if (
          failures >= MIN_REPEATED_FAILURES && outage.failsAgain(this.name) &&
          clock.monotonic() - warnedAt >= WARNING_INTERVAL_MS
        ) {
          warnedAt = clock.monotonic();
          outage.warns(this.name);
          log.warn("Keeps failing while heartbeats reach the store", { failures, error: error.message });
        }
        task.enter("backing-off");
        await clock.sleep(backoff, signal);
      }
    }
    outage.over(this.name);
    tasks.remove(task);
  }
}

/** After its signal has aborted at the shutdown timeout, a handler gets this long to end. */
export const CLEAN_UP_MS = 2_000;
/** A stop ends at most this long after the shutdown timeout: handlers end, then the store replies. */
export const MAX_OVERTIME_MS = 3_000;
/** The part of it in which the process closes what it holds. */
export const CLOSING_MS = 250;
/** How long a stop waits for the store in total, on top of the time that running jobs take. */
export const SHUTDOWN_BUDGET_MS = 5_000;
/** The share of the budget for outcomes. The rest is left for `deregister`, which gives back jobs without a stored outcome. */
export const OUTCOMES_SHARE = 0.8;
/** The shares that may be used up after the hook `quiet`, before outcomes are stored, and after `shutdown`, before the worker leaves. */
export const QUIET_SHARE = 0.3;
export const SHUTDOWN_HOOK_SHARE = 0.9;

/**
 * Bounds how long a stop waits for the store. Several components have something left to store, one after the other, and an
 * unreachable store must not delay each of them. The rest is left to the rescuer of another worker, which finds the leases when
 * this worker's heartbeat has expired.
 */
export class ShutdownBudget {
  readonly #clock: Clock;
  #totalMs: number;
  #leftMs: number;
  #endAt = Infinity;
  #isUsed = false;

  /** @param totalMs the budget; default {@linkcode SHUTDOWN_BUDGET_MS} */
  constructor(clock: Clock, totalMs = SHUTDOWN_BUDGET_MS) {
    this.#clock = clock;
    this.#totalMs = this.#leftMs = totalMs;
  }

  /** Ends all waits in this many milliseconds, even if the budget is not used up by then. */
  endIn(ms: number): void {
    this.#endAt = Math.min(this.#endAt, this.#clock.monotonic() + ms);
  }

  /**
   * Waits until something is stored.
   *
   * @param stored settles when it is
   * @param share how much of the total budget may be used up afterwards, from 0 to 1
   * @returns false if it failed or took too long
   */
  async within(stored: Promise<unknown>, share = 1): Promise<boolean> {
    const since = this.#clock.monotonic();
    const over = new AbortController();
    this.#leftMs = Math.min(this.#leftMs, this.#endAt - since);
    if (!this.#isUsed) this.#totalMs = this.#leftMs;
    this.#isUsed = true;
    const forMs = this.#leftMs - (1 - share) * this.#totalMs;
    // A reply that has arrived counts even if no time is left.
    const late = this.#clock.sleep(Math.max(1, forMs), over.signal).then(() => false);
    const inTime = await Promise.race([stored.then(() => true, () => false), late]);
    over.abort();
    this.#leftMs -= this.#clock.monotonic() - since;
    return inTime;
  }
}
