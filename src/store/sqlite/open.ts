/**
 * Opens the embedded store: one SQLite file, for any number of processes on one machine.
 *
 * @module
 */
import type { DatabaseSync } from "node:sqlite";
import { systemClock } from "../../clock.ts";
import type { Store } from "../admin/store.ts";
import type { StoreOptions } from "../open.ts";
import { parseAddress, type SqliteAddress } from "./address.ts";
import { GroupCommit } from "./group_commit.ts";
import { type Context, statementCache } from "./context.ts";
import { openDatabase } from "./database.ts";
import { translate } from "./errors.ts";
import { createWalSignal, watchWal } from "./wal_watcher.ts";
import { BusyRetry } from "./busy_retry.ts";
import { FileGuard } from "./file_guard.ts";
import { sqliteStore } from "./store.ts";
import { Watch } from "./watch.ts";

const DEFAULT_WAIT_MS = 10_000;
const DEFAULT_DEAD_MAX_JOBS = 10_000;
const DEFAULT_DEAD_MAX_AGE_MS = 180 * 24 * 3_600_000;

/**
 * Opens the store in a file. Creates the file if it doesn't exist, unless `create` is false.
 *
 * @throws {StoreError} if the file can't be opened or isn't a store
 */
export async function openSqlite(url: string, options: StoreOptions): Promise<Store> {
  // Tests of handlers open stores in memory in Node, too.
  const address = parseAddress(url, globalThis.Deno?.env.get("HOME"));
  if (address.memory === undefined) return await openAt(url, address, options);
  return await joinMemory(address.memory, () => openAt(url, address, options));
}

async function openAt(url: string, { path, durability }: SqliteAddress, options: StoreOptions): Promise<Store> {
  const busyRetry = new BusyRetry({
    path,
    clock: systemClock,
    waitMs: options.waitMs ?? DEFAULT_WAIT_MS,
    log: options.log,
  });
  const database = await openDatabase(path, {
    durability: durability ?? options.durability ?? "full",
    busyRetry,
    create: options.create ?? true,
  });
  const watch = new Watch(database, (onWrite) => watchWal(path, onWrite), { pollMs: options.pollMs });
  const file = new FileGuard(path, systemClock);
  const signalCommit = createWalSignal(path, systemClock);
  const commit = new GroupCommit(database, {
    path,
    clock: systemClock,
    busyRetry,
    onBegin: () => file.check(),
    onCommit: (wasSynced) => {
      if (wasSynced) signalCommit();
      watch.changed();
    },
  });
  const clock = options.clock ?? systemClock;
  // Random, because a worker may open the store more than once. Short: each lease has it.
  let takes = crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1;
  const context: Context = {
    database,
    sql: statementCache(database),
    commit,
    watch,
    now: () => Math.round(clock.now()),
    newTake: () => ++takes,
    turn: () => systemClock.turn(),
    read: async (run) => {
      try {
        file.check();
        return await busyRetry.try(run);
      } catch (error) {
        throw translate(error, path);
      }
    },
    checkFile: () => file.check(),
    close: () => closeDatabase(database, file),
    wire: options.sidekiqWire ?? 7,
    deadMaxJobs: options.deadMaxJobs ?? DEFAULT_DEAD_MAX_JOBS,
    deadMaxAgeMs: options.deadMaxAgeMs ?? DEFAULT_DEAD_MAX_AGE_MS,
  };
  return sqliteStore(url, context);
}

/** Databases that are never closed, not even by the garbage collector. */
const leftOpen: DatabaseSync[] = [];

/**
 * Closes the database. The last connection that closes merges the log into the file and deletes the log, by its name. If other
 * files are in those places by now, it would delete their log with its commits. The database then stays open until the
 * process exits. `Deno.exit` closes nothing; a program that returns from its main module still closes it.
 */
function closeDatabase(database: DatabaseSync, file: FileGuard): void {
  if (file.isReplaced()) leftOpen.push(database);
  else {
    file.stop();
    database.close();
  }
}

/**
 * A store in memory with a name, and how often it is open: all who open the name in one process share it, until the last of them
 * has closed it. The program's parts, and tests, so pass an address instead of a store.
 */
interface Shared {
  readonly store: Promise<Store>;
  users: number;
}

/** Of this process, as SQLite's own databases in memory are. */
const opened = new Map<string, Shared>();

/**
 * Opens the store of a name, or joins it. The options of the first call hold.
 *
 * @param create opens it, if it isn't open
 */
async function joinMemory(path: string, create: () => Promise<Store>): Promise<Store> {
  const shared = opened.get(path) ?? { store: create(), users: 0 };
  opened.set(path, shared);
  shared.users++;
  let isOpen = true;
  const leave = async () => {
    if (!isOpen) return;
    isOpen = false;
    if (--shared.users > 0) return;
    opened.delete(path);
    await (await shared.store)[Symbol.asyncDispose]();
  };
  try {
    return { ...await shared.store, [Symbol.asyncDispose]: leave };
  } catch (error) {
    shared.users--;
    opened.delete(path);
    throw error;
  }
}
