/**
 * The embedded store: one SQLite file, for any number of processes on one machine.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import type { OpenStore, StoreOptions } from "../open.ts";
import { parseAddress } from "./address.ts";
import { Committer } from "./commit.ts";
import { type Context, statementCache } from "./context.ts";
import { openDatabase } from "./database.ts";
import { translate } from "./errors.ts";
import { Patience } from "./patience.ts";
import { SameFile } from "./same_file.ts";
import { SqliteStore } from "./store.ts";
import { Watch } from "./watch.ts";

const DEFAULT_WAIT_MS = 10_000;
const DEFAULT_DEAD_MAX_JOBS = 10_000;
const DEFAULT_DEAD_MAX_AGE_MS = 180 * 24 * 3_600_000;

/**
 * Opens the store in a file, and makes it where there is none.
 *
 * @throws {StoreError} when it cannot be opened, or is not ours
 */
export async function openSqlite(url: string, options: StoreOptions): Promise<OpenStore> {
  const { path, durability } = parseAddress(url, Deno.env.get("HOME"));
  const patience = new Patience({
    path,
    clock: systemClock,
    waitMs: options.waitMs ?? DEFAULT_WAIT_MS,
    log: options.log,
  });
  const database = await openDatabase(path, durability ?? options.durability ?? "full", patience);
  const watch = new Watch(database);
  const file = new SameFile(path, systemClock);
  const commit = new Committer(database, {
    path,
    clock: systemClock,
    patience,
    onBegin: () => file.check(),
    onCommit: () => watch.changed(),
  });
  const clock = options.clock ?? systemClock;
  const context: Context = {
    database,
    sql: statementCache(database),
    commit,
    watch,
    now: () => Math.round(clock.now()),
    turn: () => systemClock.turn(),
    read: async (run) => {
      try {
        file.check();
        return await patience.try(run);
      } catch (error) {
        throw translate(error, path);
      }
    },
    wire: options.sidekiqWire ?? 7,
    deadMaxJobs: options.deadMaxJobs ?? DEFAULT_DEAD_MAX_JOBS,
    deadMaxAgeMs: options.deadMaxAgeMs ?? DEFAULT_DEAD_MAX_AGE_MS,
  };
  return new SqliteStore(url, context);
}
