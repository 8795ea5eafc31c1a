/**
 * Waits for a lock that another connection holds, without blocking the event loop.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { isBusy } from "./errors.ts";

/** Number of attempts at short intervals: most locks are held for less than 1 ms, those of a bulk push for 10 ms. */
const QUICK_ATTEMPTS = 200;
/** Longest interval of the following attempts. */
const SLOW_INTERVAL_MS = 20;
/** A wait of this length is logged. */
const LOG_AFTER_MS = 1_000;
/** Longest wait for a lock when closing. */
const CLOSE_WAIT_MS = 500;

/** Options of {@linkcode BusyRetry}. */
export interface BusyRetryOptions {
  readonly path: string;
  readonly clock: Clock;
  /** Longest total wait. */
  readonly waitMs: number;
  readonly log?: ((level: "info" | "warn" | "error", message: string) => void) | undefined;
}

/** Repeats operations while the store is locked. */
export class BusyRetry {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #log: BusyRetryOptions["log"];
  /** On the monotonic clock: when waits end because the store is being closed. */
  #end = Infinity;

  constructor({ path, clock, waitMs, log }: BusyRetryOptions) {
    this.#path = path;
    this.#clock = clock;
    this.#waitMs = waitMs;
    this.#log = log;
  }

  /** Shortens all waits to {@linkcode CLOSE_WAIT_MS}: the store is being closed. */
  hurry(): void {
    this.#end = this.#clock.monotonic() + CLOSE_WAIT_MS;
  }

  /**
   * Runs an operation, and repeats it while the store is locked.
   *
   * @throws the last error of `run`
   */
  async try<Result>(run: () => Result): Promise<Result> {
    const began = this.#clock.monotonic();
    let isLogged = false;
    for (let attempts = 0;; attempts++) {
      try {
        const result = run();
        if (isLogged) this.#log?.("info", `Store "${this.#path}" is no longer locked`);
        return result;
      } catch (error) {
        const waited = this.#clock.monotonic() - began;
        if (!isBusy(error) || waited >= this.#waitMs || this.#clock.monotonic() >= this.#end) throw error;
        if (!isLogged && waited >= LOG_AFTER_MS) {
          isLogged = true;
          this.#log?.("warn", `Store "${this.#path}" is locked by another program, waiting`);
        }
      }
      if (attempts < 3) await this.#clock.turn();
      else await this.#clock.sleep(attempts < QUICK_ATTEMPTS ? 1 + Math.random() : SLOW_INTERVAL_MS * Math.random());
    }
  }
}
