/**
 * Numbers and lists, as people are told of them.
 *
 * @module
 */

/** `1,234,567`. */
export function number(value: number): string {
  // What somebody else wrote may have three hundred digits.
  return Math.abs(value) < 1e15 ? value.toLocaleString("en-US") : value.toExponential(2);
}

/** Names that are given one by one; the others are counted. */
export const MAX_NAMES = 5;

/**
 * The first few, and how many more.
 *
 * @param total how many there are, where `names` has only the first few
 */
export function fewOf(names: readonly string[], total: number = names.length): string {
  const more = total - MAX_NAMES;
  return names.slice(0, MAX_NAMES).join(" ") + (more > 0 ? ` and ${more} more` : "");
}
