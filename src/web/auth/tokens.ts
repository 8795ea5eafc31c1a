/**
 * Records when each token was last used, and bounds its rate. In memory only: each process counts its requests.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { HttpError } from "../http/body.ts";

/** After a pause, a token may send this many seconds' worth of its rate at once. */
const BURST_SECONDS = 10;

interface Use {
  lastUsedAt: number;
  /** Requests that the token may send now. */
  left: number;
  /** When `left` was counted, on the monotonic clock. */
  since: number;
}

export class TokenUses {
  readonly perSecond: number;
  readonly #clock: Clock;
  readonly #uses = new Map<string, Use>();

  /** @param perSecond requests that each token may send; 0: unlimited */
  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock;
    this.perSecond = perSecond;
  }

  /** Counts a request of a user's token. Returns how long the user must wait, in milliseconds; 0 if it may be served. */
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

  /** Counts further requests of a token, for which the next one waits. */
  spend(name: string, requests: number): void {
    const use = this.#uses.get(name);
    if (use !== undefined && this.perSecond > 0) use.left -= requests;
  }

  #waiting = 0;

  /**
   * Runs a wait for a result, unless too many wait already.
   *
   * @throws {HttpError} if `max` are waiting
   */
  async waiting(max: number, run: () => Promise<void>): Promise<void> {
    if (this.#waiting >= max) throw new HttpError(503, "Too many requests are waiting for results: try again later");
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
