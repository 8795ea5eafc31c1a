/**
 * Errors: of a refused push, those that a handler throws to decide what happens to its job, the reasons with which a job's
 * signal aborts; and the description of any thrown value.
 *
 * @module
 */
import { formatDuration, parseDuration } from "./duration.ts";

/** A job cannot be stored as it is. Nothing was stored. */
export class InvalidPayload extends Error {
  /** The same in every copy of the library, where `instanceof` is not. */
  override readonly name = "InvalidPayload";
  /** The invalid field, as a path: `args[1].user.born`. */
  readonly field: string;
  /** Its value, shortened. */
  readonly value: string;
  /** What would be valid, in words. */
  readonly expected: string;

  /**
   * Creates the error.
   *
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

/** Thrown by a handler: drops the job, without a retry and without a place in the dead set. */
export class Discard extends Error {
  /** The same in every copy of the library, where `instanceof` is not. */
  override readonly name = "Discard";
}

/** Thrown by a handler: moves the job to the dead set, without a retry. */
export class Kill extends Error {
  /** The same in every copy of the library, where `instanceof` is not. */
  override readonly name = "Kill";
}

/**
 * Thrown by a handler: runs the job again later, without counting a failure. Any error with this `name` does the same;
 * its field `delayMs` sets the delay, by default a minute.
 */
export class Snooze extends Error {
  /** The same in every copy of the library, where `instanceof` is not. */
  override readonly name = "Snooze";
  /** Milliseconds until it runs again. */
  readonly delayMs: number;

  /**
   * Creates the error.
   *
   * @param delay seconds, or a duration such as `5m`
   * @throws {RangeError} if it is no duration
   */
  constructor(delay: number | string) {
    const delayMs = parseDuration(String(delay));
    super(`Again in ${formatDuration(delayMs)}`);
    this.delayMs = delayMs;
  }
}

/**
 * The reason with which a job's signal aborts when the worker's shutdown timeout is over. What the handler then returns or
 * throws still counts: a result, `Snooze`, `Discard`, `Kill`. Any other error returns the job to its queue.
 */
export class Shutdown extends Error {
  /** The same in every copy of the library, where `instanceof` is not. */
  override readonly name = "Shutdown";
}

/**
 * The reason with which a job's signal aborts when this worker has lost the job: it was frozen or cut off from the store
 * until its heartbeat lapsed, and another worker has the job. What the handler still does doesn't count.
 */
export class LeaseLost extends Error {
  /** The same in every copy of the library, where `instanceof` is not. */
  override readonly name = "LeaseLost";

  /**
   * Creates the error.
   *
   * @param message why the job is lost
   */
  constructor(message = "This worker's heartbeat lapsed, and the job was rescued: it runs again elsewhere") {
    super(message);
  }
}

/** The failure of a job that ran for longer than its timeout; also the reason with which its signal aborts. */
export class Timeout extends Error {
  /** The same in every copy of the library, where `instanceof` is not. */
  override readonly name = "Timeout";

  /**
   * Creates the error.
   *
   * @param limitMs the job's timeout
   */
  constructor(limitMs: number) {
    super(`Ran for longer than its timeout of ${formatDuration(limitMs)}`);
  }
}

/** The failure of a job that keeps killing its workers. The hook `death` receives it; no handler does. */
export class WorkerDied extends Error {
  /** The same in every copy of the library, where `instanceof` is not. */
  override readonly name = "WorkerDied";

  /**
   * Creates the error.
   *
   * @param times how many workers died while running the job
   * @param ended how the last of them ended, if known: `killed by signal 9 (SIGKILL)`
   */
  constructor(times: number, ended?: string) {
    super(`Worker died ${times} times while running it${ended === undefined ? "" : `: ${ended}`}`);
    // The place where this error is made has nothing to do with the job.
    this.stack = `${this.name}: ${this.message}`;
  }
}

/** The reason with which a job's signal aborts when the job is cancelled. A cancelled job isn't retried. */
export class Cancelled extends Error {
  /** The same in every copy of the library, where `instanceof` is not. */
  override readonly name = "Cancelled";

  /**
   * Creates the error.
   *
   * @param message who cancelled it, or why
   */
  constructor(message = "Cancelled on request") {
    super(message);
  }
}

/** A job's class has no handler in this worker. The job waits for another worker; after a week without one it fails. */
export class HandlerMissing extends Error {
  /** The same in every copy of the library, where `instanceof` is not. */
  override readonly name = "HandlerMissing";

