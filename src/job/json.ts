/**
 * Lossless JSON: an integer that a number cannot represent is read and written as a bigint.
 *
 * Numbers and bigints stay distinct. A number beyond 2^53 is written with an exponent (`1e+20`), so that it is read as the
 * same number. Only a bigint is written as a long integer.
 *
 * Parsing takes time in proportion to the text. V8's reviver with source texts doesn't: it takes minutes for 8 MiB of small
 * numbers. Long integers are therefore parsed as marked strings, and replaced afterwards.
 *
 * @module
 */

/** The fewest digits of an integer that may not fit into a number. */
const MIN_LONG_DIGITS = 16;

/**
 * Matches a run of digits whose integer may not fit into a number. Some jids have one, too, which only costs time. The
 * pattern is spelled out, because V8 then skips through the text; `\d{16}` takes as long as the parsing.
 */
const LONG_INTEGER = new RegExp("\\d".repeat(MIN_LONG_DIGITS));

/**
 * The longest valid integer. The modulus of a 4096-bit RSA key has 1,234 digits. Reading and writing a bigint takes time
 * in proportion to the square of its length: a million digits take a second each.
 */
const MAX_INTEGER_DIGITS = 1_300;

/** Begins a string that replaces a long integer. Random, so that no text can contain it on purpose. */
const MARK = `${crypto.randomUUID()}:`;

/**
 * Parses JSON like `JSON.parse`, except that an integer beyond 2^53 becomes a bigint.
 *
 * @throws {SyntaxError} if the text isn't JSON, or has an integer of more than {@linkcode MAX_INTEGER_DIGITS} digits
 */
export function parseLossless(text: string): unknown {
  const marked = text.length >= MIN_LONG_DIGITS && LONG_INTEGER.test(text) ? markIntegers(text) : undefined;
  if (marked === undefined) return JSON.parse(text);
  let value: unknown;
  try {
    value = JSON.parse(marked);
  } catch {
    // Throws the error for the original text.
    return JSON.parse(text);
  }
  return restoreIntegers(value);
}

/**
 * Returns JSON text like `JSON.stringify`, with bigints as integers.
 *
 * @param space the indentation, as for `JSON.stringify`. Default: none
 * @returns undefined for a value that isn't JSON: undefined, functions, symbols
 * @throws {TypeError} if the value is cyclic
 * @throws {RangeError} if the value is nested thousands of levels deep
 */
export function stringifyLossless(value: unknown, space?: number): string | undefined {
  return JSON.stringify(value, writeLarge, space);
}

/** Returns the text with each long integer as a marked string; undefined if it has none. */
function markIntegers(text: string): string | undefined {
  const digits = /\d{16}/g;
  const parts: string[] = [];
  let copied = 0;
  let quote = nextQuote(text, 0);
  for (let match = digits.exec(text); match !== null; match = digits.exec(text)) {
    const { index } = match;
    let at = index;
    while (quote < index) {
      at = endOfString(text, quote);
      quote = nextQuote(text, at);
    }
    // The digits are inside a string.
    if (at > index) {
      digits.lastIndex = at;
      continue;
    }
    const end = skip(text, index + 16, isDigit);
    digits.lastIndex = end;
    const start = text[index - 1] === "-" ? index - 1 : index;
    if (!isInteger(text, start, index, end)) continue;
    if (end - index > MAX_INTEGER_DIGITS) {
      const found = `Integer of ${end - index} digits at position ${start}`;
      throw new SyntaxError(`${found}; expected at most ${MAX_INTEGER_DIGITS} digits`);
    }
    const source = text.slice(start, end);
    if (Number.isSafeInteger(Number(source))) continue;
    parts.push(text.slice(copied, start), '"', MARK, source, '"');
    copied = end;
  }
  return copied === 0 ? undefined : parts.join("") + text.slice(copied);
}

/** Returns whether a run of digits is a whole number: without fraction, exponent or leading zero, and not a key. */
function isInteger(text: string, start: number, index: number, end: number): boolean {
  const before = text[start - 1];
  if (before === "." || before === "e" || before === "E" || before === "+" || before === "-") return false;
  const after = text[end];
  if (text[index] === "0" || after === "." || after === "e" || after === "E") return false;
  return text[skip(text, end, isSpace)] !== ":";
}

function nextQuote(text: string, from: number): number {
  const at = text.indexOf('"', from);
  return at < 0 ? Infinity : at;
}

/** Returns the position after the string that begins at `open`. */
function endOfString(text: string, open: number): number {
  for (let close = text.indexOf('"', open + 1); close >= 0; close = text.indexOf('"', close + 1)) {
    let first = close;
    while (text[first - 1] === "\\") first--;
    if ((close - first) % 2 === 0) return close + 1;
  }
  return text.length;
}

/** Returns the first position from `at` that doesn't match. A loop, because the repetitions of a pattern fill V8's stack. */
function skip(text: string, at: number, matches: (code: number) => boolean): number {
  while (matches(text.charCodeAt(at))) at++;
  return at;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** Replaces the marked strings in a value. Without recursion, so that no depth overflows the stack. */
function restoreIntegers(value: unknown): unknown {
  const root = { value };
  const holders: Record<string, unknown>[] = [root];
  for (let holder = holders.pop(); holder !== undefined; holder = holders.pop()) {
    for (const key of Object.keys(holder)) {
      const member = holder[key];
      if (typeof member === "object") {
        if (member !== null) holders.push(member as Record<string, unknown>);
      } else if (typeof member === "string" && member.startsWith(MARK)) holder[key] = BigInt(member.slice(MARK.length));
    }
  }
  return root.value;
}

/** Writes large integers. Reads the value from its holder, because a program may have given BigInt.prototype a `toJSON`. */
function writeLarge(this: Record<string, unknown>, key: string, given: unknown): unknown {
  const value = typeof given === "string" ? this[key] : given;
  if (typeof value === "bigint") return rawJson(String(value));
  if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    return rawJson(value.toExponential());
  }
  return given;
}

/** Standard since 2025, but missing in the types. */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): unknown };
