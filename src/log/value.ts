/**
 * Formats values for logs. A handler may log any value: cycles, functions, getters that throw, gigabytes. The output is
 * limited, and nothing here throws.
 *
 * @module
 */

/** A longer value is truncated to this many characters. */
const MAX_TEXT = 10_000;
/** A list within a value shows at most this many elements. */
const MAX_LIST = 1_000;
/** Replaces a value that throws when it is read. */
const UNREADABLE = "[unreadable]";

/** Returns a text; a long one truncated, with its length. */
export function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text;
}

/** Returns a string unchanged, and any other value as {@linkcode asJson} does. */
export function asText(value: unknown): string {
  if (typeof value === "string") return value;
  const json = asJson(value);
  return json?.startsWith('"') ? JSON.parse(json) : json ?? "undefined";
}

/** Returns any value as JSON text, with descriptions of values that JSON cannot represent. Undefined for undefined. */
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
 * Merges fields; later ones take precedence. A JavaScript handler may pass any value as fields: an error becomes `error`
 * and `stack`, any other value that isn't an object becomes `value`.
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

/** Returns the readable fields of a proxy, or of an object with getters that throw. */
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

/** Returns the replacer for one call of `JSON.stringify`. */
function replacer(): (this: unknown, key: string, value: unknown) => unknown {
  const ancestors: unknown[] = [];
  let length = 0;
  return function (key, value) {
    if (length > MAX_TEXT) return undefined; // truncated anyway; avoids building a gigabyte first
    const part = describe(value);
    length += key.length + (typeof part === "string" ? part.length : 1);
    if (typeof part !== "object" || part === null) return part;
    while (ancestors.length > 0 && ancestors.at(-1) !== this) ancestors.pop();
    if (ancestors.includes(part)) return "[circular]";
    ancestors.push(part);
    return part;
  };
}

/** Returns a value that JSON can represent; otherwise a description of it. */
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
