/**
 * Stores in memory that have a name: all who open the same name in one process share one store, until the last of them has
 * closed it. The program's parts, and tests, so pass an address instead of a store.
 *
 * @module
 */
import type { Store } from "../admin/store.ts";

/** An open store, and how often it is open. */
interface Shared {
  readonly store: Promise<Store>;
  users: number;
}

/** Of this process, as SQLite's own databases in memory are. */
const open = new Map<string, Shared>();

/**
 * Opens the store of a name, or joins it. The options of the first call hold.
 *
 * @param create opens it, if it isn't open
 */
export async function joinMemory(path: string, create: () => Promise<Store>): Promise<Store> {
  const shared = open.get(path) ?? { store: create(), users: 0 };
  open.set(path, shared);
  shared.users++;
  let isOpen = true;
  const leave = async () => {
    if (!isOpen) return;
    isOpen = false;
    if (--shared.users > 0) return;
    open.delete(path);
    await (await shared.store)[Symbol.asyncDispose]();
  };
  try {
    return { ...await shared.store, [Symbol.asyncDispose]: leave };
  } catch (error) {
    shared.users--;
    open.delete(path);
    throw error;
  }
}
