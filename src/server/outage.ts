/**
 * An outage of the store, as the parts of a server tell of it: once, and not each for itself. Redis that cannot be reached
 * is told by its connection; of any other passing failure (a locked file, a full disk) the first part that meets it tells.
 * The others say it at debug, and each says that it works again at the level at which it said that it does not.
 *
 * @module
 */
import type { LogLevel } from "../log.ts";
import { StoreError } from "../store/errors.ts";

/** Knows which parts the store fails now. */
export class Outage {
  readonly #failing = new Map<string, LogLevel>();
  readonly #storeTells: boolean;

  /** @param storeUrl where the store is; absent: it tells nothing itself */
  constructor(storeUrl = "") {
    this.#storeTells = /^rediss?\b/.test(storeUrl);
  }

  /** Whether a part has met it. */
  get isMet(): boolean {
    return this.#failing.size > 0;
  }

  /** Whether this part has. */
  has(part: string): boolean {
    return this.#failing.has(part);
  }

  /** A part has met a failure: how loud it says so. One that does not pass by itself is everybody's to say. */
  met(part: string, error: unknown): LogLevel {
    const passes = error instanceof StoreError && error.transient;
    const isTold = passes && (this.isMet || this.#storeTells && error.code === "unavailable");
    const level = isTold ? "debug" : "warn";
    this.#failing.set(part, level);
    return level;
  }

  /** A part works: how loud it says so; undefined where it has said nothing before. */
  over(part: string): LogLevel | undefined {
    const level = this.#failing.get(part);
    this.#failing.delete(part);
    return level;
  }
}
