/**
 * The fields of one cron entry as its author writes it: the known names, and a reader that collects problems.
 *
 * @module
 */
import { boundOf, parseDuration } from "../job/duration.ts";
import { stringifyLossless } from "../job/json.ts";
import { optionNames } from "../job/option_names.ts";

export interface CronProblem {
  /** The name of the entry; without a name, its position in the list, from 1. */
  readonly entry: string;
  /** One line for people. */
  readonly message: string;
  /** The field that is wrong; absent if it is the entry as a whole. */
  readonly field?: string;
}

/** Options of the jobs that an entry enqueues. They are checked as the options of a push. */
export const PUSH_OPTIONS: readonly string[] = optionNames("cron");

export const FIELDS = [
  "name",
  "rule",
  "every",
  "anchor",
  "timezone",
  "start",
  "end",
  "count",
  "spread",
  "class",
  "args",
  ...PUSH_OPTIONS,
  "options",
  "memo",
  "enable",
  "environments",
  "overlap",
  "singleton",
  "catchUp",
  "catchUpWindow",
  "everyProcess",
  "onOneServer",
];

/** Fields of other schedulers and of pushes, and what to write instead. */
export const FOREIGN_FIELDS: Readonly<Record<string, string>> = {
  callback: '"class" and "args"',
  type: '"class"; a command is a class that runs a program',
  mutexPool: "nothing: cron entries take no lock",
  mutexExpires: "nothing: cron entries take no lock",
  jitter: '"spread"',
  startDate: '"start"',
  endDate: '"end"',
  limit: '"count"',
  unique_for: '"overlap"',
  debounce: '"overlap"',
  throttle: '"overlap"',
  in: '"rule" or "every"',
  at: '"rule" or "every"',
  jid: "nothing: each run gets a jid",
};

/** Reads the fields of one entry. Collects problems and continues reading. */
export class EntryFields {
  readonly problems: CronProblem[] = [];
  readonly #input: Readonly<Record<string, unknown>>;
  readonly #entry: string;
  readonly #label: string;

  /**
   * @param input the entry as its author wrote it
   * @param position its position in the list, from 1; undefined for one that isn't in a list
   */
  constructor(input: unknown, position: number | undefined) {
    this.#input = isObject(input) ? input : {};
    const { name } = this.#input;
    this.#entry = isText(name) ? name : String(position ?? "");
    const label = isText(name) ? show(name) : position && `${position} of the list`;
    this.#label = label === undefined ? "Cron entry" : `Cron entry ${label}`;
    if (!isObject(input)) this.report(`it is ${show(input)}; expected an object with name, class, and rule or every`);
    for (const field of Object.keys(this.#input)) if (!FIELDS.includes(field)) this.#reportUnknown(field);
  }

  raw(field: string): unknown {
    return this.#input[field];
  }

  /** Returns the value of a field; undefined if it is absent or invalid. An invalid value is reported. */
  get<T>(field: string, expected: string, isValid: (value: unknown) => value is T): T | undefined {
    const value = this.#input[field];
    if (value === undefined || isValid(value)) return value;
    return this.invalid(field, expected);
  }

  /** Returns a duration in milliseconds; undefined if it is absent or invalid. An invalid value is reported. */
  duration(field: string, minMs: number): number | undefined {
    const value = this.#input[field];
    if (value === undefined) return undefined;
    let ms = NaN;
    try {
      if (typeof value === "number" || typeof value === "string") ms = parseDuration(String(value));
    } catch {
      // Reported below, with the name of the field.
    }
    if (Number.isSafeInteger(ms) && ms >= minMs) return ms;
    const minimum = minMs > 0 ? `, at least ${minMs / 1_000}s` : "";
    return this.invalid(field, `seconds, or a duration such as 30s, 5m, 2h or 1d${minimum}${boundOf(value)}`);
  }

  /** Reports an invalid field. */
  invalid(field: string, expected: string): undefined {
    return this.report(`"${field}" is ${show(this.#input[field])}; expected ${expected}`, field);
  }

  /** Reports a problem of the entry, or of one of its fields. */
  report(problem: string, field?: string): undefined {
    const message = `${this.#label}: ${problem}`;
    this.problems.push({ entry: this.#entry, message, ...(field !== undefined && { field }) });
  }

  #reportUnknown(field: string): void {
    const instead = Object.hasOwn(FOREIGN_FIELDS, field) ? FOREIGN_FIELDS[field] : undefined;
    if (instead) this.report(`"${field}" is not a field of a cron entry; write ${instead}`);
    else this.report(`unknown field "${field}"; known: ${FIELDS.join(", ")}; others go into "options"`);
  }
}

/** Returns whether a value is an object, but not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns whether a value is a text that isn't empty. */
export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

export function isBoolean(value: unknown): value is boolean {
  return typeof value === "boolean";
}

/** Returns a check for one of these values. */
export function isOneOf<T>(values: readonly T[]): (value: unknown) => value is T {
  return (value): value is T => values.includes(value as T);
}

/** The first and the last millisecond of the years that ISO 8601 writes with four digits. */
const [MIN_TIME_MS, MAX_TIME_MS] = [-62_167_219_200_000, 253_402_300_799_999];

/**
 * Returns the time of a field, ISO 8601 with its zone, in epoch milliseconds. Its years are those that a job may have: from later times on,
 * runs would be later than any `Date`.
 */
export function readInstant(fields: EntryFields, field: string): number | undefined {
  const text = fields.get(field, `a time with its zone, such as "2026-01-01T06:00:00Z"`, isInstant);
  if (text === undefined) return undefined;
  const ms = Temporal.Instant.from(text).epochMilliseconds;
  return ms >= MIN_TIME_MS && ms <= MAX_TIME_MS ? ms : fields.invalid(field, "a time in the years 0 to 9999");
}

/** Returns whether a value is an ISO 8601 time with its zone. */
function isInstant(value: unknown): value is string {
  try {
    return typeof value === "string" && Temporal.Instant.from(value) !== undefined;
  } catch {
    return false;
  }
}

/** Returns a value as messages quote it: JSON, cut after 100 characters. */
export function show(value: unknown): string {
  const text = stringifyLossless(value) ?? String(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
