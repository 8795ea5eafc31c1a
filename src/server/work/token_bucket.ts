/**
 * A token bucket: limits a rate, and allows bursts.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

/** Options of {@linkcode TokenBucket}. */
export interface TokenBucketOptions {
  readonly clock: Clock;
  /** Tokens added per second. */
  readonly perSecond: number;
  /** Tokens in a full bucket. It is full at first. */
  readonly capacity: number;
}

export class TokenBucket {
  readonly #options: TokenBucketOptions;
  #tokens: number;
  #filledAt: number;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#tokens = options.capacity;
    this.#filledAt = options.clock.monotonic();
  }

  /** Takes a token. Returns false if the bucket is empty. */
  take(): boolean {
    const { clock, perSecond, capacity } = this.#options;
    const now = clock.monotonic();
    this.#tokens = Math.min(capacity, this.#tokens + (now - this.#filledAt) / 1_000 * perSecond);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}
