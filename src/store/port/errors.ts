/**
 * The errors of a store: one class, with a code for programs and a message for users: the problem, the place, the remedy.
 *
 * @module
 */

/** Why a verb failed. */
export type StoreErrorCode =
  /** The store is unreachable now. */
  | "unavailable"
  /** Another program has locked the store for longer than `waitMs`. */
  | "locked"
  /** Another transaction holds what this call would change. Other calls succeed. */
  | "held"
  /** The disk or the memory is full. */
  | "full"
  /** Access is denied: file permissions, a wrong password. */
  | "denied"
  /** It isn't a store: not a database, a wrong type of key, an unsupported mode. */
  | "wrong"
  /** One job, or the jobs of one call, are too large for the store. */
  | "large"
  /** The store's file was deleted or replaced: programs that open it now get another. */
  | "gone"
  /** The store doesn't exist, and the caller didn't ask to create it. */
  | "missing"
  /** The store is damaged. */
  | "corrupt"
  /** A newer version of this program created the store. */
  | "newer";

/**
 * A verb of the store failed.
 *
 * @example
 * ```ts
 * import { openStore, StoreError } from "@jobs/jobs";
 *
 * await openStore("sqlite:/dev/null/jobs.db").catch((error) => {
 *   if (!(error instanceof StoreError)) throw error;
 *   console.error(error.transient ? "try again later" : error.message);
 * });
 * ```
 */
export class StoreError extends Error {
  /** Identifies the class across module copies. */
  override readonly name = "StoreError";
  /** The cause. */
  readonly code: StoreErrorCode;

  /**
   * Creates an error.
   *
   * @param code the cause
   * @param message one line: the problem, the place, the remedy
   * @param options the underlying error
   */
  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Whether a later attempt may succeed without a change by an operator. */
  get transient(): boolean {
    return this.code === "unavailable" || this.code === "locked" || this.code === "held" || this.code === "full";
  }
}

/** Returns whether another transaction holds what a call would have changed. */
export function isHeld(error: unknown): error is StoreError {
  return error instanceof StoreError && error.code === "held";
}

/** Returns whether the store's file was deleted or replaced: the program must be restarted. */
export function isGone(error: unknown): error is StoreError {
  return error instanceof StoreError && error.code === "gone";
}
