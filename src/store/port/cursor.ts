/**
 * Cursors of pages, as they come back from outside.
 *
 * @module
 */

/** A page was asked for by what is no cursor of that list. The message is one line for people. */
export class CursorError extends RangeError {
  /** Told apart by name. */
  override readonly name = "CursorError";

  /**
   * The refusal of a cursor.
   *
   * @param cursor what was given
   */
  constructor(cursor: string) {
    const shown = JSON.stringify(cursor.length > 60 ? `${cursor.slice(0, 60)}…` : cursor);
    super(`Cursor ${shown} is none of this list; wanted: what the page before it gave as "next", or none`);
  }
}

/**
 * The number that a cursor is, where it is the last one's; undefined when there is none.
 *
 * @throws {CursorError} when it is no number
 */
export function numberIn(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined;
  if (!/^\d{1,15}$/.test(cursor)) throw new CursorError(cursor);
  return Number(cursor);
}
