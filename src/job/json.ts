/**
 * JSON that loses nothing: integers beyond 2^53 are bigints, in and out.
 *
 * @module
 */

/** A run of digits long enough that its number may not fit. */
const LONG_NUMBER = /\d{16}/;

/**
 * `JSON.parse`, but an integer that a number cannot hold becomes a bigint.
 *
 * @throws {SyntaxError} when it is not JSON
 */
export function parseLossless(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  return JSON.parse(text, keepInteger as (key: string, value: unknown) => unknown);
}

/** `JSON.stringify`, with bigints as integers. */
export function stringifyLossless(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, inner) => typeof inner === "bigint" ? rawJson(String(inner)) : inner);
}

function keepInteger(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context.source ?? "")
    ? BigInt(context.source!)
    : value;
}

/** Standard since 2025, and not yet in the types. */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): unknown };
