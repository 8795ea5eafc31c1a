/**
 * Checks that the database's files are still those that were opened. On Unix, a deleted or replaced file still exists for the
 * processes that have it open: jobs pushed there are lost, and other processes use another file. SQLite doesn't notice. The
 * same holds for the log (`-wal`) and its index (`-shm`), which alone have the last commits. SQLite creates both before the
 * first read, and removes them when the last connection closes: never while this process has one open.
 *
 * Only the files' names are checked. Opening one and closing it would release this process's locks on it.
 *
 * @module
 */
import { resolve } from "node:path";
import type { Clock } from "../../clock.ts";
import { StoreError } from "../port/errors.ts";

/** Shortest time between two checks. A check takes some microseconds. */
const CHECK_INTERVAL_MS = 1_000;

/** The suffixes of the files that SQLite keeps next to an open database. */
const SUFFIXES = ["-wal", "-shm"];

interface Watched {
  readonly path: string;
  readonly opened: string;
  readonly what: string;
}

/** Checks the files of one database. */
export class FileGuard {
  readonly #path: string;
  readonly #clock: Clock;
  #files: readonly Watched[];
  #checkedAt: number;
  #gone: StoreError | undefined;

  /**
   * @param path the file, which has just been opened and read; `:memory:` is never checked
   * @param clock for the time between two checks
   */
  constructor(path: string, clock: Clock) {
    // The working directory may change.
    this.#path = path === ":memory:" ? path : resolve(path);
    this.#clock = clock;
    this.#files = path === ":memory:" ? [] : filesOf(this.#path);
    this.#checkedAt = clock.monotonic();
  }

  /**
   * Checks the files if the last check was a while ago.
   *
   * @throws {StoreError} `gone` if a file was deleted, moved or replaced
   */
  check(): void {
    if (this.#files.length === 0) return;
    const now = this.#clock.monotonic();
    if (now - this.#checkedAt >= CHECK_INTERVAL_MS) {
      this.#checkedAt = now;
      this.#gone = this.#findProblem();
    }
    if (this.#gone) throw this.#gone;
  }

  /** Ends the checks: the database is closed, which deletes its log. */
  stop(): void {
    this.#files = [];
  }

  /** Returns whether another file is now in the place of one of them. */
  isReplaced(): boolean {
    return this.#files.some(({ path, opened }) => ![opened, undefined, UNKNOWN].includes(identify(path)));
  }

  #findProblem(): StoreError | undefined {
    for (const { path, opened, what } of this.#files) {
      const found = identify(path);
      if (found === opened || found === UNKNOWN) continue;
      const became = found === undefined ? "deleted or moved away" : "replaced by another";
      return new StoreError(
        "gone",
        `The ${what} of store "${this.#path}" was ${became} while it was in use, and nothing more is stored; restart this program to use the current file`,
      );
    }
    return undefined;
  }
}

/** Returns the files of a database that can be checked. The log and its index are next to the target of a symbolic link. */
function filesOf(path: string): Watched[] {
  const files = [{ path, what: "file" }];
  try {
    const real = Deno.realPathSync(path);
    for (const end of SUFFIXES) files.push({ path: `${real}${end}`, what: `file ${end}` });
  } catch {
    // Then the file itself can't be checked either.
  }
  return files.flatMap((file) => {
    const opened = identify(file.path);
    return opened === undefined || opened === UNKNOWN ? [] : [{ ...file, opened }];
  });
}

/** The identity of a file that can't be checked. It doesn't count as another file. */
const UNKNOWN = "unknown";

/** Returns the identity of a file; undefined if it doesn't exist. */
function identify(path: string): string | undefined {
  try {
    const { dev, ino } = Deno.statSync(path);
    return `${dev}:${ino}`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    return UNKNOWN;
  }
}
