/**
 * Converts SQLite's result codes to {@linkcode StoreError}, with the remedy.
 *
 * @module
 */
import { StoreError } from "../port/errors.ts";

/** Primary result codes, from https://www.sqlite.org/rescode.html */
const BUSY = 5;
const LOCKED = 6;
const FULL = 13;

/** Returns whether another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error);
  return code === BUSY || code === LOCKED;
}

/** Extended codes of writes that failed: to write, sync, truncate, sync the folder. */
const WRITE_FAILURES = [778, 1034, 1546, 1290];

/** Returns whether a file couldn't be written: no space, or a failure of the disk. */
export function isWriteFailure(error: unknown): boolean {
  return primaryCode(error) === FULL || WRITE_FAILURES.includes((error as { errcode?: number } | null)?.errcode ?? 0);
}

/** Converts an error of SQLite to a {@linkcode StoreError}. Other errors stay unchanged. */
export function translate(error: unknown, path: string): unknown {
  if (error instanceof StoreError) return error;
  if ((error as { code?: unknown } | null)?.code === "ERR_INVALID_STATE") {
    return new StoreError("unavailable", `Store "${path}" has been closed`, { cause: error });
  }
  const code = primaryCode(error);
  if (code === undefined) return error;
  const reply = (error as Error).message;
  const because = { cause: error };
  switch (code) {
    case BUSY:
    case LOCKED:
      return new StoreError(
        "locked",
        `Store "${path}" is locked by another program; end that program, or wait for its end`,
        because,
      );
    case FULL:
      return new StoreError(
        "full",
        `No space for store "${path}" (${reply}); nothing was stored: free some space`,
        because,
      );
    case 3: // SQLITE_PERM
    case 8: // SQLITE_READONLY
    case 14: // SQLITE_CANTOPEN
    case 23: // SQLITE_AUTH
      return new StoreError(
        "denied",
        `Store "${path}" cannot be opened or written (${reply}); give this user read and write permission on the file and its folder`,
        because,
      );
    case 11: // SQLITE_CORRUPT
      return new StoreError(
        "corrupt",
        `Store "${path}" is damaged (${reply}); stop everything that uses it, and restore it from a copy or recover it with: sqlite3 FILE .recover`,
        because,
      );
    case 18: // SQLITE_TOOBIG
      return new StoreError("large", `Job too large for store "${path}": a payload takes at most 1 GB`, because);
    case 26: // SQLITE_NOTADB
      return new StoreError("wrong", `"${path}" is not an SQLite database; use another file`, because);
    default: // input and output errors among them
      return new StoreError("unavailable", `Store "${path}" is not available: ${reply}`, because);
  }
}

/** SQLite's texts of codes without a statement: `exec` and opening a file throw the text alone. */
const TEXTS: Readonly<Record<string, number>> = {
  "database is locked": BUSY,
  "database table is locked": LOCKED,
  "attempt to write a readonly database": 8,
  "disk I/O error": 10,
  "database disk image is malformed": 11,
  "database or disk is full": FULL,
  "unable to open database file": 14,
  "file is not a database": 26,
};

function primaryCode(error: unknown): number | undefined {
  const { code, errcode, message } = (error ?? {}) as { code?: unknown; errcode?: unknown; message?: unknown };
  if (typeof errcode === "number") return errcode & 0xff;
  if (code !== "ERR_SQLITE_ERROR") return undefined;
  // Some texts continue with the file's name.
  return Object.entries(TEXTS).find(([text]) => String(message).startsWith(text))?.[1];
}
