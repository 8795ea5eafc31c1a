/**
 * The database file: opened, checked to be ours, brought to the present schema, and private to its user.
 *
 * @module
 */
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "../port/errors.ts";
import { translate } from "./errors.ts";
import type { BusyRetry } from "./busy_retry.ts";
import schema1 from "./schema/1.sql" with { type: "text" };
import schema2 from "./schema/2.sql" with { type: "text" };
import schema3 from "./schema/3.sql" with { type: "text" };
import schema4 from "./schema/4.sql" with { type: "text" };
import schema5 from "./schema/5.sql" with { type: "text" };
import schema6 from "./schema/6.sql" with { type: "text" };
import schema7 from "./schema/7.sql" with { type: "text" };
import schema8 from "./schema/8.sql" with { type: "text" };
import schema9 from "./schema/9.sql" with { type: "text" };
import schema10 from "./schema/10.sql" with { type: "text" };
import schema11 from "./schema/11.sql" with { type: "text" };
import schema12 from "./schema/12.sql" with { type: "text" };
import schema13 from "./schema/13.sql" with { type: "text" };
import schema14 from "./schema/14.sql" with { type: "text" };
import schema15 from "./schema/15.sql" with { type: "text" };
import schema16 from "./schema/16.sql" with { type: "text" };
import schema17 from "./schema/17.sql" with { type: "text" };

/** Marks a database as ours: "JOBS". */
const APPLICATION_ID = 0x4a4f4253;
/** Migrations in order; the file's `user_version` says how many it has had. */
const MIGRATIONS: readonly string[] = [
  schema1,
  schema2,
  schema3,
  schema4,
  schema5,
  schema6,
  schema7,
  schema8,
  schema9,
  schema10,
  schema11,
  schema12,
  schema13,
  schema14,
  schema15,
  schema16,
  schema17,
];
/** SQLite's pages have at least so many bytes, and a database has at least one. */
const MIN_PAGE = 512;
/**
 * Measured on batches of 100 and 1,000 jobs: with the default of 1,000 pages before a checkpoint a tenth slower, with more
 * than 4,000 (16 MB) no faster. A log that a long reader made large is cut again.
 */
const TUNING = `
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA cache_size = -8000;
  PRAGMA temp_store = MEMORY;
`;

/** How to open the file. */
export interface OpenOptions {
  readonly durability: "full" | "normal";
  readonly patience: BusyRetry;
  /** Whether to make the file, and its folder, where there is none. */
  readonly create: boolean;
}

/**
 * Opens the file.
 *
 * @throws {StoreError} `missing` when there is none and it is not to be made; others as it is
 */
export async function openDatabase(
  path: string,
  { durability, patience, create }: OpenOptions,
): Promise<DatabaseSync> {
  try {
    if (path !== ":memory:") await prepareFile(path, create);
    // A wait for a lock must not block the event loop: SQLite does not wait, we do.
    const database = new DatabaseSync(path, { timeout: 0 });
    try {
      await patience.try(() => prepareDatabase(database, path, durability));
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    throw translate(error, path);
  }
}

/**
 * Makes the file where there is none. One that is there is never opened here: whoever closes it beside SQLite takes away
 * all locks that this process has on it, also those of its other threads. The next process that closes the store would
 * take itself for the last one, and delete the log that is still written to.
 */
async function prepareFile(path: string, create: boolean): Promise<void> {
  try {
    if (create) await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    if (await isThere(path)) return;
    if (create) return await createFile(path);
    throw new StoreError(
      "missing",
      `There is no store at "${
        resolve(path)
      }"; give the address of one that is there, or have jobs run or jobs push make it`,
    );
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(
      "denied",
      `Store "${path}" cannot be opened (${
        (error as Error).message
      }); name another place with --store sqlite:PATH (in a container, a volume), or give this user permission there`,
      { cause: error },
    );
  }
}

/** SQLite gives the files beside it the same mode. */
async function createFile(path: string): Promise<void> {
  try {
    using _file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error; // another process may have been first
  }
}

/** Whether there is a file that may be a database: empty, or not too short. SQLite would take a short one for empty. */
async function isThere(path: string): Promise<boolean> {
  let info: Deno.FileInfo;
  try {
    info = await Deno.stat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
  if (info.isDirectory) throw new StoreError("wrong", `Store "${path}" is a folder; name a file in it`);
  if (info.size === 0 || info.size >= MIN_PAGE) return true;
  throw new StoreError("wrong", `"${path}" is no SQLite database; name another file`);
}

function prepareDatabase(database: DatabaseSync, path: string, durability: "full" | "normal"): void {
  // What is not ours is not even switched to another journal.
  const version = inTransaction(database, "BEGIN", () => checkOurs(database, path));
  const journal = value(database, "PRAGMA journal_mode = WAL");
  if (journal !== "wal" && path !== ":memory:") {
    throw new StoreError(
      "wrong",
      `Store "${path}" is where SQLite cannot share a file (journal mode ${journal} instead of wal); put it on a local disk`,
    );
  }
  database.exec(`PRAGMA synchronous = ${durability}`);
  database.exec(TUNING);
  if (version < MIGRATIONS.length) inTransaction(database, "BEGIN IMMEDIATE", () => migrate(database, path));
}

function migrate(database: DatabaseSync, path: string): void {
  // Another process may have been first.
  const version = checkOurs(database, path);
  for (const migration of MIGRATIONS.slice(version)) database.exec(migration);
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}`);
}

/** How many migrations the file has had; throws when it is not ours, or from a newer version. */
function checkOurs(database: DatabaseSync, path: string): number {
  const isOurs = value(database, "PRAGMA application_id") === APPLICATION_ID;
  if (!isOurs) {
    if (value(database, "SELECT count(*) FROM sqlite_schema") === 0) return 0;
    throw new StoreError("wrong", `"${path}" is the database of another program; name another file`);
  }
  const version = Number(value(database, "PRAGMA user_version"));
  if (version <= MIGRATIONS.length) return version;
  throw new StoreError(
    "newer",
    `Store "${path}" was made by a newer version of jobs (schema ${version}, this one knows ${MIGRATIONS.length}); use that version`,
  );
}

/** Several readings of one moment, or changes that belong together. */
function inTransaction<Result>(database: DatabaseSync, begin: string, run: () => Result): Result {
  database.exec(begin);
  try {
    const result = run();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function value(database: DatabaseSync, sql: string): unknown {
  return Object.values(database.prepare(sql).get()!)[0];
}
