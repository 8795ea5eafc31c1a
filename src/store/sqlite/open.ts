/**
 * The embedded store: one SQLite file, for any number of processes on one machine.
 *
 * @module
 */
import type { DatabaseSync } from "node:sqlite";
import { systemClock } from "../../clock.ts";
import type { Store } from "../admin/store.ts";
import type { StoreOptions } from "../open.ts";
import { parseAddress } from "./address.ts";
import { GroupCommit } from "./group_commit.ts";
import { type Context, statementCache } from "./context.ts";
import { openDatabase } from "./database.ts";
import { translate } from "./errors.ts";
import { watchWal } from "./wal_watcher.ts";
import { BusyRetry } from "./busy_retry.ts";
import { FileGuard } from "./file_guard.ts";
import { sqliteStore } from "./store.ts";
import { Watch } from "./watch.ts";

const DEFAULT_WAIT_MS = 10_000;
const DEFAULT_DEAD_MAX_JOBS = 10_000;
const DEFAULT_DEAD_MAX_AGE_MS = 180 * 24 * 3_600_000;

/**
 * Opens the store in a file, and makes it where there is none, unless `create` is false.
 *
 * @throws {StoreError} when it cannot be opened, or is not ours
 */
export async function openSqlite(url: string, options: StoreOptions): Promise<Store> {
  const { path, durability } = parseAddress(url, Deno.env.get("HOME"));
  const patience = new BusyRetry({
    path,
    clock: systemClock,
    waitMs: options.waitMs ?? DEFAULT_WAIT_MS,
    log: options.log,
  });
  const database = await openDatabase(path, {
    durability: durability ?? options.durability ?? "full",
    patience,
    create: options.create ?? true,
  });
  const watch = new Watch(database, (onWrite) => watchWal(path, onWrite));
  const file = new FileGuard(path, systemClock);
  const commit = new GroupCommit(database, {
    path,
    clock: systemClock,
    patience,
    onBegin: () => file.check(),
    onCommit: () => watch.changed(),
  });
  const clock = options.clock ?? systemClock;
  const nonce = crypto.randomUUID().slice(-12);
  let takes = 0;
  const context: Context = {
    database,
    sql: statementCache(database),
    commit,
    watch,
    now: () => Math.round(clock.now()),
    newTakeName: () => `${nonce}-${++takes}`,
    turn: () => systemClock.turn(),
    read: async (run) => {
      try {
        file.check();
        return await patience.try(run);
      } catch (error) {
        throw translate(error, path);
      }
    },
    close: () => closeDatabase(database, file),
    wire: options.sidekiqWire ?? 7,
    deadMaxJobs: options.deadMaxJobs ?? DEFAULT_DEAD_MAX_JOBS,
    deadMaxAgeMs: options.deadMaxAgeMs ?? DEFAULT_DEAD_MAX_AGE_MS,
  };
  return sqliteStore(url, context);
}

/** Nobody closes these: not even the garbage collector. */
const leftOpen: DatabaseSync[] = [];

/**
 * Closes the database. The last one to do so brings the log into the file and deletes the log, by its name: when others
 * have files of their own in those places now, that would be theirs, with what they have stored. Then it stays open for
 * as long as the process lives: Deno.exit closes nothing, but a program that just comes to its end closes it after all.
 */
function closeDatabase(database: DatabaseSync, file: FileGuard): void {
  if (file.isReplaced()) leftOpen.push(database);
  else database.close();
}
