/**
 * What a terminal obeys instead of showing it, and what turns the direction of text around it. Pure.
 *
 * @module
 */

/** Each such character; line breaks among them. */
// deno-lint-ignore no-control-regex -- control characters are what it is about
export const CONTROLS: RegExp = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** `\u001b`: the character as JSON may write it. */
export function escapeControl(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
