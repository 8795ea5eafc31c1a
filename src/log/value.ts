/**
 * Values as logs show them. A handler may log anything (cycles, functions, getters that throw, gigabytes): it is shown
 * as well as it can be, within bounds, and nothing here throws. Pure.
 *
 * @module
 */

/** A value is cut beyond this many characters. */
const MAX_TEXT = 10_000;
/** Of a list within a value so many elements are shown. */
const MAX_LIST = 1_000;
/** Stands for what throws when it is looked at. */
const UNREADABLE = "[unreadable]";

/** The text, or its beginning and how long it is. */
export function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text;
}

/** A text as it is; anything else as {@linkcode asJson}. */
export function asText(value: unknown): string {
  if (typeof value === "string") return value;
  const json = asJson(value);
  return json?.startsWith('"') ? JSON.parse(json) : json ?? "undefined";
}

/** JSON text of anything; what JSON cannot hold is described. Undefined for undefined. */
export function asJson(value: unknown): string | undefined {
  if (typeof value === "string") return JSON.stringify(cut(value));
  if (typeof value === "boolean" || typeof value === "bigint" || Number.isFinite(value)) return String(value);
  if (value === undefined) return undefined;
  try {
    const json = JSON.stringify(value instanceof Error ? describe(value) : value, replacer());
    return json.length > MAX_TEXT ? JSON.stringify(`${json.slice(0, MAX_TEXT)}…`) : json;
  } catch {
    return JSON.stringify(UNREADABLE);
  }
}

/**
 * The fields of both, the later over the earlier. From JavaScript, what is given as fields may be no object: an error
 * becomes `error` and `stack`, anything else `value`.
 */
export function mergeFields(
  fields: Readonly<Record<string, unknown>>,
  more: unknown,
): Readonly<Record<string, unknown>> {
  if (more === undefined) return fields;
  try {
    if (more instanceof Error) return { ...fields, error: describe(more), stack: more.stack };
    if (typeof more !== "object" || Array.isArray(more)) return { ...fields, value: more };
    return { ...fields, ...more };
  } catch {
    return { ...fields, ...readable(more) };
  }
}

/** The fields that can be read, of an object with getters that throw, or a proxy. */
function readable(object: unknown): Record<string, unknown> {
  try {
    const entries = Object.keys(object as object).map((key) => {
      try {
        return [key, (object as Record<string, unknown>)[key]];
      } catch {
        return [key, UNREADABLE];
      }
    });
    return Object.fromEntries(entries);
  } catch {
    return { value: UNREADABLE };
  }
}

/** What stands for a value within a value, for one call of `JSON.stringify`. */
function replacer(): (this: unknown, key: string, value: unknown) => unknown {
  const ancestors: unknown[] = [];
  let length = 0;
  return function (key, value) {
    if (length > MAX_TEXT) return undefined; // it would be cut anyway; without this, a gigabyte is built first
    const part = describe(value);
    length += key.length + (typeof part === "string" ? part.length : 1);
    if (typeof part !== "object" || part === null) return part;
    while (ancestors.length > 0 && ancestors.at(-1) !== this) ancestors.pop();
    if (ancestors.includes(part)) return "[circular]";
    ancestors.push(part);
    return part;
  };
}

/** What JSON can hold as it is; in place of what it cannot, a description. */
function describe(value: unknown): unknown {
  switch (typeof value) {
    case "string":
      return cut(value);
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
    case "symbol":
      return String(value);
    case "function":
      return `[function ${value.name}]`;
    case "object":
      if (value instanceof Error) return cut(`${value.name}: ${value.message}`);
      if (ArrayBuffer.isView(value)) return `[${value.constructor.name} of ${value.byteLength} bytes]`;
      if (value instanceof Map || value instanceof Set) return [...value].slice(0, MAX_LIST);
      return Array.isArray(value) && value.length > MAX_LIST ? value.slice(0, MAX_LIST) : value;
    default:
      return value;
  }
}
