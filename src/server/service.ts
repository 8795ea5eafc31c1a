/**
 * What every moving part is: a name, `start`, `stop`; and the loop that most of them run in.
 *
 * A part that loops has two members beside its name: a public `step`, which does the work once and which tests call,
 * and `rest`, which waits until there may be more. {@linkcode Loop} alternates them until it is stopped. It is the
 * watchdog as well: a step that fails is logged and tried again with backoff, so a part never dies of an error.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { Log } from "../log/log.ts";
import { isGone, StoreError } from "../store/port/errors.ts";
import { OutageLog } from "./outage_log.ts";
import type { Tasks } from "./control/tasks.ts";

/** A moving part. */
export interface Service {
  readonly name: string;
  /** Begins; returns when it has begun. Called once. */
  start(): void | Promise<void>;
  /** Ends; resolves when it has ended. May be called without `start`, and twice. */
  stop(): Promise<void>;
}

/** A moving part that does the same thing again and again. */
export interface LoopBody<Result> {
  /** Its label in the dump and in the log. */
  readonly name: string;
  /** Does the work once. */
  step(): Promise<Result>;
  /** Waits until there may be more to do, or `signal` aborts. Never rejects. */
  rest(result: Result, signal: AbortSignal): Promise<void>;
}

/** What a loop needs of the process. */
export interface LoopServices {
  readonly clock: Clock;
  readonly tasks: Tasks;
  readonly log: Log;
  /** Shared by all loops of a server; default: one of this loop's own. */
  readonly outage?: OutageLog;
  /** Ends the server: the store is gone, and trying again cannot help. */
  readonly fail?: (error: StoreError) => void;
}

/** After the n-th failure in a row a loop waits this long, doubled each time, with jitter. */
const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 5_000;
/** A loop that has failed this many times in a row, though the store answers heartbeats, warns, at most once a minute. */
const MIN_REPEATED_FAILURES = 3;
const WARNING_INTERVAL_MS = 60_000;

/** Runs a {@linkcode LoopBody}: step, rest, step, rest, until stopped. */
export class Loop<Result> implements Service {
  readonly name: string;
  readonly #body: LoopBody<Result>;
  readonly #services: LoopServices;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(body: LoopBody<Result>, services: LoopServices) {
    this.name = body.name;
    this.#body = body;
    this.#services = services;
  }

  start(): void {
    this.#running ??= this.#run(this.#stop.signal);
  }

  /** Lets the step under way finish. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { tasks, clock, log } = this.#services;
    const task = tasks.add(this.name);
    const { outage = new OutageLog() } = this.#services;
    let failures = 0;
    let warnedAt = -Infinity;
    while (!signal.aborted) {
      try {
        task.enter("working");
        const result = await this.#body.step();
        const level = outage.over(this.name);
        if (failures > 0) log[level ?? "warn"]("Working again", { failures });
        failures = 0;
        task.enter("waiting");
        if (!signal.aborted) await this.#body.rest(result, signal);
      } catch (error) {
        failures++;
        const backoff = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (failures - 1)) * (0.5 + Math.random());
        // A store that is away is said once, by whoever is to tell; a fault of ours each time, with its stack.
        if (isGone(error)) this.#services.fail?.(error);
        else if (!(error instanceof StoreError)) {
          log.error("Failed, trying again", { error, stack: (error as Error)?.stack });
        } else if (failures === 1) {
          log[outage.met(this.name, error)]("Store failed, trying again", { error: error.message });
        } else if (
          failures >= MIN_REPEATED_FAILURES && outage.failsAlone(this.name) &&
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
