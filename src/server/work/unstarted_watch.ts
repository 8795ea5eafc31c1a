/**
 * The thread's side of the jobs that have not started (`unstarted.ts`). While such jobs wait, the thread pings the main thread
 * several times a second. If no reply comes for a second, a handler blocks the event loop. The thread then claims all these
 * jobs and returns them to the front of their queues, in order.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { UnstartedMemory } from "./unstarted_memory.ts";

/** The time between two pings. */
const CHECK_MS = 250;
/** An event loop that does not turn for this long is blocked. */
const BLOCKED_MS = 1_000;

/** Options of {@linkcode UnstartedWatch}. */
export interface UnstartedWatchOptions {
  readonly memory: UnstartedMemory;
  readonly clock: Clock;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  /** Pings the main thread, which replies through {@linkcode UnstartedWatch.replied}. */
  readonly ping: () => void;
  /** Releases jobs, oldest first. */
  readonly release: (tokens: readonly string[]) => void;
}

export class UnstartedWatch {
  readonly #options: UnstartedWatchOptions;
  #reply: AbortController | undefined;

  constructor(options: UnstartedWatchOptions) {
    this.#options = options;
  }

  /** Watches until no job waits. Called when the main thread requests it. */
  async watch(): Promise<void> {
    const { clock, signal, memory } = this.#options;
    for (;;) {
      await clock.sleep(CHECK_MS, signal);
      if (signal.aborted || !memory.hasWaiting && memory.sleep()) return;
      if (!await this.#isAlive() && !signal.aborted) this.#releaseAll();
    }
  }

  /** Records that the main thread has replied. */
  replied(): void {
    this.#reply?.abort();
  }

  async #isAlive(): Promise<boolean> {
    const { clock, signal, ping } = this.#options;
    const reply = this.#reply = new AbortController();
    const end = () => reply.abort();
    signal.addEventListener("abort", end, { once: true });
    ping();
    let since: number;
    do {
      since = clock.monotonic();
      await clock.sleep(BLOCKED_MS, reply.signal);
      // If this thread was frozen too, the main thread has not had a full second.
    } while (!reply.signal.aborted && clock.monotonic() - since > 2 * BLOCKED_MS);
    signal.removeEventListener("abort", end);
    return reply.signal.aborted;
  }

  #releaseAll(): void {
    const claimed = this.#options.memory.claimAll();
    if (claimed.length > 0) this.#options.release(claimed.map(({ token }) => token));
  }
}
