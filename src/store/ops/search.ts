/**
 * Text search in payloads and records.
 *
 * @module
 */

/** A stack or an output as payloads keep it: packed, in base64, with the line breaks of Sidekiq 6. */
const PACKED = /"error_(?:backtrace|output)"\s*:\s*"(?:[A-Za-z0-9+/=]|\\n|\\\/)*"/g;

/**
 * Returns whether a payload, or the record of an ended job, contains a text, ignoring case. The packed stack and output are left
 * out: short texts appear in them by chance, and long ones don't. Unpacking it would take a hundred times as long as
 * searching the rest.
 *
 * @param text the text in lower case
 */
export function hasText(raw: string, text: string): boolean {
  return raw.toLowerCase().includes(text) && hasTextOutsidePacked(raw, text);
}

/** The same for a payload that is known to contain the text somewhere. */
export function hasTextOutsidePacked(raw: string, text: string): boolean {
  if (!raw.includes('"error_backtrace"') && !raw.includes('"error_output"')) return true;
  return raw.replace(PACKED, "").toLowerCase().includes(text);
}
