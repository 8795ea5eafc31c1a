/**
 * Whether a value survives JSON: what is pushed must be what the handler gets, in any language that shares the queue.
 * What JSON would change, drop or not take is refused. One exception: `-0` becomes `0`.
 *
 * @module
 */
import { InvalidPayload } from "./errors.ts";

/** Levels of arrays and objects in a payload, itself and `args` included. Ruby's JSON reads no more. */
const MAX_LEVELS = 100;
/** A value that is reachable on so many ways was made to fill memory; no text could be as long. */
const MAX_CHARACTERS = 2 ** 28;

/** Integers that languages with 64-bit integers can hold. */
const MIN_INTEGER = -(2n ** 63n);
const MAX_INTEGER = 2n ** 64n - 1n;

/** What is wrong, and where in the value. The path grows on the way out: nothing is spent on it where all is well. */
interface Unfit {
  readonly value: unknown;
  readonly wanted: string;
  path: string;
  /** Nested too deeply: how much of the path's end belongs to turns around a cycle. */
  turns?: number;
}

/** What a walk over a value has seen. */
interface Walk {
  characters: number;
  /** `JSON.stringify` alone does not write it right. */
  large: boolean;
}

/**
 * Refuses what JSON would change or drop.
 *
 * @param path where the value stands, for the message
 * @param levels arrays and objects around it
 * @returns whether it contains integers beyond 2^53, for which `stringifyLossless` is needed
 * @throws {InvalidPayload}
 */
export function checkValue(value: unknown, path: string, levels = 1): boolean {
  const walk: Walk = { characters: 0, large: false };
  const unfit = check(value, levels, walk);
  if (unfit !== undefined) throw new InvalidPayload(path + unfit.path, unfit.value, unfit.wanted);
  return walk.large;
}

function check(value: unknown, levels: number, walk: Walk): Unfit | undefined {
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
      return bad(value, "a JSON value; null stands for none");
    case "object":
      if (value === null) return undefined;
      if (levels >= MAX_LEVELS) {
        return { value, wanted: `at most ${MAX_LEVELS} levels of arrays and objects`, path: "", turns: 0 };
      }
      if (walk.characters > MAX_CHARACTERS) return bad(value, "less; the payload would be of many megabytes");
      return Array.isArray(value) ? checkArray(value, levels + 1, walk) : checkObject(value, levels + 1, walk);
    default:
      return bad(value, "a JSON value: text, number, true, false, null, array or plain object");
  }
}

function checkArray(array: readonly unknown[], levels: number, walk: Walk): Unfit | undefined {
  if (typeof (array as { toJSON?: unknown }).toJSON === "function") {
    return bad((array as { toJSON?: unknown }).toJSON, "an array without it", ".toJSON");
  }
  for (let i = 0; i < array.length; i++) {
    const value = array[i];
    if (value === undefined && !(i in array)) return bad(value, "an array without holes", `[${i}]`);
    const unfit = check(value, levels, walk);
    if (unfit !== undefined) return inside(array, `[${i}]`, unfit);
  }
}

function checkObject(object: object, levels: number, walk: Walk): Unfit | undefined {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) return bad(object, insteadOf(object));
  for (const key of Object.keys(object)) {
    if (!key.isWellFormed()) return bad(key, "a key without half characters", step(key));
    walk.characters += key.length;
    const unfit = check((object as Record<string, unknown>)[key], levels, walk);
    if (unfit !== undefined) return inside(object, step(key), unfit);
  }
  const [symbol] = Object.getOwnPropertySymbols(object);
  if (symbol !== undefined) return bad(symbol, "keys that are texts", `[${String(symbol)}]`);
}

function bad(value: unknown, wanted: string, path = ""): Unfit {
  return { value, wanted, path };
}

/** One level further out. Where the object that is nested too deeply turns out to contain itself, it says so. */
function inside(container: object, step: string, unfit: Unfit): Unfit {
  unfit.path = step + unfit.path;
  if (unfit.turns === undefined || unfit.value !== container) return unfit;
  const path = unfit.path.slice(0, unfit.path.length - unfit.turns);
  return { value: unfit.value, wanted: "a value that does not contain itself", path, turns: path.length };
}

function step(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function insteadOf(object: object): string {
  if (object instanceof Date) return "a JSON value, such as date.toISOString()";
  if (object instanceof Map) return "a JSON value, such as Object.fromEntries(map)";
  if (object instanceof Set) return "a JSON value, such as [...set]";
  if (object instanceof ArrayBuffer || ArrayBuffer.isView(object)) return "a JSON value, such as its bytes in base64";
  return "a JSON value: a plain object with its data, or what it can be found by";
}
