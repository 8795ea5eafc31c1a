/**
 * The loop watch: notices, in the heartbeat's thread, that a handler blocks the event loop of the main thread. While jobs run
 * or wait to start, it pings the main thread several times a second. An event loop that doesn't reply for a second is blocked.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

/** The time between two pings. */
const PING_INTERVAL_MS = 250;
/** An event loop that does not turn for this long is blocked. */
export const BLOCKED_MS = 1_000;

export interface LoopWatchOptions {
  readonly clock: Clock;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  /** Pings the main thread, which replies through {@linkcode LoopWatch.replied}. */
  readonly ping: () => void;
  /** Whether there is nothing to watch. The main thread then calls {@linkcode LoopWatch.watch} when there is. */
  readonly rest: () => boolean;
  /** Called each time that a ping has had no reply for a second. */
  readonly onBlocked: () => void;
  /** Called when a blocked event loop turns again, with the milliseconds that it was blocked. */
  readonly onUnblocked: (ms: number) => void;
}

/** A ping without a reply. */
interface Ping {
  /** On the monotonic clock. */
  readonly at: number;
  readonly replied: AbortController;
}

export class LoopWatch {
  readonly #options: LoopWatchOptions;
  #pending: Ping | undefined;
  #isBlocked = false;
  #running: Promise<void> | undefined;

  constructor(options: LoopWatchOptions) {
    this.#options = options;
  }

  /** For how long a ping has had no reply, in milliseconds; undefined if none is pending. */
  get silentMs(): number | undefined {
    return this.#pending && this.#options.clock.monotonic() - this.#pending.at;
  }

  /** Watches until there is nothing to watch. Does nothing if it is watching. */
  watch(): Promise<void> {
    return this.#running ??= this.#watch().finally(() => this.#running = undefined);
  }

  /** Records that the main thread has replied. */
  replied(): void {
    const ping = this.#pending;
    if (ping === undefined) return;
    const wasBlocked = this.#isBlocked;
    this.#pending = undefined;
    this.#isBlocked = false;
    ping.replied.abort();
    if (wasBlocked) this.#options.onUnblocked(this.#options.clock.monotonic() - ping.at);
  }

  /** Resolves with whether the event loop replies within `ms`. */
  async replies(ms: number): Promise<boolean> {
    const { clock, signal } = this.#options;
    if (this.#isBlocked) return false;
    const { replied } = this.#ping();
    const over = AbortSignal.any([replied.signal, signal]);
    let since: number;
    do {
      since = clock.monotonic();
      await clock.sleep(ms, over);
      // If this thread was frozen too, the main thread has not had all that time.
    } while (!over.aborted && clock.monotonic() - since > 2 * ms);
    return over.aborted;
  }

  async #watch(): Promise<void> {
    const { clock, signal, rest, onBlocked } = this.#options;
    for (;;) {
      await clock.sleep(PING_INTERVAL_MS, signal);
      if (signal.aborted || !this.#isBlocked && rest()) return;
      if (!this.#isBlocked && await this.replies(BLOCKED_MS) || signal.aborted) continue;
      this.#isBlocked = this.#pending !== undefined;
      if (this.#isBlocked) onBlocked();
    }
  }

  /** Pings the main thread, unless a ping is pending. */
  #ping(): Ping {
    if (this.#pending !== undefined) return this.#pending;
    const ping = this.#pending = { at: this.#options.clock.monotonic(), replied: new AbortController() };
    this.#options.ping();
    return ping;
  }
}
