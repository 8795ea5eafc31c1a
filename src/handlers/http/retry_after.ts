/**
 * The header `Retry-After`, by RFC 9110: seconds or a date.
 *
 * @module
 */

/** The longest delay that an endpoint may ask for. */
export const MAX_RETRY_AFTER_MS = 86_400_000;
/** The shortest one: an endpoint that always answers 0 would be called without a pause. */
export const MIN_RETRY_AFTER_MS = 1_000;

/** Returns the delay in milliseconds, within the bounds; undefined if there is none, or it is neither seconds nor a date. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? "";
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : /^[A-Z][a-z]+,? /.test(text) ? Date.parse(text) - now : NaN;
  return Number.isNaN(ms) ? undefined : Math.min(MAX_RETRY_AFTER_MS, Math.max(MIN_RETRY_AFTER_MS, ms));
}
