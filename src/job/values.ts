/**
 * Whether a value survives JSON: what is pushed must be what the handler gets, in any language that shares the queue.
 *
 * @module
 */
import { InvalidPayload } from "./errors.ts";

/** Deeper than this, other readers of a queue give up (Ruby's JSON at 100). */
export const DEEPEST = 100;

/** Integers that every language with 64-bit integers can hold. */
const LEAST_INTEGER = -(2n ** 63n);
const LARGEST_INTEGER = 2n ** 64n - 1n;

/**
 * Refuses what JSON would change or drop.
 *
 * @param path where the value stands, for the message
 * @throws {InvalidPayload}
 */
export function checkValue(value: unknown, path: string, depth = 1): void {
  switch (typeof value) {
    case "string":
    case "boolean":
      return;
    case "number":
      if (Number.isFinite(value)) return;
      throw new InvalidPayload(path, value, "a finite number; JSON has no other");
    case "bigint":
      if (value >= LEAST_INTEGER && value <= LARGEST_INTEGER) return;
      throw new InvalidPayload(path, value, "an integer of at most 64 bits, or a text");
    case "object":
      if (value === null) return;
      if (depth > DEEPEST) {
        throw new InvalidPayload(path, "nested further", `at most ${DEEPEST} levels (is it cyclic?)`);
      }
      if (Array.isArray(value)) return checkArray(value, path, depth);
      return checkObject(value, path, depth);
    default:
      throw new InvalidPayload(path, value, `a JSON value; ${typeof value} is none`);
  }
}

function checkArray(array: readonly unknown[], path: string, depth: number): void {
  for (let i = 0; i < array.length; i++) {
    const value = array[i];
    if (typeof value === "string" || typeof value === "boolean") continue;
    checkValue(value, `${path}[${i}]`, depth + 1);
  }
}

function checkObject(object: object, path: string, depth: number): void {
  const prototype = Object.getPrototypeOf(object);
  if (prototype !== null && prototype !== Object.prototype) {
    const name = (prototype as { constructor?: { name?: string } }).constructor?.name || "class";
    throw new InvalidPayload(path, `a ${name}`, `a plain object, array, text, number, boolean or null${hint(object)}`);
  }
  if (typeof (object as { toJSON?: unknown }).toJSON === "function") {
    throw new InvalidPayload(`${path}.toJSON`, "a function", "a plain object that JSON writes as it is");
  }
  for (const [key, value] of Object.entries(object)) checkValue(value, `${path}.${key}`, depth + 1);
}

function hint(object: object): string {
  if (object instanceof Date) return "; for a Date: date.toISOString()";
  if (object instanceof Map) return "; for a Map: Object.fromEntries(map)";
  if (object instanceof Set) return "; for a Set: [...set]";
  return "";
}
