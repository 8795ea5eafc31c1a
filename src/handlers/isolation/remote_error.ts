/**
 * Errors of isolated processes. An error that a handler throws there is thrown here with the same name, message and stack.
 *
 * @module
 */
import { CAUSES, describeError } from "../../job/describe_error.ts";
import { giveMark, markOf } from "../../job/mark.ts";
import { verdictOf } from "../../job/verdict.ts";
import type { ErrorFrame } from "./ipc.ts";

/** An error that was thrown in another process. It has the name and the mark of the original error. */
export class RemoteError extends Error {
  /** The name of the original error. */
  override readonly name: string;
  /** For a `Snooze`: milliseconds until the job runs again. */
  readonly delayMs?: number;

  /** The lines of its causes. The causes themselves stayed in that process. */
  readonly [CAUSES]: readonly string[];

  constructor(frame: ErrorFrame) {
    super(frame.message);
    this.name = frame.class;
    this.stack = [`${frame.class}: ${frame.message}`, ...frame.stack].join("\n");
    this[CAUSES] = frame.causes;
    if (frame.delayMs !== undefined) this.delayMs = frame.delayMs;
    if (frame.mark !== undefined) giveMark(this, frame.mark);
  }
}

/** The process that performed a job ended before the job. The name of the error is the kind of end, for `error_class`. */
export class ProcessLost extends Error {
  /** `Killed:SIGSEGV`, `Exited:3`, `OutOfMemory`. */
  override readonly name: string;

  /** @param how the name of the error */
  constructor(how: string, message: string) {
    super(message);
    this.name = how;
    // The stack of the worker is unrelated to the end of the process.
    this.stack = `${how}: ${message}`;
  }
}

/** Returns a thrown value as a frame. */
export function errorFrame(thrown: unknown): ErrorFrame {
  const verdict = verdictOf(thrown);
  const mark = markOf(thrown);
  return {
    ...describeError(thrown),
    ...(mark !== undefined && { mark }),
    ...(verdict?.kind === "snooze" && verdict.problem === undefined && { delayMs: verdict.delayMs }),
  };
}
