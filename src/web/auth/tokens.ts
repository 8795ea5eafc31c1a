/**
 * The use of tokens: when each was last used, and how often it may be. Kept in memory: it counts what this process serves.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { HttpError } from "../http/body.ts";

/** A token may send this many requests at once after a quiet time, in seconds of its rate. */
const BURST_SECONDS = 10;

interface Use {
  lastUsedAt: number;
  /** Requests that it may send now. */
  left: number;
  /** When `left` was counted, on the monotonic clock. */
  since: number;
}

/** Counts the requests of tokens. */
export class TokenUses {
  readonly perSecond: number;
  readonly #clock: Clock;
  readonly #uses = new Map<string, Use>();

  /** @param perSecond how many requests each token may send; 0 for any number */
  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock;
    this.perSecond = perSecond;
  }

  /** Counts a request of a user's token. Returns how many milliseconds it is too early; 0 if it may be served. */
  use(name: string): number {
    const now = this.#clock.monotonic();
    const most = this.perSecond * BURST_SECONDS;
    const use = this.#uses.get(name) ?? { lastUsedAt: 0, left: most, since: now };
    this.#uses.set(name, use);
    use.lastUsedAt = this.#clock.now();
    if (this.perSecond === 0) return 0;
    use.left = Math.min(most, use.left + (now - use.since) * this.perSecond / 1_000);
    use.since = now;
    if (use.left < 1) return Math.ceil((1 - use.left) * 1_000 / this.perSecond);
    use.left--;
    return 0;
  }

  #waiting = 0;

  /**
   * Runs something that waits, unless too many wait already.
   *
   * @throws {HttpError} if `most` are waiting
   */
  async waiting(most: number, run: () => Promise<void>): Promise<void> {
    if (this.#waiting >= most) throw new HttpError(503, "Too many requests are waiting for results: try again later");
    this.#waiting++;
    try {
      await run();
    } finally {
      this.#waiting--;
    }
  }

  /** Returns when a user's token was last used, in epoch milliseconds; undefined if not since this process started. */
  lastUsed(name: string): number | undefined {
    return this.#uses.get(name)?.lastUsedAt;
  }
}
