/**
 * Numbers and lists for people.
 *
 * @module
 */

/** Returns `1,234,567`. */
export function number(value: number): string {
  // Loading the format of a language takes 4 ms at the start of a command.
  if (Number.isSafeInteger(value) && Math.abs(value) < 1e15) return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
  // Numbers written by other programs may have hundreds of digits.
  return Math.abs(value) < 1e15 ? value.toLocaleString("en-US") : value.toExponential(2);
}

/** Names listed one by one; more are counted. */
export const MAX_NAMES = 5;

/**
 * Returns the first names and the number of the others.
 *
 * @param total the number of names, if `names` has only the first ones
 */
export function fewOf(names: readonly string[], total: number = names.length): string {
  const more = total - MAX_NAMES;
  return names.slice(0, MAX_NAMES).join(" ") + (more > 0 ? ` and ${more} more` : "");
}
