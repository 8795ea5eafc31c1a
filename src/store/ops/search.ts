/**
 * What a search looks at.
 *
 * @module
 */

/** A stack as payloads keep it: packed, in base64, with the line breaks of Sidekiq 6. */
const PACKED_STACK = /"error_backtrace"\s*:\s*"(?:[A-Za-z0-9+/=]|\\n|\\\/)*"/g;

/**
 * Whether a payload, or what is kept of a job that has ended, has a text in it; case counts not. In a packed stack any few
 * letters stand by chance, and those of the stack itself do not: it is left out. To unpack it would take a hundred times as
 * long as to look at the rest.
 *
 * @param wanted the text in lower case
 */
export function hasText(raw: string, wanted: string): boolean {
  return raw.toLowerCase().includes(wanted) && hasTextOutsideStack(raw, wanted);
}

/** The same, where it is known already that the text is somewhere in it. */
export function hasTextOutsideStack(raw: string, wanted: string): boolean {
  if (!raw.includes('"error_backtrace"')) return true;
  return raw.replace(PACKED_STACK, "").toLowerCase().includes(wanted);
}
