/**
 * The options that compare a push with earlier ones by a key: `unique_for`, `debounce` and `throttle`. The key is the job's class,
 * queue and arguments; or class, queue and the value of `unique_key`, `debounce_key` or `throttle_key`.
 *
 * @module
 */
import { parseDuration } from "./duration.ts";
import { InvalidPayload } from "./errors.ts";
import { nameAt } from "./group.ts";
import { readSpan } from "./time.ts";

/** Maximum count of a throttle: the store remembers each accepted push of the time. */
const MAX_COUNT = 10_000;
const MAX_WINDOW_MS = 30 * 86_400_000;

/** The accepted values of `throttle`; completes "expected …". */
export const THROTTLE_EXPECTED =
  `COUNT/DURATION such as 1/1m, with a count of 1 to ${MAX_COUNT} and a time of up to 30 days; false for no throttle`;

/** A name, or a path into the arguments. Absent: the arguments. */
type Key = string | number | undefined;

export interface PushKeys {
  readonly unique?: { readonly key: Key; readonly ttlMs: number; readonly replace?: true };
  readonly debounce?: { readonly key: Key; readonly waitMs: number; readonly maxMs?: number };
  readonly throttle?: { readonly key: Key; readonly count: number; readonly perMs: number };
}

/** Whether an option is on: `false` and `0` override the option of the class. */
export function isOn(value: unknown): boolean {
  return value !== undefined && value !== false && value !== null && value !== 0;
}

/**
 * Returns the keys that a push requests; undefined if it requests none.
 *
 * @param fields a push with the options of its class
 * @throws {InvalidPayload} if an option is invalid, or contradicts another
 */
export function pushKeys(fields: Readonly<Record<string, unknown>>): PushKeys | undefined {
  const { unique_for: lock, debounce, debounce_max: max, throttle } = fields;
  for (const [name, of] of Object.entries(BELONGS_TO)) {
    const value = fields[name];
    if (value === undefined || name === "unique_key" && isLockKey(value)) continue;
    if (fields[of] === undefined) throw new InvalidPayload(name, value, `"${of}" with it`);
  }
  if (isOn(debounce)) checkDebounce(fields);
  const replaces = isOn(lock) && fields.on_duplicate === "replace";
  if (replaces && isOn(fields.batch)) {
    throw new InvalidPayload("batch", fields.batch, 'no "batch" together with "on_duplicate"');
  }
  if (!isOn(lock) && !isOn(debounce) && !isOn(throttle)) return undefined;
  return {
    ...(isOn(lock) && {
      unique: {
        key: fields.unique_key as Key,
        ttlMs: readSpan("unique_for", lock) * 1_000,
        ...(replaces && { replace: true }),
      },
    }),
    ...(isOn(debounce) && {
      debounce: {
        key: fields.debounce_key as Key,
        waitMs: readSpan("debounce", debounce) * 1_000,
        ...(isOn(max) && { maxMs: readSpan("debounce_max", max) * 1_000 }),
      },
    }),
    ...(isOn(throttle) && { throttle: { key: fields.throttle_key as Key, ...readThrottle("throttle", throttle) } }),
  };
}

/**
 * Returns the option by which a push may take the place of a job that waits, whose arguments are lost then; undefined if it can't.
 *
 * @param fields a push with the options of its class
 */
export function replacingOption(fields: Readonly<Record<string, unknown>>): "on_duplicate" | "debounce" | undefined {
  if (isOn(fields["unique_for"]) && fields["on_duplicate"] === "replace") return "on_duplicate";
  return isOn(fields["debounce"]) ? "debounce" : undefined;
}

const BELONGS_TO = {
  unique_key: "unique_for",
  unique_until: "unique_for",
  on_duplicate: "unique_for",
  debounce_key: "debounce",
  debounce_max: "debounce",
  throttle_key: "throttle",
} as const;

/** Rejects options that contradict `debounce`: it sets the time, and a later push replaces the job under its ID. */
function checkDebounce(fields: Readonly<Record<string, unknown>>): void {
  for (const name of ["in", "at", "unique_for", "batch", "id"]) {
    if (isOn(fields[name])) throw new InvalidPayload(name, fields[name], `no "${name}" together with "debounce"`);
  }
}

/**
 * Reads `COUNT/DURATION`.
 *
 * @throws {InvalidPayload} if it is invalid
 */
export function readThrottle(field: string, value: unknown): { readonly count: number; readonly perMs: number } {
  const [, count, time] = typeof value === "string" ? /^\s*(\d+)\s*\/\s*(\S+)\s*$/.exec(value) ?? [] : [];
  try {
    const perMs = parseDuration(/^[a-z]/.test(time!) ? `1${time}` : time!);
    if (Number(count) >= 1 && Number(count) <= MAX_COUNT && perMs >= 1 && perMs <= MAX_WINDOW_MS) {
      return { count: Number(count), perMs };
    }
  } catch {
    // Reported below.
  }
  throw new InvalidPayload(field, value, THROTTLE_EXPECTED);
}

/** The store keeps an `id` for this long, unless `within` is set. */
const DEFAULT_WITHIN_S = 86_400;

/**
 * Returns the key of an idempotent push; undefined if it has no `id`.
 *
 * @param kind the first part of the key. A job and a flow may have the same `id`
 * @throws {InvalidPayload} if there is a `within` without an `id`
 */
export function idKey(
  kind: "id" | "flow" | "batch",
  id: string | undefined,
  within: number | string | undefined,
): { readonly key: string; readonly ttlMs: number } | undefined {
  if (id !== undefined) {
    return { key: `${kind}:${id}`, ttlMs: readSpan("within", within ?? DEFAULT_WITHIN_S) * 1_000 };
  }
  if (within !== undefined) throw new InvalidPayload("within", within, '"id" with it');
  return undefined;
}

/** The names of the options for keys. */
export type KeyField = "unique_key" | "debounce_key" | "throttle_key";

/**
 * Returns the text of which the key is the digest.
 *
 * @param option a name, a path into the arguments, or undefined for the arguments
 * @param argsText the JSON text of the arguments
 * @throws {InvalidPayload} if the value at the path is neither a text nor a whole number
 */
export function keyText(field: KeyField, option: Key, args: unknown, argsText: string): string {
  if (option === undefined) return argsText;
  return JSON.stringify(nameAt(field, option, args));
}

/** Whether a text is the key that a store keeps. A copy of a payload has the key of the original. */
export function isLockKey(text: unknown): text is string {
  return typeof text === "string" && /^[\w-]{43}$/.test(text);
}
