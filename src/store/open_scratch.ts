/**
 * A store for measuring, on the same disk or server as another, which it leaves alone.
 *
 * @module
 */
import { StoreError } from "./errors.ts";
import { hidePassword } from "./open.ts";

/** An empty store, gone when disposed. */
export interface Scratch extends AsyncDisposable {
  /** Its address, for `openStore`. */
  readonly url: string;
}

/**
 * Makes an empty store beside the one at `url`: a database file in a folder beside its file, or an empty database of its
 * server. What is in the store itself is neither read nor changed.
 *
 * @param queue the only queue that will be used there
 * @throws {StoreError} when there is no place for one
 */
export async function openScratch(url: string, queue: string): Promise<Scratch> {
  if (url.startsWith("sqlite:")) return await (await import("./sqlite/scratch.ts")).sqliteScratch(url);
  if (/^redis(s|\+unix|\+sentinel)?:/.test(url)) {
    return await (await import("./redis/scratch.ts")).redisScratch(url, queue);
  }
  throw new StoreError("wrong", `No store at "${hidePassword(url)}": the address must begin with sqlite: or redis:`);
}
