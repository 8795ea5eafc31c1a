/**
 * Opens the database file: checks that it is a store, migrates its schema, keeps it private to its user. Reports
 * its health.
 *
 * @module
 */
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Health, HealthFinding } from "../admin/health.ts";
import { StoreError } from "../port/errors.ts";
import type { Context } from "./context.ts";
import { translate } from "./errors.ts";
import { diskFindings } from "./disk.ts";
import { lockFindings } from "./lock_check.ts";
import type { BusyRetry } from "./busy_retry.ts";
import schema from "./schema.sql" with { type: "text" };

/** Marks a database as a store of jobs: "jobs". */
const APPLICATION_ID = 0x6a6f6273;
/** "JOBS": marked the stores of unreleased versions, whose schemas had other numbers. */
const UNRELEASED_ID = 0x4a4f4253;
/** The schema, then its changes in order, `schema/2.sql` first. The file's `user_version` is the number of those it has had. */
const MIGRATIONS: readonly string[] = [schema];
/** Smallest size of a database in bytes: one page of SQLite's smallest size. */
const MIN_DATABASE_BYTES = 512;
/**
 * Measured with batches of 100 and 1,000 jobs: a checkpoint after 1,000 pages (the default) is a tenth slower, and one after
 * more than 4,000 (16 MB) isn't faster. `journal_size_limit` truncates a log that a long read has made large.
 */
const TUNING = `
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA cache_size = -8000;
  PRAGMA temp_store = MEMORY;
`;

/** Options of {@linkcode openDatabase}. */
export interface OpenOptions {
  readonly durability: "full" | "normal";
  readonly busyRetry: BusyRetry;
  /** Creates the file and its folder if they don't exist. */
  readonly create: boolean;
}

/**
 * Opens the file.
 *
 * @throws {StoreError} `missing` if the file doesn't exist and `create` is false; others by their cause
 */
export async function openDatabase(
  path: string,
  { durability, busyRetry, create }: OpenOptions,
): Promise<DatabaseSync> {
  try {
    if (path !== ":memory:") await prepareFile(path, create);
    // A wait for a lock must not block the event loop: BusyRetry waits, not SQLite.
    const database = new DatabaseSync(path, { timeout: 0 });
    try {
      await busyRetry.try(() => prepareDatabase(database, path, durability));
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    throw translate(error, path);
  }
}

/** See `HealthReader.health`. */
export async function health({ sql, read, now, database }: Context): Promise<Health> {
  const { version, synchronous, mode } = await read(() => ({
    version: String(sql("SELECT sqlite_version() AS version").get()!["version"]),
    synchronous: Number(Object.values(sql("PRAGMA synchronous").get()!)[0]),
    mode: String(Object.values(sql("PRAGMA journal_mode").get()!)[0]),
  }));
  const path = database.location();
  return {
    version: `SQLite ${version}`,
    // A store in memory survives nothing.
    durability: path === null
      ? "none"
      : synchronous >= 2
      ? "full"
      : synchronous === 1 && mode === "wal"
      ? "normal"
      : "none",
    now: now(),
    findings: path === null
      ? []
      : [...await findings(path), ...await diskFindings(path), ...await lockFindings(database, path)],
  };
}

async function findings(path: string): Promise<HealthFinding[]> {
  const { mode } = await Deno.stat(path);
  return mode !== null && (mode & 0o044) !== 0
    ? [{ message: `other users of this machine may read the jobs in "${path}"`, cure: `chmod 600 "${path}"` }]
    : [];
}

/**
 * Creates the file if it doesn't exist. An existing file is never opened here: closing it releases all locks that this process
 * has on it through SQLite, also those of its other threads. The next process that closes the store would then consider
 * itself the last one, and delete the log that is still in use.
 */
async function prepareFile(path: string, create: boolean): Promise<void> {
  try {
    if (create) await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    if (await isDatabaseFile(path)) return;
    if (create) return await createFile(path);
    throw new StoreError(
      "missing",
      `No store at "${resolve(path)}"; use the address of an existing store, or let jobs run or jobs push create it`,
    );
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(
      "denied",
      `Store "${path}" cannot be opened (${
        (error as Error).message
      }); choose another place with --store sqlite:PATH (in a container, a volume), or give this user permission there`,
      { cause: error },
    );
  }
}

/**
 * Creates the file. SQLite gives the log and its index the same mode and owner. The first command of root may create the store
 * of a service: the file belongs to the owner of its folder.
 */
async function createFile(path: string): Promise<void> {
  try {
    // Without `using`: Node 22 loads this module, for the tests of handlers.
    (await Deno.open(path, { write: true, createNew: true, mode: 0o600 })).close();
    if ((await Deno.stat(path)).uid !== 0) return;
    const { uid, gid } = await Deno.stat(dirname(path));
    await Deno.chown(path, uid, gid);
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error; // another process may have created it
  }
}

/** Returns whether a file exists that may be a database: empty, or not too short. SQLite treats a short one as empty. */
async function isDatabaseFile(path: string): Promise<boolean> {
  let info: Deno.FileInfo;
  try {
    info = await Deno.stat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
  if (info.isDirectory) throw new StoreError("wrong", `Store "${path}" is a folder; expected a file`);
  if (info.size === 0 || info.size >= MIN_DATABASE_BYTES) return true;
  throw new StoreError("wrong", `"${path}" is not an SQLite database; use another file`);
}

function prepareDatabase(database: DatabaseSync, path: string, durability: "full" | "normal"): void {
  // Check first: another program's database must not even get another journal mode.
  const version = inTransaction(database, "BEGIN", () => checkStore(database, path));
  const journal = value(database, "PRAGMA journal_mode = WAL");
  if (journal !== "wal" && path !== ":memory:") {
    throw new StoreError(
      "wrong",
      `Store "${path}" is on a file system on which SQLite cannot share a file (journal mode ${journal} instead of wal); put it on a local disk`,
    );
  }
  database.exec(`PRAGMA synchronous = ${durability}`);
  database.exec(TUNING);
  if (version < MIGRATIONS.length) inTransaction(database, "BEGIN IMMEDIATE", () => migrate(database, path));
}

function migrate(database: DatabaseSync, path: string): void {
  // Another process may have migrated it.
  const version = checkStore(database, path);
  for (const migration of MIGRATIONS.slice(version)) database.exec(migration);
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}`);
}

/** Returns the number of migrations that the file has had. @throws {StoreError} if this version can't use it */
function checkStore(database: DatabaseSync, path: string): number {
  const id = value(database, "PRAGMA application_id");
  const version = Number(value(database, "PRAGMA user_version"));
  if (id === UNRELEASED_ID) {
    throw new StoreError(
      "wrong",
      `Store "${path}" was made by an unreleased version of jobs (schema ${version}); use a new file, or that version to move its jobs to Redis: jobs migrate`,
    );
  }
  if (id !== APPLICATION_ID) {
    if (value(database, "SELECT count(*) FROM sqlite_schema") === 0) return 0;
    throw new StoreError("wrong", `"${path}" is the database of another program; use another file`);
  }
  if (version <= MIGRATIONS.length) return version;
  throw new StoreError(
    "newer",
    `Store "${path}" was made by a newer version of jobs (schema ${version}, this version supports ${MIGRATIONS.length}); use that version`,
  );
}

/** Runs several reads or writes in one transaction. */
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
