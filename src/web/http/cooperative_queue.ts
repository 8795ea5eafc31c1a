/**
 * Shares the event loop between long work and everything else. Rendering a large page, or scanning a thousand jobs, holds
 * the loop for tens of milliseconds. Such work runs one slice at a time. While more slices wait, each is followed by a
 * pause as long as the slice took: for probes, new connections, and the jobs that this process performs.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

/** Characters of text that one slice processes. A single text may be longer. */
const SLICE_CHARS = 128 * 1024;
/** A slice ends with the item after which it has taken this long: characters are only an estimate of the time. */
const SLICE_MS = 20;
/** The cost of each item of a list besides its text, in characters. */
const ITEM_CHARS = 500;

export class CooperativeQueue {
  readonly #clock: Pick<Clock, "monotonic" | "sleep" | "turn">;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  /** @param clock times the pauses */
  constructor(clock: Pick<Clock, "monotonic" | "sleep" | "turn">) {
    this.#clock = clock;
  }

  /**
   * Maps the items of a list, in slices of bounded text length and time.
   *
   * @param weigh returns how many characters an item has
   */
  async map<Item, Result>(
    items: readonly Item[],
    { weigh, map }: { weigh(item: Item): number; map(item: Item): Result },
  ): Promise<Result[]> {
    const results: Result[] = [];
    const mapSome = () => {
      const until = this.#clock.monotonic() + SLICE_MS;
      for (let chars = 0; chars < SLICE_CHARS && results.length < items.length && this.#clock.monotonic() < until;) {
        const item = items[results.length]!;
        results.push(map(item));
        chars += ITEM_CHARS + weigh(item);
      }
    };
    while (results.length < items.length) await this.run(mapSome);
    return results;
  }

  /**
   * Runs `work` in a separate turn of the event loop, after the slices before it, and returns its result. `work` shouldn't
   * wait for anything: the slices behind it would wait, too.
   */
  async run<Result>(work: () => Result): Promise<Awaited<Result>> {
    const before = this.#last;
    const over = Promise.withResolvers<void>();
    this.#last = over.promise;
    this.#waiting++;
    await before;
    // One reply of the store can resume several callers in the same turn.
    await this.#clock.turn();
    this.#waiting--;
    const began = this.#clock.monotonic();
    try {
      return await work();
    } finally {
      // Only the next slice waits for the pause; this one's result is returned at once.
      if (this.#waiting === 0) over.resolve();
      else void this.#clock.sleep(this.#clock.monotonic() - began).then(over.resolve);
    }
  }
}
