/**
 * JSON that loses nothing: an integer that a number cannot hold is a bigint, in and out.
 *
 * Numbers and bigints stay apart: a number beyond 2^53 is written with an exponent (`1e+20`), so that it comes back as
 * the number it was; only a bigint is written as a long integer.
 *
 * Parsing takes time in proportion to the text. V8's reviver with source texts doesn't: on 8 MiB of small numbers it
 * takes minutes. So long integers are parsed as marked strings, and replaced afterwards.
 *
 * @module
 */

/**
 * A run of digits so long that its integer may not fit into a number. Some jids have one too: then it is just slower.
 * Spelled out, because V8 then skips through the text: `\d{16}` takes as long as the parsing.
 */
const LONG_INTEGER = new RegExp("\\d".repeat(16));

/**
 * The longest integer that is read. The modulus of a 4096-bit RSA key has 1,234 digits. Reading and writing a bigint
 * takes time in proportion to the square of its length: a million digits take a second each way.
 */
export const MAX_INTEGER_DIGITS = 1_300;

/** Begins a string that stands for a long integer. Random, so that no text contains it by design. */
const MARK = `${crypto.randomUUID()}:`;

/**
 * `JSON.parse`, but an integer beyond 2^53 becomes a bigint.
 *
 * @throws {SyntaxError} when the text is not JSON, or has an integer of more than {@linkcode MAX_INTEGER_DIGITS} digits
 */
export function parseLossless(text: string): unknown {
  const marked = LONG_INTEGER.test(text) ? markIntegers(text) : undefined;
  if (marked === undefined) return JSON.parse(text);
  let value: unknown;
  try {
    value = JSON.parse(marked);
  } catch {
    // Throws again, about the text as it is.
    return JSON.parse(text);
  }
  return restoreIntegers(value);
}

/**
 * `JSON.stringify`, with bigints as integers.
 *
 * @param space as for `JSON.stringify`: how far to indent; default not at all
 * @returns undefined for what is not JSON at all: undefined, functions, symbols
 * @throws {TypeError} when it is cyclic
 * @throws {RangeError} when it is nested thousands of levels deep
 */
export function stringifyLossless(value: unknown, space?: number): string | undefined {
  return JSON.stringify(value, writeLarge, space);
}

/** The text with each long integer as a marked string; undefined when it has none. */
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
    // It stands in a string.
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

/** Whether a run of digits is a whole number: no fraction, no exponent, no leading zero, no key. */
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

/** Where the string that begins at `open` has ended. */
function endOfString(text: string, open: number): number {
  for (let close = text.indexOf('"', open + 1); close >= 0; close = text.indexOf('"', close + 1)) {
    let first = close;
    while (text[first - 1] === "\\") first--;
    if ((close - first) % 2 === 0) return close + 1;
  }
  return text.length;
}

/** The first place from `at` on that does not fit. A loop: a pattern's repetitions fill V8's stack. */
function skip(text: string, at: number, fits: (code: number) => boolean): number {
  while (fits(text.charCodeAt(at))) at++;
  return at;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** Replaces the marked strings in a value. Without recursion: no depth overflows it. */
function restoreIntegers(value: unknown): unknown {
  const root = { value };
  const holders: Record<string, unknown>[] = [root];
  for (let holder = holders.pop(); holder !== undefined; holder = holders.pop()) {
    for (const key of Object.keys(holder)) {
      const one = holder[key];
      if (typeof one === "object") {
        if (one !== null) holders.push(one as Record<string, unknown>);
      } else if (typeof one === "string" && one.startsWith(MARK)) holder[key] = BigInt(one.slice(MARK.length));
    }
  }
  return root.value;
}

/** Reads the value from its holder: a program may have given BigInt.prototype a `toJSON`. */
function writeLarge(this: Record<string, unknown>, key: string, given: unknown): unknown {
  const value = typeof given === "string" ? this[key] : given;
  if (typeof value === "bigint") return rawJson(String(value));
  if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    return rawJson(value.toExponential());
  }
  return given;
}

/** Standard since 2025, and not yet in the types. */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): unknown };
