/**
 * The stop guard: keeps the deadline of a stop while a handler blocks the event loop. An orderly stop needs the loop, and
 * nothing in JavaScript can interrupt a handler that doesn't yield. The guard runs in the heartbeat's thread.
 *
 * A stop is requested by a signal, by a command, or by the end of the parent (`jobs run --processes`). If the event loop
 * doesn't turn when the shutdown timeout has expired, the guard ends the process. A second request expires it at once.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { BLOCKED_MS, type LoopWatch } from "./loop_watch.ts";

/** How often to look whether the parent lives. */
const PARENT_INTERVAL_MS = 1_000;
/** How often to look, once the timeout has expired, whether the event loop turns. */
const CHECK_INTERVAL_MS = 250;

export interface StopGuardOptions {
  readonly clock: Clock;
  /** Ends the guard. */
  readonly signal: AbortSignal;
  readonly watch: Pick<LoopWatch, "replies">;
  /** How long a stop waits for running jobs. */
  readonly timeoutMs: number;
  /** Ends the process. Called once. */
  readonly end: () => void | Promise<void>;
}

export class StopGuard {
  readonly #options: StopGuardOptions;
  #timeoutMs: number;
  /** When the first stop was requested, on the monotonic clock. */
  #requestedAt: number | undefined;
  readonly #cold = new AbortController();

  constructor(options: StopGuardOptions) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs;
  }

  /** Whether a stop has been requested. */
  get isStopping(): boolean {
    return this.#requestedAt !== undefined;
  }

  /** Sets the shutdown timeout, also during a stop. */
  setTimeout(ms: number): void {
    this.#timeoutMs = ms;
  }

  /** Records a request to stop. A second one expires the shutdown timeout. */
  request(): void {
    if (this.isStopping) return this.#cold.abort();
    this.#requestedAt = this.#options.clock.monotonic();
    void this.#run(this.#requestedAt);
  }

  /**
   * Requests a stop when this process has another parent.
   *
   * @param parent the process ID of the parent
   * @param parentNow returns the process ID of the present parent
   */
  async watchParent(parent: number, parentNow = () => Deno.ppid): Promise<void> {
    const { clock, signal } = this.#options;
    while (!signal.aborted && parentNow() === parent) await clock.sleep(PARENT_INTERVAL_MS, signal);
    // The worker's stop may have begun already, with the end of its connection to the parent.
    if (!signal.aborted && !this.isStopping) this.request();
  }

  async #run(requestedAt: number): Promise<void> {
    const { clock, signal, watch, end } = this.#options;
    const over = AbortSignal.any([signal, this.#cold.signal]);
    while (!over.aborted) {
      const leftMs = requestedAt + this.#timeoutMs - clock.monotonic();
      if (leftMs <= 0) break;
      // The timeout may change meanwhile.
      await clock.sleep(Math.min(leftMs, PARENT_INTERVAL_MS), over);
    }
    while (!signal.aborted) {
      if (!await watch.replies(BLOCKED_MS) && !signal.aborted) return await end();
      await clock.sleep(CHECK_INTERVAL_MS, signal);
    }
  }
}
