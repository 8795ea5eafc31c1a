/**
 * Whether the database's file is still the one that was opened. On Unix a file that was deleted or replaced lives on for
 * whoever has it open: what is pushed there is lost, and what others push goes to another file. SQLite does not notice.
 *
 * Only the file's name is looked at. To open it beside SQLite would take away this process's locks on it.
 *
 * @module
 */
import { resolve } from "node:path";
import type { Clock } from "../../clock.ts";
import { StoreError } from "../errors.ts";

/** Looked at most so often: a look takes some microseconds. */
const INTERVAL_MS = 1_000;

/** Looks after one file. */
export class SameFile {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #opened: string | undefined;
  #lookedAt: number;
  #gone: StoreError | undefined;

  /**
   * @param path the file, which has just been opened; nothing is looked at for `:memory:`
   * @param clock says when to look again
   */
  constructor(path: string, clock: Clock) {
    // The working directory may change.
    this.#path = path === ":memory:" ? path : resolve(path);
    this.#clock = clock;
    const opened = path === ":memory:" ? UNKNOWN : identify(this.#path);
    this.#opened = opened === UNKNOWN ? undefined : opened;
    this.#lookedAt = clock.monotonic();
  }

  /**
   * Looks, if the last look was a while ago.
   *
   * @throws {StoreError} `gone`, when there is no such file any more, or another
   */
  check(): void {
    if (this.#opened === undefined) return;
    const now = this.#clock.monotonic();
    if (now - this.#lookedAt >= INTERVAL_MS) {
      this.#lookedAt = now;
      this.#gone = this.#look();
    }
    if (this.#gone) throw this.#gone;
  }

  #look(): StoreError | undefined {
    const found = identify(this.#path);
    if (found === this.#opened || found === UNKNOWN) return undefined;
    const what = found === undefined ? "deleted or moved away" : "replaced by another";
    return new StoreError(
      "gone",
      `The file of store "${this.#path}" was ${what} while it was in use, and nothing more is stored; start this program again to use what is there now`,
    );
  }
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
