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

/** Returns a rate per second: `40/s`, `1.2/s`, or per minute if it is lower: `3/min`. */
export function rateText(perSecond: number): string {
  if (perSecond >= 10) return `${number(Math.round(perSecond))}/s`;
  if (perSecond >= 1) return `${Number(perSecond.toFixed(1))}/s`;
  return perSecond === 0 ? "0/s" : `${Number((perSecond * 60).toFixed(1))}/min`;
}
