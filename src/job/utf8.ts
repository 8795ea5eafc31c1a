/**
 * Text from outside. A lenient decoder replaces invalid bytes without a trace, and the altered text would be stored.
 *
 * @module
 */

/** Bytes aren't UTF-8. The message completes "… is invalid: ". */
export class Utf8Error extends Error {
  override readonly name = "Utf8Error";
}

// A mark within a text is kept: only that at its beginning belongs to the encoding.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const NEWLINE = 10;

/** Returns a line as text; undefined if it isn't UTF-8. */
export function decodeLine(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Returns a file as text, without a byte order mark.
 *
 * @throws {Utf8Error} with the number of the first invalid line
 */
export function decodeText(bytes: Uint8Array): string {
  const text = decodeLine(bytes);
  if (text !== undefined) return text.startsWith("\ufeff") ? text.slice(1) : text;
  if (isUtf16(bytes)) throw new Utf8Error("it is UTF-16, expected UTF-8");
  let line = 1;
  for (let start = 0;; line++) {
    const end = bytes.indexOf(NEWLINE, start);
    if (end < 0 || decodeLine(bytes.subarray(start, end)) === undefined) break;
    start = end + 1;
  }
  throw new Utf8Error(`line ${line} isn't UTF-8`);
}

/** Returns whether bytes begin with the byte order mark of UTF-16. */
export function isUtf16(bytes: Uint8Array): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
}
