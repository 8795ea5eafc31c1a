/**
 * The arguments of a job as JSON text, which keeps the form of numbers: a parsed `2.0` is indistinguishable from `2`.
 *
 * @module
 */
import { parseLossless, stringifyLossless } from "./json.ts";
import { fieldTexts } from "./raw.ts";
import { checkArgs } from "./values.ts";

/** A number whose text differs from what `JSON.stringify` writes: `2.0`, `1e3`, `-0`. */
const ODD_NUMBER = /\d[eE]|\.\d*0(?!\d)|-0(?![.\d]*[1-9])/;

/** Strings, numbers and everything else of a valid JSON text. Blanks match nothing. */
const TOKENS = /"(?:[^"\\]|\\.)*"|[^\s"]+/g;

/** Arguments as text. */
export class JsonArgs {
  /** The text of a JSON array, in the form of `JSON.stringify` except for its numbers. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Returns whether a JSON text may contain a number that loses its form when parsed. */
export function hasOddNumber(text: string): boolean {
  return ODD_NUMBER.test(text);
}

/**
 * Returns the arguments of a JSON text, for the `args` of a push. They are values or, if a number would lose its form, a
 * {@linkcode JsonArgs}.
 *
 * @throws {SyntaxError} if the text isn't a JSON array
 * @throws {InvalidPayload} if a value can't be stored
 */
export function jsonArgs(text: string): readonly unknown[] {
  const args = parseLossless(text);
  if (!Array.isArray(args)) throw new SyntaxError("not an array");
  if (!hasOddNumber(text)) return args;
  checkArgs(args);
  const kept = (text.match(TOKENS) ?? []).map((token) => token[0] === '"' ? normalString(token) : token).join("");
  // The push treats it as an array; only argsText() reads it.
  return (kept === stringifyLossless(args) ? args : new JsonArgs(kept)) as readonly unknown[];
}

/**
 * Returns the value of a JSON text. If it is a job, the numbers in its `args` keep their form.
 *
 * @throws {SyntaxError} if it isn't JSON
 */
export function parseJobText(text: string): unknown {
  const value = parseLossless(text);
  if (typeof value !== "object" || value === null || !hasOddNumber(text)) return value;
  const args = fieldTexts(text)?.findLast(([name]) => name === "args")?.[1];
  return args?.startsWith("[") ? { ...value, args: jsonArgs(args) } : value;
}

/** Returns the one text of a string: the key of a unique lock is a digest of the text. */
function normalString(token: string): string {
  return token.includes("\\") ? JSON.stringify(JSON.parse(token)) : token;
}
