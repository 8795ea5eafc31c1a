/**
 * The kinds of values that settings have. Each parses a value from the configuration file (typed) or from a flag or an
 * environment variable (text), and describes the values it accepts.
 *
 * @module
 */
import { formatBytes, parseBytes } from "../job/bytes.ts";
import { formatDuration, parseDuration } from "../job/duration.ts";
import { optionNames } from "../job/option_names.ts";
import type { Program } from "../job/program.ts";
import { CONTROLS } from "../log/control_characters.ts";
import { isQueueName } from "../job/queue_name.ts";

/** Parses one kind of value. */
export interface Kind<T> {
  /** Completes "expected …" in error messages. */
  readonly expected: string;
  /**
   * Parses a value.
   *
   * @param text whether the value is text from a flag or an environment variable
   * @returns undefined if the value is invalid
   * @throws {InvalidValue} if the message can say what is wrong
   */
  parse(value: unknown, text: boolean): T | undefined;
  /** Returns a value as people write it, where JSON is hard to read. */
  show?(value: T): string;
}

/** A value is invalid. The message names the part that is, and what was expected instead. */
export class InvalidValue extends Error {}

/** A queue and its weight. */
export interface QueueWeight {
  /** Letters, digits and `_ : . -`. */
  readonly name: string;
  /** From 1; 0 if none was given. */
  readonly weight: number;
}

/** A non-empty text. */
export const text: Kind<string> = {
  expected: "a non-empty text",
  parse: (value) => typeof value === "string" && value !== "" ? value : undefined,
};

/** A text, which may be empty. */
export const optionalText: Kind<string | undefined> = {
  expected: "a text",
  parse: (value) => typeof value === "string" ? value : undefined,
};

/** The address of a PostgreSQL database. Its parts are checked when it is opened. */
export const outboxAddress: Kind<string> = {
  expected: "an address such as postgres://USER:PASSWORD@HOST/DATABASE",
  parse: (value) => typeof value === "string" && /^postgres(ql)?:\/\/./.test(value) ? value : undefined,
};

/** A list of texts; in text form, separated by commas, of which those in parentheses separate nothing: `push(class=A,queue=b)`. */
export const texts: Kind<readonly string[]> = {
  expected: "a list of texts",
  parse(value, fromText) {
    if (fromText && typeof value === "string") {
      return value.split(/,(?![^()]*\))/).map((part) => part.trim()).filter(Boolean);
    }
    if (typeof value === "string") return [value];
    return Array.isArray(value) && value.every((one) => typeof one === "string" && one !== "") ? value : undefined;
  },
};

/** A whole number from `min` to `max`. */
export function wholeNumber(min: number, max: number): Kind<number> {
  return {
    expected: `a whole number from ${min} to ${max}`,
    parse(value, fromText) {
      const number = fromText && typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
      return Number.isInteger(number) && min <= (number as number) && (number as number) <= max
        ? number as number
        : undefined;
    },
  };
}

/** One of a fixed set of values. */
export function oneOf<const T extends string | number>(...values: readonly T[]): Kind<T> {
  return {
    expected: `one of ${values.join(", ")}`,
    parse: (value) => values.find((one) => one === value || String(one) === value),
  };
}

/** A duration in milliseconds, written as a number of seconds or as text such as `30s`, `5m`, `2h`, `1d`. */
export function duration(minMs: number): Kind<number> {
  return {
    expected: `a duration such as 90 (seconds), 30s, 5m, 2h or 1d${minMs > 0 ? `, at least ${minMs / 1000}s` : ""}`,
    parse(value) {
      if (typeof value !== "string" && typeof value !== "number") return undefined;
      try {
        const ms = Math.round(parseDuration(String(value)));
        return ms >= minMs ? ms : undefined;
      } catch {
        return undefined;
      }
    },
    show: (ms) => ms > 0 ? formatDuration(ms) : String(ms),
  };
}

/** A number of workers, or `auto` for one per core. */
export const processCount: Kind<number> = {
  expected: "a whole number from 1 to 256, or auto for one per core",
  parse: (value, fromText) =>
    value === "auto" ? Math.max(1, navigator.hardwareConcurrency) : wholeNumber(1, 256).parse(value, fromText),
};

