/**
 * A store for measuring, on the same disk or server as another, which it leaves alone.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { StoreError } from "./port/errors.ts";
import { hidePassword } from "./open.ts";

/** An empty store, gone when disposed. */
export interface Scratch extends AsyncDisposable {
  /** Its address, for `openStore`. */
  readonly url: string;
}

/** How it is used. */
export interface ScratchOptions {
  /** The only queue that will be used there. */
  readonly queue: string;
  /** Told at the end, in a line, where it cannot be left as it was found. */
  readonly say: (what: string) => void;
  /** SQLite: whether to make the folder of the store's file where there is none; default true. */
  readonly create?: boolean;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * Makes an empty store beside the one at `url`: a database file in a folder beside its file, or an empty database of its
 * server. What is in the store itself is neither read nor changed.
 *
 * @throws {StoreError} when there is no place for one
 */
export async function openScratch(url: string, options: ScratchOptions): Promise<Scratch> {
  if (url.startsWith("sqlite:")) return await (await import("./sqlite/scratch.ts")).sqliteScratch(url, options);
  if (/^redis(s|\+unix|\+sentinel)?:/.test(url)) {
    return await (await import("./redis/scratch.ts")).redisScratch(url, options);
  }
  throw new StoreError("wrong", `No store at "${hidePassword(url)}": the address must begin with sqlite: or redis:`);
}
