/**
 * Checks that values survive JSON: a handler must receive the values that were pushed, in any language that shares the
 * queue. A value that JSON would change, drop or reject is invalid. One exception: `-0` becomes `0`.
 *
 * @module
 */
import { InvalidPayload } from "./errors.ts";
import { MAX_ARGS, MAX_LEVELS } from "./performable.ts";

/** A larger text is rejected before it is built: an object that is reachable in many ways would fill the memory. */
const MAX_CHARACTERS = 2 ** 28;

/** The integers that languages with 64-bit integers can represent. */
const MIN_INTEGER = -(2n ** 63n);
const MAX_INTEGER = 2n ** 64n - 1n;

/** A problem, and its path in the value. The path is built on the way out, so that a valid value costs nothing. */
interface Problem {
  readonly value: unknown;
  readonly expected: string;
  path: string;
  /** Nested too deeply: the length of the end of the path that repeats a cycle. */
  turns?: number;
}

/** The state of a check of one value. */
interface Walk {
  characters: number;
  /** Whether the value has integers that `JSON.stringify` alone would write incorrectly. */
  large: boolean;
}

/**
 * Checks that JSON would neither change nor drop a value.
 *
 * @param path the path of the value, for the message
 * @param levels the number of arrays and objects around it
 * @returns whether it contains integers beyond 2^53, which need `stringifyLossless`
 * @throws {InvalidPayload} if it doesn't survive JSON
 */
export function checkValue(value: unknown, path: string, levels = 1): boolean {
  const walk: Walk = { characters: 0, large: false };
  const problem = check(value, levels, walk);
  if (problem !== undefined) throw new InvalidPayload(path + problem.path, problem.value, problem.expected);
  return walk.large;
}

/**
 * Checks the arguments of a job, as {@linkcode checkValue} does, and their number.
 *
 * @returns whether they contain integers beyond 2^53
 * @throws {InvalidPayload}
 */
export function checkArgs(args: readonly unknown[]): boolean {
  if (args.length <= MAX_ARGS) return checkValue(args, "args");
  throw new InvalidPayload("args.length", args.length, `at most ${MAX_ARGS} arguments; pass one list`);
}

function check(value: unknown, levels: number, walk: Walk): Problem | undefined {
  walk.characters++;
  switch (typeof value) {
    case "string":
      walk.characters += value.length;
      return value.isWellFormed() ? undefined : bad(value, "text without half characters; toWellFormed() repairs it");
    case "boolean":
      return undefined;
    case "number":
      if (Number.isSafeInteger(value)) return undefined;
      if (!Number.isFinite(value)) return bad(value, "a finite number");
      if (Number.isInteger(value)) walk.large = true;
      return undefined;
    case "bigint":
      walk.large = true;
      if (MIN_INTEGER <= value && value <= MAX_INTEGER) return undefined;
      return bad(value, "an integer from -2^63 to 2^64-1, or a text");
    case "undefined":
      return bad(value, "a JSON value; use null for no value");
    case "object":
      if (value === null) return undefined;
      if (levels >= MAX_LEVELS) {
        return { value, expected: `at most ${MAX_LEVELS} levels of arrays and objects`, path: "", turns: 0 };
      }
      if (walk.characters > MAX_CHARACTERS) return bad(value, "less data; the payload would have many megabytes");
      return Array.isArray(value) ? checkArray(value, levels + 1, walk) : checkObject(value, levels + 1, walk);
    default:
      return bad(value, "a JSON value: text, number, true, false, null, array or plain object");
  }
}

function checkArray(array: readonly unknown[], levels: number, walk: Walk): Problem | undefined {
  if (typeof (array as { toJSON?: unknown }).toJSON === "function") {
    return bad((array as { toJSON?: unknown }).toJSON, "an array without it", ".toJSON");
  }
  for (let i = 0; i < array.length; i++) {
    const value = array[i];
    if (value === undefined && !(i in array)) return bad(value, "an array without holes", `[${i}]`);
    const problem = check(value, levels, walk);
    if (problem !== undefined) return inside(array, `[${i}]`, problem);
  }
}

function checkObject(object: object, levels: number, walk: Walk): Problem | undefined {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) return bad(object, insteadOf(object));
  for (const key of Object.keys(object)) {
    if (!key.isWellFormed()) return bad(key, "a key without half characters", step(key));
    walk.characters += key.length;
    const problem = check((object as Record<string, unknown>)[key], levels, walk);
    if (problem !== undefined) return inside(object, step(key), problem);
  }
  const [symbol] = Object.getOwnPropertySymbols(object);
  if (symbol !== undefined) return bad(symbol, "keys that are texts", `[${String(symbol)}]`);
}

function bad(value: unknown, expected: string, path = ""): Problem {
  return { value, expected, path };
}

/** Adds a step to the path of a problem. Recognizes an object that is nested too deeply because it contains itself. */
function inside(container: object, step: string, problem: Problem): Problem {
  problem.path = step + problem.path;
  if (problem.turns === undefined || problem.value !== container) return problem;
  const path = problem.path.slice(0, problem.path.length - problem.turns);
  return { value: problem.value, expected: "a value that does not contain itself", path, turns: path.length };
}

function step(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function insteadOf(object: object): string {
  if (object instanceof Date) return "a JSON value, such as date.toISOString()";
  if (object instanceof Map) return "a JSON value, such as Object.fromEntries(map)";
  if (object instanceof Set) return "a JSON value, such as [...set]";
  if (object instanceof ArrayBuffer || ArrayBuffer.isView(object)) return "a JSON value, such as its bytes in base64";
  return "a JSON value: a plain object with its data, or with a key to find it by";
}
