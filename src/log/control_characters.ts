/**
 * Characters that control a terminal, and characters that change the direction of text.
 *
 * @module
 */

/** Matches each such character, including line breaks. */
// deno-lint-ignore no-control-regex -- matches control characters
export const CONTROLS: RegExp = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Returns a character as a JSON escape such as `\u001b`. */
export function escapeControl(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
