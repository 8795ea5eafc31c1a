/**
 * The shapes of single values.
 *
 * @module
 */
import { boundOf, parseDuration } from "../../job/duration.ts";
import { invalid, type JsonSchema, listed, type Optional, optional, type Shape } from "./shape.ts";

/**
 * Describes a value that `parse` understands.
 *
 * @param kind `parse` returns undefined, or throws a RangeError, for a value that isn't `expected`
 */
export function parsed<T>(
  about: string,
  kind: {
    readonly expected: string | ((value: unknown) => string);
    readonly schema: JsonSchema;
    readonly word: string;
    readonly parse: (value: unknown) => T | undefined;
    readonly fromText?: (text: string) => unknown;
  },
): Shape<T> {
  const { expected, schema, word, parse, fromText } = kind;
  const expectedOf = typeof expected === "string" ? () => expected : expected;
  const tried = (raw: unknown) => {
    try {
      return parse(raw);
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  };
  return {
    about,
    word,
    expected: expectedOf(undefined),
    schema,
    ...(fromText && { fromText }),
    read: (raw, field) => {
      const value = tried(raw);
      if (value === undefined) throw invalid(raw, expectedOf(raw), field);
      return value;
    },
  };
}

function valid<T>(isValid: (value: unknown) => boolean): (value: unknown) => T | undefined {
  return (value) => isValid(value) ? value as T : undefined;
}

/** @param bounds the texts that are valid, and the end of "expected …" for others; default: any string */
export function text(
  about: string,
  bounds: { readonly expected?: string; readonly matches?: RegExp } = {},
): Shape<string> {
  const { expected = "a string", matches } = bounds;
  return parsed(about, {
    word: "text",
    expected,
    schema: { type: "string", ...(matches && { pattern: matches.source }) },
    parse: valid((value) => typeof value === "string" && (matches === undefined || matches.test(value))),
  });
}

/** The field of each list that has pages. */
export const NEXT: Optional<string> = optional(text("the `cursor` of the next page; absent on the last"));

export function number(about: string): Shape<number> {
  return parsed(about, {
    word: "number",
    expected: "a number",
    schema: { type: "number" },
    parse: valid((value) => typeof value === "number"),
    fromText: numberOf,
  });
}

/** @param range the smallest and the largest; default: any */
export function integer(about: string, range?: readonly [min: number, max?: number]): Shape<number> {
  const [min = -Infinity, max = Infinity] = range ?? [];
  return parsed(about, {
    word: "number",
    expected: range === undefined
      ? "a whole number"
      : `a whole number ${max === Infinity ? `of at least ${min}` : `from ${min} to ${max}`}`,
    schema: { type: "integer", ...(range && { minimum: min }), ...(max < Infinity && { maximum: max }) },
    parse: valid((value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max),
    fromText: numberOf,
  });
}

/** A time as ISO 8601 in UTC. */
export function time(about: string): Shape<string> {
  return parsed(about, {
    word: "time",
    expected: "a time such as 2026-11-25T10:00:00.000Z",
    schema: { type: "string", format: "date-time" },
    parse: valid((value) => typeof value === "string" && /^[+-]?\d{4,6}-\d\d-\d\dT.*Z$/.test(value)),
  });
}

/** A duration above 0, as seconds or as a text, read as milliseconds: for inputs. */
export function span(about: string): Shape<number> {
  return parsed(about, {
    word: "text",
    expected: (value) => `seconds above 0, or a duration such as 30s, 10m or 2h${boundOf(value)}`,
    schema: { type: ["string", "number"] },
    parse: (value) => {
      const ms = typeof value === "string" || typeof value === "number" ? parseDuration(String(value)) : 0;
      return ms > 0 ? ms : undefined;
    },
  });
}

export function boolean(about: string): Shape<boolean> {
  return parsed(about, {
    word: "boolean",
    expected: "true or false",
    schema: { type: "boolean" },
    parse: valid((value) => typeof value === "boolean"),
    fromText: (text) => text === "true" ? true : text === "false" ? false : text,
  });
}

/**
 * One of several words.
 *
 * @param about continues the list of the words on the page; may be empty
 */
export function choice<const Words extends readonly string[]>(words: Words, about: string): Shape<Words[number]> {
  const shown = words.map((word) => `\`${word}\``);
  return parsed([listed(shown), about].filter(Boolean).join("; "), {
    word: "text",
    expected: listed(words),
    schema: { enum: words },
    parse: valid((value) => words.includes(value as string)),
  });
}

/** Any JSON value. */
export function any(about: string): Shape<unknown> {
  return parsed(about, {
    word: "any",
    expected: "a value",
    schema: {},
    parse: (value) => value,
  });
}

function numberOf(text: string): unknown {
  return /^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text;
}
