/**
 * The thread's side of the jobs that have not started (`unstarted.ts`): while there are some, it asks the main side several
 * times a second for a sign of life. If none comes for a second, a handler blocks the event loop, and the thread claims all
 * of them and gives them back to the front of their queues, in their order.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { UnstartedMemory } from "./unstarted_memory.ts";

/** Between two questions. */
const CHECK_MS = 250;
/** An event loop that does not turn for this long is blocked. */
const BLOCKED_MS = 1_000;

/** Options of {@linkcode UnstartedWatch}. */
export interface UnstartedWatchOptions {
  readonly memory: UnstartedMemory;
  readonly clock: Clock;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  /** Asks the main side for a sign of life; the answer goes to {@linkcode UnstartedWatch.answered}. */
  readonly ask: () => void;
  /** Gives jobs back, oldest first. */
  readonly giveBack: (tokens: readonly string[]) => void;
}

/** Watches the main side. */
export class UnstartedWatch {
  readonly #options: UnstartedWatchOptions;
  #answer: AbortController | undefined;

  constructor(options: UnstartedWatchOptions) {
    this.#options = options;
  }

  /** Watches until no job waits. Called when the main side says so. */
  async watch(): Promise<void> {
    const { clock, signal, memory } = this.#options;
    for (;;) {
      await clock.sleep(CHECK_MS, signal);
      if (signal.aborted || !memory.hasWaiting && memory.sleep()) return;
      if (!await this.#isAlive() && !signal.aborted) this.#giveBack();
    }
  }

  /** The main side is alive. */
  answered(): void {
    this.#answer?.abort();
  }

  async #isAlive(): Promise<boolean> {
    const { clock, signal, ask } = this.#options;
    const answer = this.#answer = new AbortController();
    const end = () => answer.abort();
    signal.addEventListener("abort", end, { once: true });
    ask();
    let since: number;
    do {
      since = clock.monotonic();
      await clock.sleep(BLOCKED_MS, answer.signal);
      // When this thread has stood still as well, the main side has not had its second.
    } while (!answer.signal.aborted && clock.monotonic() - since > 2 * BLOCKED_MS);
    signal.removeEventListener("abort", end);
    return answer.signal.aborted;
  }

  #giveBack(): void {
    const claimed = this.#options.memory.claimAll();
    if (claimed.length > 0) this.#options.giveBack(claimed.map(({ token }) => token));
  }
}
