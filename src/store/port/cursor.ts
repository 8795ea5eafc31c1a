/**
 * Cursors of pages, as callers return them.
 *
 * @module
 */

/** An invalid cursor for a list. The message is one line for users. */
export class CursorError extends RangeError {
  /** Identifies the class across module copies. */
  override readonly name = "CursorError";

  /**
   * Creates the error.
   *
   * @param cursor the invalid cursor
   */
  constructor(cursor: string) {
    const shown = JSON.stringify(cursor.length > 60 ? `${cursor.slice(0, 60)}…` : cursor);
    super(`Invalid cursor ${shown}: expected the "next" of the previous page, or none`);
  }
}

/**
 * Returns the number that a cursor is; undefined without a cursor.
 *
 * @throws {CursorError} if it isn't a number
 */
export function numberIn(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined;
  if (!/^\d{1,15}$/.test(cursor)) throw new CursorError(cursor);
  return Number(cursor);
}
