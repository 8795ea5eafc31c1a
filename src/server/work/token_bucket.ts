/**
 * A token bucket: so many a second, and as many at once as were saved up.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

/** How much there is to give. */
export interface TokenBucketOptions {
  readonly clock: Clock;
  readonly perSecond: number;
  /** So many are saved up while none is asked for; there at the start. */
  readonly most: number;
}

/** Gives tokens while there are some. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  #tokens: number;
  #filledAt: number;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#tokens = options.most;
    this.#filledAt = options.clock.monotonic();
  }

  /** Takes one; false when there is none. */
  take(): boolean {
    const { clock, perSecond, most } = this.#options;
    const now = clock.monotonic();
    this.#tokens = Math.min(most, this.#tokens + (now - this.#filledAt) / 1_000 * perSecond);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}
