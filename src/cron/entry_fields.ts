/**
 * The fields of one written entry: known names, typed reading, and a report of what is wrong.
 *
 * @module
 */
import { parseDuration } from "../job/duration.ts";
import { stringifyLossless } from "../job/json.ts";
import { optionNames } from "../job/options.ts";

/** Something wrong with an entry. */
export interface CronProblem {
  /** Name of the entry; where it has none, its place in the list from 1. */
  readonly entry: string;
  /** One line for people. */
  readonly message: string;
}

/** Options of the jobs that an entry enqueues; the enqueuer checks them. */
export const PUSH_OPTIONS: readonly string[] = optionNames("cron");

export const FIELDS = [
  "name",
  "rule",
  "every",
  "anchor",
  "timezone",
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

/** Fields that people bring along from elsewhere, and what to write instead. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  callback: '"class" and "args"',
  type: '"class"; a command is a class that runs a program',
  mutexPool: "nothing: there is no lock to keep",
  mutexExpires: "nothing: there is no lock that could expire",
  unique_for: '"overlap"',
  in: '"rule" or "every"',
  at: '"rule" or "every"',
  jid: "nothing: each occurrence has its own",
};

/** Reads the fields of one entry. What is wrong is collected, and reading goes on. */
export class EntryFields {
  readonly problems: CronProblem[] = [];
  readonly #input: Readonly<Record<string, unknown>>;
  readonly #entry: string;
  readonly #label: string;

  /**
   * @param input the entry as it is written
   * @param place its place in the list, from 1
   */
  constructor(input: unknown, place: number) {
    this.#input = isObject(input) ? input : {};
    const { name } = this.#input;
    this.#entry = isText(name) ? name : `${place}`;
    this.#label = isText(name) ? JSON.stringify(name) : `${place} of the list`;
    if (!isObject(input)) this.report(`it is ${show(input)}; wanted: an object with name, class, and rule or every`);
    for (const field of Object.keys(this.#input)) if (!FIELDS.includes(field)) this.#reportUnknown(field);
  }

  /** The field as it is written. */
  raw(field: string): unknown {
    return this.#input[field];
  }

  /** The field's value; undefined when it is absent, or wrong, which is reported. */
  get<T>(field: string, wanted: string, isRight: (value: unknown) => value is T): T | undefined {
    const value = this.#input[field];
    if (value === undefined || isRight(value)) return value;
    return this.wrong(field, wanted);
  }

  /** The field's value in milliseconds. */
  duration(field: string, leastMs: number): number | undefined {
    const value = this.#input[field];
    if (value === undefined) return undefined;
    let ms = NaN;
    try {
      if (typeof value === "number" || typeof value === "string") ms = parseDuration(String(value));
    } catch {
      // Said below, with the field's name.
    }
    if (Number.isSafeInteger(ms) && ms >= leastMs) return ms;
    const least = leastMs > 0 ? `, at least ${leastMs / 1_000}s` : "";
    return this.wrong(field, `seconds, or a duration such as 30s, 5m, 2h or 1d${least}`);
  }

  /** Reports that a field has a wrong value. */
  wrong(field: string, wanted: string): undefined {
    return this.report(`"${field}" is ${show(this.#input[field])}; wanted: ${wanted}`);
  }

  /** Reports anything. */
  report(what: string): undefined {
    this.problems.push({ entry: this.#entry, message: `Cron entry ${this.#label}: ${what}` });
  }

  #reportUnknown(field: string): void {
    const instead = Object.hasOwn(ELSEWHERE, field) ? ELSEWHERE[field] : undefined;
    if (instead) this.report(`"${field}" is not known here; wanted: ${instead}`);
    else this.report(`unknown field "${field}"; known: ${FIELDS.join(", ")}; others go into "options"`);
  }
}

/** An object that is no array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A text that is not empty. */
export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** True or false. */
export function isBoolean(value: unknown): value is boolean {
  return typeof value === "boolean";
}

/** One of a few. */
export function isOneOf<T>(values: readonly T[]): (value: unknown) => value is T {
  return (value): value is T => values.includes(value as T);
}

/** ISO 8601 with its zone. */
export function isInstant(value: unknown): value is string {
  try {
    return typeof value === "string" && Temporal.Instant.from(value) !== undefined;
  } catch {
    return false;
  }
}

/** A value as messages quote it. */
export function show(value: unknown): string {
  const text = stringifyLossless(value) ?? String(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
