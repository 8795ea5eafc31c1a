/**
 * Errors that cross the border of a process: what was thrown there is thrown here, with its name, message and stack.
 *
 * @module
 */
import { CAUSES, describeError } from "../../job/describe_error.ts";
import { verdictOf } from "../../job/errors.ts";
import type { ErrorFrame } from "./ipc.ts";

/** An error that was thrown in another process. Its name is that of the error there. */
export class RemoteError extends Error {
  /** The name of the error there. */
  override readonly name: string;
  /** Of a `Snooze`: milliseconds until the job runs again. */
  readonly delayMs?: number;

  /** The lines of its causes, which stayed in that process. */
  readonly [CAUSES]: readonly string[];

  /** The error of a frame. */
  constructor(frame: ErrorFrame) {
    super(frame.message);
    this.name = frame.class;
    this.stack = [`${frame.class}: ${frame.message}`, ...frame.stack].join("\n");
    this[CAUSES] = frame.causes;
    if (frame.delayMs !== undefined) this.delayMs = frame.delayMs;
  }
}

/** The process that performed a job ended before the job did. Its name says how, for `error_class`. */
export class ProcessLost extends Error {
  /** `Killed:SIGSEGV`, `Exited:3`, `OutOfMemory`. */
  override readonly name: string;

  /** @param how becomes the name */
  constructor(how: string, message: string) {
    super(message);
    this.name = how;
    // Where we noticed it says nothing about where it happened.
    this.stack = `${how}: ${message}`;
  }
}

/** What was thrown, to be sent. */
export function errorFrame(thrown: unknown): ErrorFrame {
  const verdict = verdictOf(thrown);
  return {
    ...describeError(thrown),
    ...(verdict?.kind === "snooze" && verdict.problem === undefined && { delayMs: verdict.delayMs }),
  };
}
