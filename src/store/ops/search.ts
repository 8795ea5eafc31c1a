/**
 * Text search in payloads and records.
 *
 * @module
 */

/** A stack as payloads keep it: packed, in base64, with the line breaks of Sidekiq 6. */
const PACKED_STACK = /"error_backtrace"\s*:\s*"(?:[A-Za-z0-9+/=]|\\n|\\\/)*"/g;

/**
 * Returns whether a payload, or the record of an ended job, contains a text, ignoring case. The packed stack is left out: short
 * texts appear in it by chance, and those of the stack itself don't. Unpacking it would take a hundred times as long as
 * searching the rest.
 *
 * @param text the text in lower case
 */
export function hasText(raw: string, text: string): boolean {
  return raw.toLowerCase().includes(text) && hasTextOutsideStack(raw, text);
}

/** The same for a payload that is known to contain the text somewhere. */
export function hasTextOutsideStack(raw: string, text: string): boolean {
  if (!raw.includes('"error_backtrace"')) return true;
  return raw.replace(PACKED_STACK, "").toLowerCase().includes(text);
}
