/**
 * The `group` option: the group of its queue that a job belongs to, for example its customer.
 *
 * @module
 */
import { InvalidPayload } from "./errors.ts";
import { parseLossless } from "./json.ts";
import { JsonArgs } from "./json_args.ts";
import { isReserved } from "./priority.ts";

/** Maximum length of a group's name in bytes of UTF-8. */
const MAX_GROUP_BYTES = 256;

/** The names of groups; completes "expected …". */
export const GROUP_NAME_EXPECTED = `a text of 1 to ${MAX_GROUP_BYTES} bytes that doesn't begin with |`;
const PATH_EXPECTED = "a path into the arguments such as args[0] or args[0].customer";
/** The accepted values; completes "expected …". */
export const GROUP_EXPECTED = `${GROUP_NAME_EXPECTED}, a whole number, or ${PATH_EXPECTED}`;

/** A path into the arguments: `args[0]`, `args[1].customer.id`. */
const PATH = /^args(\[\d{1,9}\]|\.[A-Za-z_$][\w$-]*)+$/;
const STEP = /\[(\d+)\]|\.([\w$-]+)/g;
/** The beginning of a path. As a name, a mistyped path would put the jobs of all customers into one group. */
const MEANT_AS_PATH = /^\s*(args?|arguments)\s*\[|^\s*args(\.|$)/;

/** Returns whether a value is a valid name of a group. */
export function isGroup(value: unknown): value is string {
  return typeof value === "string" && value !== "" && !isReserved(value) && value.isWellFormed() &&
    bytesOf(value) <= MAX_GROUP_BYTES;
}

/** Returns whether the option accepts a value. `false` means no group, even if the class sets one. */
export function isGroupOption(value: unknown): value is string | number | false {
  return value === false || isGroup(value) && !isMistypedPath(value) || Number.isSafeInteger(value);
}

/** Returns what the option expected instead of a value that it doesn't accept; completes "expected …". */
export function groupExpected(value: unknown): string {
  return isMistypedPath(value) ? PATH_EXPECTED : GROUP_EXPECTED;
}

/** Returns whether the option takes a text as a path into the arguments, so that it names no group by itself. */
export function isPath(text: string): boolean {
  return PATH.test(text);
}

function isMistypedPath(value: unknown): boolean {
  return typeof value === "string" && MEANT_AS_PATH.test(value) && !PATH.test(value);
}

/**
 * Returns the group of one job.
 *
 * @param option a name, or a path into the arguments
 * @throws {InvalidPayload} if the value at the path is neither a valid name nor a whole number
 */
export function groupOf(option: string | number, args: unknown): string {
  return nameAt("group", option, args);
}

/**
 * Returns the name that an option gives: itself, or the value at its path into the arguments.
 *
 * @param field the option, for errors
 * @throws {InvalidPayload} if the value at the path is neither a valid name nor a whole number
 */
export function nameAt(field: string, option: string | number, args: unknown): string {
  if (typeof option === "number" || !PATH.test(option)) return String(option);
  let value: unknown = args instanceof JsonArgs ? parseLossless(args.text) : args;
  for (const [, index, name] of option.matchAll(STEP)) {
    const key = index ?? name!;
    value = typeof value === "object" && value !== null && Object.hasOwn(value, key)
      ? (value as Readonly<Record<string, unknown>>)[key]
      : undefined;
  }
  const found = Number.isSafeInteger(value) || typeof value === "bigint" ? String(value) : value;
  if (isGroup(found)) return found;
  throw new InvalidPayload(
    `${field} (${option})`,
    value,
    `${GROUP_NAME_EXPECTED}, or a whole number, there`,
  );
}

function bytesOf(text: string): number {
  return text.length * 3 <= MAX_GROUP_BYTES ? text.length : new TextEncoder().encode(text).length;
}
