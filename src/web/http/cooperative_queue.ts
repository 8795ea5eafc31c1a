/**
 * Work that holds the event loop (making the text of a large page, looking through a thousand jobs) takes tens of
 * milliseconds. It is done one slice after the other, and while more wait the loop has as much time in between for
 * everybody else: probes, new connections, and the jobs that this process performs.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

/** How much text one slice looks at. One text may be longer. */
const SLICE_CHARS = 128 * 1024;
/** What each item of a list costs besides its text, in characters. */
const ITEM_CHARS = 500;

/** Does one slice at a time. */
export class CooperativeQueue {
  readonly #clock: Pick<Clock, "monotonic" | "sleep" | "turn">;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  /** Rests by this clock. */
  constructor(clock: Pick<Clock, "monotonic" | "sleep" | "turn">) {
    this.#clock = clock;
  }

  /**
   * Maps the items of a list, in as many slices as their texts take.
   *
   * @param weigh returns how many characters an item has
   */
  async map<Item, Result>(
    items: readonly Item[],
    { weigh, map }: { weigh(item: Item): number; map(item: Item): Result },
  ): Promise<Result[]> {
    const results: Result[] = [];
    const mapSome = () => {
      for (let chars = 0; chars < SLICE_CHARS && results.length < items.length;) {
        const item = items[results.length]!;
        results.push(map(item));
        chars += ITEM_CHARS + weigh(item);
      }
    };
    while (results.length < items.length) await this.run(mapSome);
    return results;
  }

  /** Does it in a turn of its own, when those before are done, and returns what came of it. Nothing that waits belongs in it. */
  async run<Result>(work: () => Result): Promise<Awaited<Result>> {
    const before = this.#last;
    const over = Promise.withResolvers<void>();
    this.#last = over.promise;
    this.#waiting++;
    await before;
    // What the store told several at once makes them come at once.
    await this.#clock.turn();
    this.#waiting--;
    const began = this.#clock.monotonic();
    try {
      return await work();
    } finally {
      // Nobody waits for the rest but who is next.
      if (this.#waiting === 0) over.resolve();
      else void this.#clock.sleep(this.#clock.monotonic() - began).then(over.resolve);
    }
  }
}
