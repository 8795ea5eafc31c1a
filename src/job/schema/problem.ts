/**
 * The outcome of checking a value against a schema.
 *
 * @module
 */
import type { Steps } from "./pattern.ts";

/** The first invalid part of a value. The path is built on the way out, so that a valid value costs nothing. */
export interface Problem {
  readonly path: string;
  readonly value: unknown;
  /** Completes "expected …". */
  readonly expected: string;
}

/** A check takes at most this many steps. A schema with many alternatives takes more on large arguments. */
const MAX_STEPS = 1_000_000;

/** One check of one value. */
export class Run implements Steps {
  #steps = 0;

  /** @throws {RangeError} if the check has taken more steps than it may */
  count(): void {
    if (++this.#steps > MAX_STEPS) throw new RangeError("Too many steps");
  }
}

/** Returns the step of a path: `.name`, `["a b"]` or `[3]`. */
export function pathStep(step: string | number): string {
  if (typeof step === "number") return `[${step}]`;
  return /^[A-Za-z_$][\w$]*$/.test(step) ? `.${step}` : `[${JSON.stringify(step.slice(0, 80))}]`;
}

/** Returns the problem of a part as one of the whole. */
export function inside(step: string | number, problem: Problem | undefined): Problem | undefined {
  return problem && { ...problem, path: pathStep(step) + problem.path };
}

/** Returns whether a value is a JSON object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns whether two JSON values are equal: `1` and `1.0`, and objects in any order. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (isNumber(a) && isNumber(b)) return !(a < b || a > b);
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => isEqual(item, b[i]));
  if (!isObject(a) || !isObject(b)) return a === b;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isEqual(a[name], b[name]));
}

/** Returns whether a value is a number, also one beyond 2^53. */
export function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}
