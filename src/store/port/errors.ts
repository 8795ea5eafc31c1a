/**
 * What a store can fail with. One class, with a code that programs may test and a message for people: what is wrong,
 * where, and what to do.
 *
 * @module
 */

/** Why a store could not do what was asked. */
export type StoreErrorCode =
  /** It cannot be reached now; later it may. */
  | "unavailable"
  /** Another program holds it locked, longer than we wait. */
  | "locked"
  /** No room: disk or memory. */
  | "full"
  /** It refuses us: file permissions, a wrong password. */
  | "denied"
  /** It is something else: not a database, a wrong type of key, a mode we do not work with. */
  | "wrong"
  /** One job, or what one call stores, is larger than the store takes. */
  | "large"
  /** It is no longer where it was opened; programs that open it now get another. */
  | "gone"
  /** There is none there, and none was to be made. */
  | "missing"
  /** It is damaged. */
  | "corrupt"
  /** Made by a newer version of this program. */
  | "newer";

/** The store could not do it. */
export class StoreError extends Error {
  /** Told apart by name. */
  override readonly name = "StoreError";
  /** Why. */
  readonly code: StoreErrorCode;

  /**
   * A failure of a store.
   *
   * @param code why
   * @param message what is wrong, where, and what to do; one line
   * @param options the error behind it
   */
  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Whether trying again later can help without anyone doing anything. */
  get transient(): boolean {
    return this.code === "unavailable" || this.code === "locked" || this.code === "full";
  }
}

/** Whether the store is no longer what was opened: whoever has it open can only start anew. */
export function isGone(error: unknown): error is StoreError {
  return error instanceof StoreError && error.code === "gone";
}
