/**
 * The bound on the size of one batch. A thousand jobs can be 300 kB or a gigabyte, so every batch is bounded by bytes as
 * well as by number: a large one blocks the store, fills the memory of both sides, and may exceed what a reply can hold.
 *
 * @module
 */

/**
 * Maximum number of payload bytes that one step of a store reads or moves: 4 MiB. A step always handles at least one job, however
 * large that job is.
 */
export const MAX_BATCH_BYTES = 4 * 1024 * 1024;

/** Counts the payloads of one batch. Characters count as bytes: the size needn't be exact. */
export class ByteBudget {
  #left = MAX_BATCH_BYTES;
  #isUsed = false;
  #isSpent = false;

  /** Whether a payload didn't fit: the batch is full. */
  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** Counts a payload and returns true if it fits. The first one always does; after one that doesn't, none does. */
  spend(payload: { readonly length: number }): boolean {
    if (this.#isSpent || this.#isUsed && payload.length > this.#left) {
      this.#isSpent = true;
      return false;
    }
    this.#left -= payload.length;
    this.#isUsed = true;
    return true;
  }
}
