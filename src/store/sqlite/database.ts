/**
 * The database file: opened, checked to be ours, brought to the present schema, and private to its user.
 *
 * @module
 */
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../clock.ts";
import { StoreError } from "../errors.ts";
import { isBusy, translate } from "./errors.ts";
import schema1 from "./schema/1.sql" with { type: "text" };
import schema2 from "./schema/2.sql" with { type: "text" };

/** Marks a database as ours: "JOBS". */
const APPLICATION_ID = 0x4a4f4253;
/** Migrations in order; the file's `user_version` says how many it has had. */
const MIGRATIONS: readonly string[] = [schema1, schema2];
const HEADER = "SQLite format 3\0";

/**
 * Opens the file; creates it, and its folder, where there is none.
 *
 * @param clock for waiting while another process has it locked
 * @param waitMs how long
 * @throws {StoreError}
 */
export async function openDatabase(
  path: string,
  durability: "full" | "normal",
  clock: Clock,
  waitMs: number,
): Promise<DatabaseSync> {
  try {
    if (path !== ":memory:") await prepareFile(path);
    // A wait for a lock must not block the event loop: SQLite does not wait, we do.
    const database = new DatabaseSync(path, { timeout: 0 });
    try {
      await patiently(clock, waitMs, () => prepareDatabase(database, path, durability));
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
 * Tries again while another connection holds the lock.
 *
 * @throws whatever `run` throws in the end
 */
export async function patiently<Result>(clock: Clock, waitMs: number, run: () => Result): Promise<Result> {
  const end = clock.monotonic() + waitMs;
  for (let tries = 0;; tries++) {
    try {
      return run();
    } catch (error) {
      if (!isBusy(error) || clock.monotonic() >= end) throw error;
    }
    // Most locks are held for a fraction of a millisecond, a few for a bulk push.
    if (tries < 3) await clock.turn();
    else await clock.sleep(1 + Math.random() * Math.min(10, tries));
  }
}

async function prepareFile(path: string): Promise<void> {
  try {
    await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // SQLite gives the files beside it the same mode.
    using file = await Deno.open(path, { read: true, write: true, create: true, mode: 0o600 });
    const bytes = new Uint8Array(HEADER.length);
    const length = await file.read(bytes);
    if (length !== null && new TextDecoder().decode(bytes) !== HEADER) {
      throw new StoreError("wrong", `"${path}" is no SQLite database; name another file`);
    }
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

function prepareDatabase(database: DatabaseSync, path: string, durability: "full" | "normal"): void {
  checkOurs(database, path);
  database.exec("PRAGMA journal_mode = WAL");
  database.exec(`PRAGMA synchronous = ${durability}`);
  // Larger than the default of 1,000 pages: fewer checkpoints in a busy store, and still only 16 MB beside it.
  database.exec("PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -8000; PRAGMA temp_store = MEMORY");
  if (number(database, "PRAGMA user_version") === MIGRATIONS.length) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have been first.
    checkOurs(database, path);
    for (const migration of MIGRATIONS.slice(number(database, "PRAGMA user_version"))) database.exec(migration);
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}`);
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function checkOurs(database: DatabaseSync, path: string): void {
  const isOurs = number(database, "PRAGMA application_id") === APPLICATION_ID;
  if (!isOurs && number(database, "SELECT count(*) FROM sqlite_schema") > 0) {
    throw new StoreError("wrong", `"${path}" is the database of another program; name another file`);
  }
  const version = number(database, "PRAGMA user_version");
  if (isOurs && version > MIGRATIONS.length) {
    throw new StoreError(
      "newer",
      `Store "${path}" was made by a newer version of jobs (schema ${version}, this one knows ${MIGRATIONS.length}); use that version`,
    );
  }
}

function number(database: DatabaseSync, sql: string): number {
  return Number(Object.values(database.prepare(sql).get()!)[0]);
}