  /**
   * Creates the error.
   *
   * @param className the job's class
   * @param known the classes that have a handler
   */
  constructor(className: string, known: readonly string[]) {
    super(`No handler for class "${className}"; this worker has ${known.length > 0 ? known.join(", ") : "none"}`);
  }
}

/** What a handler decided about its job by throwing. */
export type Verdict =
  | { readonly kind: "discard" }
  | { readonly kind: "kill" }
  | {
    readonly kind: "snooze";
    readonly delayMs: number;
    /** Why the delay is invalid, if the default replaces it. */
    readonly problem?: string;
  };

/** The delay of a `Snooze` without a valid one. */
const DEFAULT_SNOOZE_MS = 60_000;

/**
 * Returns what a thrown value decides about the job; undefined for a plain failure. Errors are told apart by name, not by
 * class: a handler may be bundled with another copy of this library. Never throws.
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
      case "StepFailed": // stays failed
      case "ChildFailed":
        return { kind: "kill" };
      case "Snooze": {
        const delayMs = read(() => (thrown as { delayMs?: unknown }).delayMs);
        if (isDelay(delayMs)) return { kind: "snooze", delayMs };
        const problem = `delayMs is ${showValue(delayMs)}; expected milliseconds`;
        return { kind: "snooze", delayMs: DEFAULT_SNOOZE_MS, problem };
      }
    }
  } catch {
    // A getter that throws decides nothing.
  }
  return undefined;
}

function isDelay(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && Number.isSafeInteger(Math.round(value));
}

/** A description of a thrown value. */
export interface Described {
  /** The error's name; `NotAnError` for anything else that was thrown. */
  readonly class: string;
  /** At most 10,000 characters. */
  readonly message: string;
  /**
   * What led to it, outermost first, a line for each: `caused by TypeError: fetch failed`, and for the members of an
   * `AggregateError` `1 of 3: Error: refused`. At most 10, of at most 500 characters. Empty if the error has neither.
   */
  readonly causes: readonly string[];
  /** The lines of the stack, without the message; then those of its causes, each after the line that names it. */
  readonly stack: readonly string[];
}

/** Sidekiq's limit for messages. */
const MAX_MESSAGE = 10_000;
const MAX_STACK = 200;
const MAX_CAUSES = 10;
const MAX_CAUSE_CHARS = 500;

/** Where an error that crossed the border of a process has the lines of its causes. */
export const CAUSES: unique symbol = Symbol("causes");

/** Describes any thrown value: null, a string, an object whose getters throw. Never throws. */
export function describeError(thrown: unknown): Described {
  if (!isError(thrown)) {
    return { class: "NotAnError", message: `${cut(showValue(thrown, MAX_MESSAGE))} was thrown`, causes: [], stack: [] };
  }
  const stack = stackOf(thrown);
  const causes: string[] = [];
  for (const { line, error } of causesOf(thrown)) {
    if (causes.length === MAX_CAUSES) {
      causes[MAX_CAUSES - 1] = "…";
      break;
    }
    causes.push(line);
    stack.push(line, ...stackOf(error));
  }
  return { class: nameOf(thrown), message: messageOf(thrown), causes, stack: stack.slice(0, MAX_STACK) };
}

/** Yields the causes of an error, depth first: its members, then its cause, each followed by its own. Each error once. */
function* causesOf(error: object, seen = new Set<unknown>([error])): Generator<{ line: string; error: unknown }> {
  const known: unknown = read(() => (error as { [CAUSES]?: unknown })[CAUSES]);
  if (Array.isArray(known)) yield* known.map((line) => ({ line: String(line), error: undefined }));
  const members: unknown = read(() => (error as AggregateError).errors);
  const list = Array.isArray(members) ? members.slice(0, MAX_CAUSES + 1) : [];
  const found: [label: string, cause: unknown][] = list.map((
    member,
    i,
  ) => [`${i + 1} of ${(members as unknown[]).length}:`, member]);
  const cause = read(() => (error as Error).cause);
  if (cause !== undefined) found.push(["caused by", cause]);
  for (const [label, inner] of found) {
    if (seen.has(inner)) continue;
    seen.add(inner);
    const text = isError(inner) ? `${nameOf(inner)}: ${messageOf(inner)}` : showValue(inner, MAX_CAUSE_CHARS);
    yield { line: `${label} ${text}`.slice(0, MAX_CAUSE_CHARS).toWellFormed(), error: inner };
    if (isError(inner)) yield* causesOf(inner, seen);
  }
}

/** Returns a value as one line of at most `longest` characters, for messages. Never throws. */
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

/** Returns the error's name; the class's where it is the default. */
function nameOf(error: Error): string {
  const name = read(() => error.name);
  const ofClass = read(() => error.constructor.name);
  const best = name === "Error" || typeof name !== "string" ? ofClass : name;
  return typeof best === "string" && best !== "" ? best.slice(0, 200) : "Error";
}

function messageOf(error: Error): string {
  return cut(read(() => String(error.message)) ?? "(its message cannot be read)");
}

/** Returns the stack without the message, which may have several lines. */
function stackOf(error: unknown): string[] {
  const stack = read(() => (error as Error).stack);
  if (typeof stack !== "string") return [];
  return stack.split("\n", MAX_STACK * 2).map((line) => line.trim()).filter((line) => line.startsWith("at "));
}

function cut(message: string): string {
  return message.slice(0, MAX_MESSAGE).toWellFormed();
}

/** Returns the value; undefined if reading it throws. */
function read<T>(get: () => T): T | undefined {
  try {
    return get();
  } catch {
    return undefined;
  }
}
