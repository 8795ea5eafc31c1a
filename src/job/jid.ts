/**
 * Job IDs: 24 hex digits, as Sidekiq's, but beginning with the time. The index of a store on them therefore grows at its
 * end, which keeps a push into a queue of a million jobs as cheap as into an empty one. Sorting IDs sorts jobs by age.
 *
 * An ID has 11 digits of milliseconds, 8 random digits that each maker draws once, and 5 digits of a counter. Two makers
 * make the same ID only if they draw the same random digits, and have the same counter in the same millisecond.
 *
 * @module
 */

/** The range of the counter. No maker makes this many IDs in a millisecond. */
const COUNTER_MASK = 0xfffff;

export class JidMaker {
  readonly #random: string;
  #counter = 0;
  #ms = -1;
  #prefix = "";

  constructor() {
    this.#random = crypto.getRandomValues(new Uint32Array(1))[0]!.toString(16).padStart(8, "0");
  }

  /**
   * Returns a new ID.
   *
   * @param now epoch milliseconds
   */
  next(now: number): string {
    if (now !== this.#ms) {
      this.#ms = now;
      this.#prefix = Math.floor(now).toString(16).padStart(11, "0") + this.#random;
    }
    this.#counter = (this.#counter + 1) & COUNTER_MASK;
    return this.#prefix + (this.#counter | (COUNTER_MASK + 1)).toString(16).slice(1);
  }
}

/** Matches the IDs that callers may choose. */
export const JID = /^[A-Za-z0-9_:.-]{1,128}$/;
