/**
 * The pauses between attempts to reach a server.
 *
 * @module
 */
import type { Clock } from "../../../clock.ts";

const FIRST_MS = 25;
/** Default maximum pause, before jitter of up to a half. */
export const MAX_BACKOFF_MS = 2_000;

/** Returns the milliseconds until the next attempt. They double each time; jitter spreads the reconnections of many processes. */
export function backoff(failures: number, maxMs = MAX_BACKOFF_MS): number {
  return Math.min(FIRST_MS * 2 ** failures, maxMs) * (0.5 + Math.random());
}

/** The growing pauses of one client. */
export class Pauses {
  readonly #clock: Clock;
  readonly #maxMs: number;
  #failures = 0;
  #waking = new AbortController();

  constructor(clock: Clock, maxMs: number | undefined) {
    this.#clock = clock;
    this.#maxMs = maxMs ?? MAX_BACKOFF_MS;
  }

  /** Notes a failure: the next pause is longer. */
  fail(): void {
    this.#failures++;
  }

  /** Notes that the server was usable: the next attempt follows at once. */
  reset(): void {
    this.#failures = 0;
  }

  /** Resolves when the next attempt is due, or `signal` aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    if (this.#failures === 0) return;
    this.#waking = new AbortController();
    await this.#clock.sleep(
      backoff(this.#failures - 1, this.#maxMs),
      AbortSignal.any([this.#waking.signal, signal]),
    );
  }

  /** Ends the current pause. */
  wake(): void {
    this.#waking.abort();
  }
}
