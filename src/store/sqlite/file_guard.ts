/**
 * Whether the database's files are still those that were opened. On Unix a file that was deleted or replaced lives on for
 * whoever has it open: what is pushed there is lost, and what others push goes to another file. SQLite does not notice.
 * That holds for the log (`-wal`) and its index (`-shm`), too: what was committed last is there alone. SQLite makes them
 * before the first reading, and takes them away when the last connection closes, so never while one is open here.
 *
 * Only the files' names are looked at. To open one beside SQLite would take away this process's locks on it.
 *
 * @module
 */
import { resolve } from "node:path";
import type { Clock } from "../../clock.ts";
import { StoreError } from "../port/errors.ts";

/** Looked at most so often: a look takes some microseconds. */
const INTERVAL_MS = 1_000;

/** What SQLite keeps beside the file while it is open. */
const BESIDE = ["-wal", "-shm"];

interface Watched {
  readonly path: string;
  readonly opened: string;
  readonly what: string;
}

/** Looks after one database. */
export class FileGuard {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #files: readonly Watched[];
  #lookedAt: number;
  #gone: StoreError | undefined;

  /**
   * @param path the file, which has just been opened and read; nothing is looked at for `:memory:`
   * @param clock says when to look again
   */
  constructor(path: string, clock: Clock) {
    // The working directory may change.
    this.#path = path === ":memory:" ? path : resolve(path);
    this.#clock = clock;
    this.#files = path === ":memory:" ? [] : filesOf(this.#path);
    this.#lookedAt = clock.monotonic();
  }

  /**
   * Looks, if the last look was a while ago.
   *
   * @throws {StoreError} `gone`, when there is no such file any more, or another
   */
  check(): void {
    if (this.#files.length === 0) return;
    const now = this.#clock.monotonic();
    if (now - this.#lookedAt >= INTERVAL_MS) {
      this.#lookedAt = now;
      this.#gone = this.#look();
    }
    if (this.#gone) throw this.#gone;
  }

  /** Whether another file has the place of one of them now. */
  isReplaced(): boolean {
    return this.#files.some(({ path, opened }) => ![opened, undefined, UNKNOWN].includes(identify(path)));
  }

  #look(): StoreError | undefined {
    for (const { path, opened, what } of this.#files) {
      const found = identify(path);
      if (found === opened || found === UNKNOWN) continue;
      const became = found === undefined ? "deleted or moved away" : "replaced by another";
      return new StoreError(
        "gone",
        `The ${what} of store "${this.#path}" was ${became} while it was in use, and nothing more is stored; start this program again to use what is there now`,
      );
    }
    return undefined;
  }
}

/** The files of a database that can be looked at. Those beside it are where a link leads to. */
function filesOf(path: string): Watched[] {
  const files = [{ path, what: "file" }];
  try {
    const real = Deno.realPathSync(path);
    for (const end of BESIDE) files.push({ path: `${real}${end}`, what: `file ${end}` });
  } catch {
    // Then the file itself cannot be looked at either.
  }
  return files.flatMap((file) => {
    const opened = identify(file.path);
    return opened === undefined || opened === UNKNOWN ? [] : [{ ...file, opened }];
  });
}

/** A file that cannot be looked at: no reason to think that it is another. */
const UNKNOWN = "unknown";

/** Tells files apart; undefined when there is none. */
function identify(path: string): string | undefined {
  try {
    const { dev, ino } = Deno.statSync(path);
    return `${dev}:${ino}`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    return UNKNOWN;
  }
}
