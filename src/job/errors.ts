/**
 * What pushing refuses with, what handlers may throw to say how a job goes on, and what a handler's signal aborts with.
 *
 * @module
 */
import { parseDuration } from "./duration.ts";

/** A job was refused: it cannot be stored as it is. Nothing was stored. */
export class InvalidPayload extends Error {
  override readonly name = "InvalidPayload";
  /** The field, as a path: `args[1].born`. */
  readonly field: string;

  /** @param wanted what would be right */
  constructor(field: string, value: unknown, wanted: string) {
    super(`${field} is ${show(value)}; wanted: ${wanted}`);
    this.field = field;
  }
}

/** Thrown by a handler: the job failed and is dropped, without a retry. */
export class Discard extends Error {
  override readonly name = "Discard";
}

/** Thrown by a handler: the job failed for good and goes to `dead`, without a retry. */
export class Kill extends Error {
  override readonly name = "Kill";
}

/** Thrown by a handler: the job has not failed, but is to run again later. It uses no retry. */
export class Snooze extends Error {
  override readonly name = "Snooze";
  /** Milliseconds until it runs again. */
  readonly delayMs: number;

  /**
   * @param delay seconds, or a duration such as `5m`
   * @throws {RangeError} when it is no duration
   */
  constructor(delay: number | string) {
    super(`Again in ${typeof delay === "number" ? `${delay}s` : delay}`);
    this.delayMs = parseDuration(String(delay));
  }
}

/** What a job's signal aborts with when the server stops. */
export class Shutdown extends Error {
  override readonly name = "Shutdown";
}

/** The failure of a job whose class no loaded handler performs. */
export class HandlerMissing extends Error {
  override readonly name = "HandlerMissing";

  /** @param known the classes that have a handler */
  constructor(className: string, known: readonly string[]) {
    super(`No handler for class "${className}"; this process knows ${known.length > 0 ? known.join(", ") : "none"}`);
  }
}

/** What is known of a thrown value. */
export interface Described {
  readonly class: string;
  readonly message: string;
  readonly stack: readonly string[];
}

/** Describes whatever was thrown. Never throws itself, though getters of the value may. */
export function describeError(thrown: unknown): Described {
  try {
    if (thrown instanceof Error) {
      const stack = typeof thrown.stack === "string"
        ? thrown.stack.split("\n").slice(1).map((line) => line.trim())
        : [];
      return { class: String(thrown.name || thrown.constructor.name), message: String(thrown.message), stack };
    }
    return {
      class: "NotAnError",
      message: `${typeof thrown === "string" ? thrown : show(thrown)} was thrown`,
      stack: [],
    };
  } catch {
    return { class: "NotAnError", message: "A value that cannot be shown was thrown", stack: [] };
  }
}

function show(value: unknown): string {
  let text: string | undefined;
  try {
    text = typeof value === "bigint" ? `${value}n` : typeof value === "object" ? JSON.stringify(value) : undefined;
    text ??= typeof value === "string" ? JSON.stringify(value) : String(value);
  } catch {
    text = Object.prototype.toString.call(value);
  }
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
