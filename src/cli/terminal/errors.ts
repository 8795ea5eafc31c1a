/**
 * Errors of commands, and what a command exits with and prints for each.
 *
 * @module
 */

import { type RefusalKind, Refused } from "../../operator/actions/action.ts";

/** The command line is wrong. The message is one line; the exit code is 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A job, queue, worker or cron entry named on the command line doesn't exist. The exit code is 1. */
export class NotFoundError extends Error {
  override readonly name = "NotFoundError";
}

/** The operator declined, or a precondition isn't met. The exit code is 1. */
export class CommandFailed extends Error {
  override readonly name = "CommandFailed";
  /** For programs: `declined`, `no_reply`. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The user interrupted the command before its end. The message states how far it got; the exit code is 130. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** An error for programs: a stable code and the line for people. */
export interface ErrorInfo {
  readonly code: string;
  readonly message: string;
}

/** Error class → code for programs, and exit code. */
const KNOWN: Readonly<Record<string, readonly [code: string, exit: number]>> = {
  UsageError: ["usage", 2],
  InvalidInput: ["usage", 2],
  ConfigError: ["configuration", 2],
  CrontabError: ["cron", 2],
  CursorError: ["cursor", 2],
  InvalidPayload: ["invalid_job", 2],
  BatchError: ["batch", 1],
  NotFoundError: ["not_found", 1],
  CommandFailed: ["failed", 1],
  HandlerError: ["handlers", 1],
  ModeError: ["execution_modes", 2],
  SpawnError: ["spawn", 1],
  NameTaken: ["name_taken", 1],
  PidfileError: ["pid_file", 1],
  LogError: ["log", 1],
  StoreError: ["store", 1],
  MigrateError: ["migrate", 1],
  OutputFailed: ["output", 1],
  Interrupted: ["interrupted", 130],
};

/** The error class that a refused action is as, unless a part below has refused it. */
const REFUSED: Readonly<Record<RefusalKind, string>> = {
  invalid: "UsageError",
  forbidden: "CommandFailed",
  conflict: "UsageError",
  missing: "NotFoundError",
  unavailable: "CommandFailed",
};

/** Returns what a command prints and exits with for an error; undefined for a bug in the program. */
export function describeError(error: unknown): (ErrorInfo & { readonly exit: number }) | undefined {
  if (error instanceof Refused) {
    const [code, exit] = KNOWN[REFUSED[error.kind]]!;
    return { code, exit, ...describeError(error.cause), message: error.message };
  }
  if (!(error instanceof Error) || !Object.hasOwn(KNOWN, error.name)) return undefined;
  const [code, exit] = KNOWN[error.name]!;
  return { code: error instanceof CommandFailed ? error.code : code, message: error.message, exit };
}
