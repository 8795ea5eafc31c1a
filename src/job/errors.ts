/**
 * What pushing refuses with, what handlers throw to say how a job goes on, what a job's signal aborts with, and what is
 * known of whatever else was thrown.
 *
 * @module
 */
import { formatDuration, parseDuration } from "./duration.ts";

/** A job cannot be stored as it is. Nothing was stored. */
export class InvalidPayload extends Error {
  override readonly name = "InvalidPayload";
  /** The invalid field, as a path: `args[1].user.born`. */
  readonly field: string;
  /** Its value, shortened. */
  readonly value: string;
  /** What would be valid, in words. */
  readonly expected: string;

  /**
   * @param field the invalid field, as a path
   * @param value its value
   * @param expected what would be valid; completes "expected …"
   */
  constructor(field: string, value: unknown, expected: string) {
    const shown = showValue(value);
    super(`${field} is ${shown}; expected ${expected}`);
    this.field = field;
    this.value = shown;
    this.expected = expected;
  }
}

/** Thrown by a handler: the job failed and is dropped, without a retry and without a place in `dead`. */
export class Discard extends Error {
  /** Told apart by name. */
  override readonly name = "Discard";
}

/** Thrown by a handler: the job failed for good and goes to `dead`, without a retry. */
export class Kill extends Error {
  /** Told apart by name. */
  override readonly name = "Kill";
}

/**
 * Thrown by a handler: the job has not failed, but is to run again later. It uses no retry. Any error with this `name` does
 * the same; its field `delayMs` says when, and where it does not, that is in a minute.
 */
export class Snooze extends Error {
  /** Told apart by name. */
  override readonly name = "Snooze";
  /** Milliseconds until it runs again. */
  readonly delayMs: number;

  /**
   * Runs the job again later.
   *
   * @param delay seconds, or a duration such as `5m`
   * @throws {RangeError} when it is no duration
   */
  constructor(delay: number | string) {
    const delayMs = parseDuration(String(delay));
    super(`Again in ${formatDuration(delayMs)}`);
    this.delayMs = delayMs;
  }
}

/** What a job's signal aborts with when the server stops. The job was given back and runs again. */
export class Shutdown extends Error {
  /** Told apart by name. */
  override readonly name = "Shutdown";
}

/**
 * What a job's signal aborts with when this process has lost the job: it was frozen, or cut off from the store, counted as
 * dead, and the job was given to another. What the handler still does does not count.
 */
export class LeaseLost extends Error {
  /** Told apart by name. */
  override readonly name = "LeaseLost";

  /**
   * A loss.
   *
   * @param message default: how it came about
   */
  constructor(message = "This process was taken for dead, and the job was given back; it runs again elsewhere") {
    super(message);
  }
}

/** The failure of a job that ran longer than it may; its signal aborts with it. */
export class Timeout extends Error {
  /** Told apart by name. */
  override readonly name = "Timeout";

  /**
   * A timeout.
   *
   * @param limitMs how long it was allowed to run
   */
  constructor(limitMs: number) {
    super(`Ran longer than the ${formatDuration(limitMs)} it may take`);
  }
}

/** The failure of a job that keeps killing the workers that run it. Passed to the hook `death`; no handler sees it. */
export class WorkerDied extends Error {
  /** Told apart by name. */
  override readonly name = "WorkerDied";

  /**
   * The failure of a job that ran when its workers died.
   *
   * @param times how often that was
   * @param ended how the last of them ended, if that is known: `killed by signal 9 (SIGKILL)`
   */
  constructor(times: number, ended?: string) {
    super(`Worker died ${times} times while running it${ended === undefined ? "" : `: ${ended}`}`);
    // Where the error was made says nothing about the job.
    this.stack = `${this.name}: ${this.message}`;
  }
}

/** What a job's signal aborts with when somebody cancelled the job: it is not tried again. */
export class Cancelled extends Error {
  /** Told apart by name. */
  override readonly name = "Cancelled";

  /**
   * A cancellation.
   *
   * @param message default: that it was cancelled
   */
  constructor(message = "Cancelled on request") {
    super(message);
  }
}

/** The failure of a job whose class no loaded handler performs. */
export class HandlerMissing extends Error {
  /** Told apart by name. */
  override readonly name = "HandlerMissing";

  /**
   * The failure of a job of this class.
   *
   * @param known the classes that have a handler
   */
  constructor(className: string, known: readonly string[]) {
    super(`No handler for class "${className}"; this process knows ${known.length > 0 ? known.join(", ") : "none"}`);
  }
}

/** How a handler asked that its job goes on. */
export type Verdict =
  | { readonly kind: "discard" }
  | { readonly kind: "kill" }
  | {
    readonly kind: "snooze";
    readonly delayMs: number;
    /** What is wrong with the delay, where the usual one stands in for it. */
    readonly problem?: string;
  };

