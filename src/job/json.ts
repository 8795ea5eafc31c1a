/**
 * JSON that loses nothing: an integer that a number cannot hold is a bigint, in and out.
 *
 * Numbers and bigints stay apart: a number beyond 2^53 is written with an exponent (`1e+20`), so that it comes back as
 * the number it was; only a bigint is written as a long integer.
 *
 * @module
 */

/**
 * A run of digits so long that its integer may not fit into a number. Some jids have one too: then it is just slower.
 * Spelled out, because V8 then skips through the text: `\d{16}` takes as long as the parsing.
 */
const LONG_INTEGER = new RegExp("\\d".repeat(16));

/**
 * `JSON.parse`, but an integer beyond 2^53 becomes a bigint.
 *
 * @throws {SyntaxError} when it is not JSON, or has such integers and is nested thousands of levels deep
 */
export function parseLossless(text: string): unknown {
  if (!LONG_INTEGER.test(text)) return JSON.parse(text);
  try {
    return JSON.parse(text, keepInteger as (key: string, value: unknown) => unknown);
  } catch (error) {
    // V8 parses to any depth, but calls the reviver recursively.
    if (error instanceof RangeError) throw new SyntaxError("Nested too deeply to be read", { cause: error });
    throw error;
  }
}

/**
 * `JSON.stringify`, with bigints as integers.
 *
 * @returns undefined for what is not JSON at all: undefined, functions, symbols
 * @throws {TypeError} when it is cyclic
 * @throws {RangeError} when it is nested thousands of levels deep
 */
export function stringifyLossless(value: unknown): string | undefined {
  return JSON.stringify(value, writeLarge);
}

function keepInteger(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context.source ?? "")
    ? BigInt(context.source!)
    : value;
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