/** A boolean; in text form `true` or `false`. */
export const yesOrNo: Kind<boolean> = {
  expected: "true or false",
  parse: (value) =>
    value === true || value === "true" ? true : value === false || value === "false" ? false : undefined,
};

/** An amount of memory in bytes, written as a number or as text such as `512M`. */
export const bytes: Kind<number> = {
  expected: "an amount such as 512M, 1.5G or 64k, or 0 for no limit",
  parse(value) {
    if (typeof value !== "string" && typeof value !== "number") return undefined;
    try {
      return parseBytes(String(value));
    } catch {
      return undefined;
    }
  },
  show: (count) => count > 0 ? formatBytes(count) : String(count),
};

/** The fields that a program's entry may have besides its class and command. */
const PROGRAM_OPTIONS: ReadonlySet<string> = new Set(["env", "cwd", "user", ...optionNames("exec")]);

/** Classes run by external programs: `[{ "class": "Thumbnail", "exec": ["./thumb.sh"] }]`; in text form, JSON. */
export const programs: Kind<readonly Program[]> = {
  expected: `a list such as [{ "class": "Thumbnail", "exec": ["./thumb.sh"], "timeout": "30s" }]; an entry may have ${
    [...PROGRAM_OPTIONS].join(", ")
  }`,
  parse(value, fromText) {
    let list = value;
    try {
      if (fromText) list = JSON.parse(String(value));
    } catch {
      return undefined;
    }
    return Array.isArray(list) && list.every(isProgram) ? list : undefined;
  },
};

/** A list whose elements its reader checks; in text form, JSON. */
export const list: Kind<readonly unknown[]> = {
  expected: "a list",
  parse(value, fromText) {
    try {
      const read: unknown = fromText ? JSON.parse(String(value)) : value;
      return Array.isArray(read) ? read : undefined;
    } catch {
      return undefined;
    }
  },
};

function isProgram(value: unknown): value is Program {
  if (typeof value !== "object" || value === null) return false;
  const { class: name, exec, ...options } = value as Record<string, unknown>;
  const { env = {}, cwd = ".", user = "root" } = options;
  return typeof name === "string" && name !== "" && Array.isArray(exec) && exec.length > 0 && exec[0] !== "" &&
    exec.every((one) => typeof one === "string") && Object.keys(options).every((key) => PROGRAM_OPTIONS.has(key)) &&
    isEnvironment(env) && typeof cwd === "string" && cwd !== "" && typeof user === "string" &&
    /^[^\s:-][^\s:]*$/.test(user);
}

function isEnvironment(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    Object.entries(value).every(([name, one]) =>
      /^[^=\0]+$/.test(name) && typeof one === "string" && !one.includes("\0")
    );
}

/**
 * Queues: `["critical", "default"]`, with weights `["critical,2", "default"]`, `[["critical", 2]]` or
 * `{ "critical": 2 }`; in text form `critical,2 default`, separated by spaces.
 */
export const queues: Kind<readonly QueueWeight[]> = {
  expected: 'queues such as ["critical", "default"], or with weights from 1 to 1000 ["critical,2", "default,1"]; ' +
    'as text "critical,2 default,1"; names without | * and control characters',
  parse(value) {
    const list = typeof value === "string"
      ? value.split(/\s+/).filter(Boolean)
      : Array.isArray(value)
      ? value
      : typeof value === "object" && value !== null
      ? Object.entries(value)
      : [];
    const parsed = list.map(parseQueue);
    return parsed.length > 0 && parsed.every((one) => one !== undefined) ? parsed : undefined;
  },
};

function parseQueue(value: unknown): QueueWeight | undefined {
  const [name, weight, ...more] = typeof value === "string" ? value.split(",") : Array.isArray(value) ? value : [];
  // Other programs push to names of any characters. A `*` is rather meant as a pattern, and none is.
  if (typeof name !== "string" || !isQueueName(name) || name.includes("*") || name.search(CONTROLS) >= 0) {
    return undefined;
  }
  if (more.length > 0) return undefined;
  if (weight === undefined) return { name, weight: 0 };
  const number = wholeNumber(1, 1000).parse(weight, true);
  return number === undefined ? undefined : { name, weight: number };
}