/** For a `Snooze` that does not say it. */
const USUAL_SNOOZE_MS = 60_000;

/**
 * What a thrown value says about how the job goes on; undefined when it is a plain failure. It goes by the error's
 * name, not by its class: a handler may have been bundled with a copy of this library. Never throws.
 */
export function verdictOf(thrown: unknown): Verdict | undefined {
  try {
    if (!(thrown instanceof Error)) return undefined;
    switch (thrown.name) {
      case "Discard":
      case "Cancelled":
        return { kind: "discard" };
      case "Kill":
      case "WorkerDied":
        return { kind: "kill" };
      case "Snooze": {
        const delayMs = read(() => (thrown as { delayMs?: unknown }).delayMs);
        if (isDelay(delayMs)) return { kind: "snooze", delayMs };
        const problem = `delayMs is ${showValue(delayMs)}; expected milliseconds`;
        return { kind: "snooze", delayMs: USUAL_SNOOZE_MS, problem };
      }
    }
  } catch {
    // A getter that throws: then it says nothing.
  }
  return undefined;
}

function isDelay(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && Number.isSafeInteger(Math.round(value));
}

/** What is known of a thrown value. */
export interface Described {
  /** The error's name; `NotAnError` for anything else that was thrown. */
  readonly class: string;
  /** At most 10,000 characters. */
  readonly message: string;
  /** The lines of the stack, without the message; then those of its causes, each after a line that names it. */
  readonly stack: readonly string[];
}

/** Longer messages are cut, as Sidekiq does. */
const MAX_MESSAGE = 10_000;
const MAX_STACK = 200;
const MAX_CAUSES = 5;

/** Describes whatever was thrown: null, a string, an object whose getters throw. Never throws itself. */
export function describeError(thrown: unknown): Described {
  if (!isError(thrown)) {
    return { class: "NotAnError", message: `${cut(showValue(thrown, MAX_MESSAGE))} was thrown`, stack: [] };
  }
  const stack = stackOf(thrown);
  let cause = read(() => thrown.cause);
  for (let i = 0; i < MAX_CAUSES && isError(cause); i++) {
    stack.push(`Caused by ${nameOf(cause)}: ${messageOf(cause)}`, ...stackOf(cause));
    const error = cause;
    cause = read(() => error.cause);
  }
  return { class: nameOf(thrown), message: messageOf(thrown), stack: stack.slice(0, MAX_STACK) };
}

/** A value for people, in one line of at most `longest` characters. Never throws. */
export function showValue(value: unknown, longest = 100): string {
  const text = read(() => {
    switch (typeof value) {
      case "string":
        return JSON.stringify(value.length > longest ? value.slice(0, longest) : value);
      case "bigint":
        return `${value}n`;
      case "function":
        return value.name === "" ? "a function" : `the function ${value.name}`;
      case "object":
        return showObject(value);
      default:
        return Object.is(value, -0) ? "-0" : String(value);
    }
  }) ?? "an object";
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

function showObject(value: object | null): string {
  if (value === null || Array.isArray(value)) return JSON.stringify(value);
  const name = read(() => value.constructor?.name);
  if (name === undefined || name === "Object" || name === "") return JSON.stringify(value);
  const text = value instanceof Date ? read(() => value.toISOString()) : value instanceof Error ? value.message : "";
  return `${/^[AEIOU]/.test(name) ? "an" : "a"} ${name}${text ? ` "${text}"` : ""}`;
}

function isError(value: unknown): value is Error {
  return read(() => value instanceof Error) ?? false;
}

/** The name; where a class did not set one, the class's. */
function nameOf(error: Error): string {
  const name = read(() => error.name);
  const ofClass = read(() => error.constructor.name);
  const best = name === "Error" || typeof name !== "string" ? ofClass : name;
  return typeof best === "string" && best !== "" ? best.slice(0, 200) : "Error";
}

function messageOf(error: Error): string {
  return cut(read(() => String(error.message)) ?? "(its message cannot be read)");
}

/** The stack without the message, which may itself be of several lines. */
function stackOf(error: Error): string[] {
  const stack = read(() => error.stack);
  if (typeof stack !== "string") return [];
  return stack.split("\n", MAX_STACK * 2).map((line) => line.trim()).filter((line) => line.startsWith("at "));
}

function cut(message: string): string {
  return message.slice(0, MAX_MESSAGE).toWellFormed();
}

/** What it returns; undefined when it throws. */
function read<T>(get: () => T): T | undefined {
  try {
    return get();
  } catch {
    return undefined;
  }
}
