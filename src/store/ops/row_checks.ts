/**
 * Checks of rows that another store wrote, perhaps by a newer version.
 *
 * @module
 */
import { StoreError } from "../port/errors.ts";

/** Throws if a value isn't as expected. `at` names it in the error: `batch.total`. */
export type Check = (at: string, value: unknown) => void;

/** A longer value is cut in an error. */
const MAX_SHOWN = 60;

/** Returns a check of one value. */
export function is(expected: string, test: (value: unknown) => boolean): Check {
  return (at, value) => {
    if (test(value)) return;
    const shown = JSON.stringify(value) ?? "missing";
    const cut = shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown;
    throw new StoreError("wrong", `Nothing imported: ${at} is ${cut}, expected ${expected}`);
  };
}

export const text = is("a string", (value) => typeof value === "string");
export const number = is("a number", Number.isFinite);
export const boolean = is("a boolean", (value) => typeof value === "boolean");
export const json = is("JSON", isJson);

export function oneOf(...texts: readonly string[]): Check {
  return is(`one of ${texts.join(", ")}`, (value) => (texts as readonly unknown[]).includes(value));
}

/** May be null or absent. */
export function optional(check: Check): Check {
  return (at, value) => (value ?? null) === null || check(at, value);
}

export function list(check: Check): Check {
  return (at, value) => {
    is("a list", Array.isArray)(at, value);
    for (const item of value as unknown[]) check(at, item);
  };
}

/** These fields, and no others: a field with another name has a meaning for a newer version. */
export function fields(checks: Readonly<Record<string, Check>>): Check {
  return (at, value) => {
    is("an object", (one) => typeof one === "object" && one !== null)(at, value);
    const row = value as Readonly<Record<string, unknown>>;
    for (const [name, check] of Object.entries(checks)) check(`${at}.${name}`, row[name]);
    const unknown = Object.keys(row).find((name) => !Object.hasOwn(checks, name));
    if (unknown === undefined) return;
    throw new StoreError(
      "newer",
      `Nothing imported: a newer version of jobs wrote ${at}.${unknown}; update this program`,
    );
  };
}

function isJson(value: unknown): boolean {
  try {
    JSON.parse(value as string);
    return typeof value === "string";
  } catch {
    return false;
  }
}
