/**
 * The types of `deno-std/text/closest_string.js`, which ships none: those we use.
 *
 * @module
 */

/** How to compare. */
export interface ClosestStringOptions {
  /** Default false. */
  caseSensitive?: boolean;
  /** The distance of two words; default Levenshtein's. */
  compareFn?: (a: string, b: string) => number;
}

/**
 * The nearest of `possibleWords`, however far away.
 *
 * @throws {TypeError} when there are none
 */
export declare function closestString(
  givenWord: string,
  possibleWords: readonly string[],
  options?: ClosestStringOptions,
): string;
