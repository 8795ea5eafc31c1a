/**
 * A temporary store for `jobs bench`, on the same disk or server as another store, which it doesn't touch.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { StoreError } from "./port/errors.ts";
import { hidePassword } from "./port/hide_password.ts";

/** An empty store, deleted when disposed. */
export interface Scratch extends AsyncDisposable {
  /** Its address, for `openStore`. */
  readonly url: string;
}

/** Options of a scratch store. */
export interface ScratchOptions {
  /** The only queue that the caller uses. */
  readonly queue: string;
  /** Receives a line at the end if the store can't be left empty. */
  readonly warn: (what: string) => void;
  /** SQLite: creates the folder of the store's file if it doesn't exist. Default true. */
  readonly create?: boolean;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * Creates an empty store next to the one at `url`: a database file in a folder next to its file, or an empty database of its
 * server. The store itself is neither read nor changed.
 *
 * @throws {StoreError} if no place for it exists
 */
export async function openScratch(url: string, options: ScratchOptions): Promise<Scratch> {
  if (url.startsWith("sqlite:")) return await (await import("./sqlite/scratch.ts")).sqliteScratch(url, options);
  if (/^redis(s|\+unix|\+sentinel)?:/.test(url)) {
    return await (await import("./redis/scratch.ts")).redisScratch(url, options);
  }
  throw new StoreError("wrong", `No store at "${hidePassword(url)}": the address must begin with sqlite: or redis:`);
}
