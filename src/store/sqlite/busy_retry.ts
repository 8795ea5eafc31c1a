/**
 * Waiting for a lock that another connection holds, without holding up the event loop.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { isBusy } from "./errors.ts";

/** Most locks are held for a fraction of a millisecond, a few for a bulk push's ten: so often at a pace for those. */
const QUICK_TRIES = 200;
const SLOW_MS = 20;
/** A wait of this length is worth a line in the log. */
const TOLD_MS = 1_000;
/** Closing waits no longer for a lock. */
const CLOSE_WAIT_MS = 500;

/** How long to wait, and whom to tell. */
export interface BusyRetryOptions {
  readonly path: string;
  readonly clock: Clock;
  /** In all. */
  readonly waitMs: number;
  readonly log?: ((level: "info" | "warn" | "error", message: string) => void) | undefined;
}

/** Tries again as long as the store is locked. */
export class BusyRetry {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #log: BusyRetryOptions["log"];
  /** On the monotonic clock: from then on nothing is waited for. */
  #end = Infinity;

  constructor({ path, clock, waitMs, log }: BusyRetryOptions) {
    this.#path = path;
    this.#clock = clock;
    this.#waitMs = waitMs;
    this.#log = log;
  }

  /** Waits only a moment longer, whatever is under way: the store is being closed. */
  hurry(): void {
    this.#end = this.#clock.monotonic() + CLOSE_WAIT_MS;
  }

  /**
   * Runs until it is not locked out.
   *
   * @throws whatever `run` throws in the end
   */
  async try<Result>(run: () => Result): Promise<Result> {
    const began = this.#clock.monotonic();
    let isTold = false;
    for (let tries = 0;; tries++) {
      try {
        const result = run();
        if (isTold) this.#log?.("info", `Store "${this.#path}" is no longer locked`);
        return result;
      } catch (error) {
        const waited = this.#clock.monotonic() - began;
        if (!isBusy(error) || waited >= this.#waitMs || this.#clock.monotonic() >= this.#end) throw error;
        if (!isTold && waited >= TOLD_MS) {
          isTold = true;
          this.#log?.("warn", `Store "${this.#path}" is held locked by another program, waiting`);
        }
      }
      if (tries < 3) await this.#clock.turn();
      else await this.#clock.sleep(tries < QUICK_TRIES ? 1 + Math.random() : SLOW_MS * Math.random());
    }
  }
}
