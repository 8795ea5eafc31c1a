/**
 * Splits the text of a JSON array into the texts of its elements, one at a time, so that a large array can be parsed with
 * pauses in between. Looks only at strings, brackets and commas: each element still has to be parsed.
 *
 * @module
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Returns whether a JSON text is an array. Reads only its first character. */
export function isArrayText(text: string): boolean {
  return text.charCodeAt(skipSpace(text, 0)) === OPEN_ARRAY;
}

/**
 * Yields the texts of an array's elements.
 *
 * @param maxLength the maximum number of characters of an element
 * @throws {RangeError} if an element is longer
 * @throws {SyntaxError} if the text isn't one array; errors inside an element appear when it is parsed
 */
export function* elementsOf(text: string, maxLength: number): Generator<string> {
  let at = skipSpace(text, 0);
  if (text.charCodeAt(at) !== OPEN_ARRAY) fail(text, at);
  at = skipSpace(text, at + 1);
  if (text.charCodeAt(at) === CLOSE_ARRAY) return end(text, at + 1);
  for (;;) {
    const close = endOfElement(text, at, maxLength);
    const isLast = text.charCodeAt(close) === CLOSE_ARRAY;
    if (close === at || !isLast && text.charCodeAt(close) !== COMMA) fail(text, close);
    yield text.slice(at, close);
    if (isLast) return end(text, close + 1);
    at = skipSpace(text, close + 1);
  }
}

/** Returns the position of the comma or bracket that ends the element. */
function endOfElement(text: string, start: number, maxLength: number): number {
  let depth = 0;
  for (let at = start;; at++) {
    if (at - start > maxLength) throw new RangeError(`Longer than ${maxLength} characters`);
    switch (text.charCodeAt(at)) {
      case QUOTE:
        do at += text.charCodeAt(at) === BACKSLASH ? 2 : 1; while (at < text.length && text.charCodeAt(at) !== QUOTE);
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth++;
        break;
      case COMMA:
        if (depth === 0) return at;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (depth === 0) return at;
        depth--;
        break;
      default:
        if (at >= text.length) fail(text, at);
    }
  }
}

function end(text: string, from: number): void {
  const at = skipSpace(text, from);
  if (at < text.length) fail(text, at);
}

function skipSpace(text: string, at: number): number {
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at++;
  }
}

function fail(text: string, at: number): never {
  throw new SyntaxError(
    at < text.length ? `Unexpected "${text.charAt(at)}" at position ${at}` : "Unexpected end of the array",
  );
}
