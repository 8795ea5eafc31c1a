/**
 * Job ids: 24 hex digits, as Sidekiq's, but beginning with the time. A store's index on them grows at its end, which is
 * what keeps pushing into a queue of a million jobs as cheap as into an empty one; and sorting them sorts by age.
 *
 * 11 digits of milliseconds, 8 of chance drawn once per maker, 5 of a counter. Two makers would have to draw the same
 * chance, and be at the same count in the same millisecond.
 *
 * @module
 */

/** The counter's range: no maker makes so many in a millisecond. */
const COUNTER_MASK = 0xfffff;

/** Makes ids that nobody else makes. */
export class JidMaker {
  readonly #chance: string;
  #counter = 0;
  #ms = -1;
  #prefix = "";

  constructor() {
    this.#chance = crypto.getRandomValues(new Uint32Array(1))[0]!.toString(16).padStart(8, "0");
  }

  /** @param now epoch milliseconds */
  next(now: number): string {
    if (now !== this.#ms) {
      this.#ms = now;
      this.#prefix = Math.floor(now).toString(16).padStart(11, "0") + this.#chance;
    }
    this.#counter = (this.#counter + 1) & COUNTER_MASK;
    return this.#prefix + (this.#counter | (COUNTER_MASK + 1)).toString(16).slice(1);
  }
}

/** What is accepted as an id from a caller: no longer, and nothing that could be mistaken. */
export const JID = /^[A-Za-z0-9_:.-]{1,128}$/;
