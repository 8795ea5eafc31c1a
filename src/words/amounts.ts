/**
 * Numbers and lists, as people are told of them.
 *
 * @module
 */

/** `1,234,567`. */
export function number(value: number): string {
  return value.toLocaleString("en-US");
}

/** Names that are given one by one; the others are counted. */
export const MOST_NAMES = 5;

/**
 * The first few, and how many more.
 *
 * @param total how many there are, where `names` has only the first few
 */
export function fewOf(names: readonly string[], total: number = names.length): string {
  const more = total - MOST_NAMES;
  return names.slice(0, MOST_NAMES).join(" ") + (more > 0 ? ` and ${more} more` : "");
}
