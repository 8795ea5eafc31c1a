/**
 * Copies a store's file while workers use it, and replaces the file by a copy.
 *
 * @module
 */
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { StoreError } from "../port/errors.ts";
import { parseAddress } from "./address.ts";
import { isWriteFailure, translate } from "./errors.ts";

/** Returns the file of the store at `url`. @throws {StoreError} if it is in memory */
export function storeFile(url: string): string {
  const { path } = parseAddress(url, Deno.env.get("HOME"));
  if (path !== ":memory:") return path;
  throw new StoreError("wrong", 'Store "sqlite::memory:" ends with its process: expected a file');
}

/** The ending of the journal. It stays next to a copy whose writing was interrupted. */
const JOURNAL = "-journal";
/** The endings of a database's files: the log, its index and the journal lie next to the file while the database is written. */
const SUFFIXES = ["-wal", "-shm", JOURNAL, ""];

/**
 * Writes a consistent copy of the database at `path` to `target`, which must not exist. Reads a snapshot: workers don't wait, and
 * no transaction is partly in the copy. The copy is on the disk before this returns.
 *
 * @param options.closed whether no process has the database open; reading it then leaves no files next to it
 * @throws {StoreError} if the store doesn't exist or can't be read, or the target can't be written
 */
export async function copyDatabase(
  path: string,
  target: string,
  { closed = false }: { readonly closed?: boolean } = {},
): Promise<void> {
  for (const suffix of SUFFIXES) {
    // SQLite would apply the log of another file to the copy.
    if (!await exists(target + suffix)) continue;
    const instead = suffix === "" ? ", or --replace" : "";
    throw new StoreError("denied", `File "${target}${suffix}" exists already: expected a new one${instead}`);
  }
  if (!await exists(path)) {
    throw new StoreError("missing", `No store at "${path}"; --store or JOBS_STORE names another`);
  }
  // Payloads may be confidential: the copy gets the mode of a store.
  try {
    using _file = await Deno.open(target, { write: true, createNew: true, mode: 0o600 });
  } catch (error) {
    throw new StoreError("denied", `Can't write "${target}": ${(error as Error).message}`, { cause: error });
  }
  try {
    const database = new DatabaseSync(addressOf(path, { immutable: closed && !await exists(`${path}-wal`) }), {
      timeout: 10_000,
      readOnly: true,
    });
    try {
      database.prepare("VACUUM INTO ?").run(target);
    } finally {
      database.close();
    }
    await flush(target);
  } catch (error) {
    await removeDatabase(target);
    // The source is only read.
    throw translate(error, isWriteFailure(error) ? target : path);
  }
}

/**
 * Checks that a file is a whole copy of a database. SQLite takes an empty file for an empty database, and one with a journal for
 * what it was before the writing began: empty, too.
 *
 * @throws {StoreError}
 */
export async function checkWhole(file: string): Promise<void> {
  const why = await exists(file + JOURNAL)
    ? `writing it was interrupted ("${file}${JOURNAL}" exists)`
    : await isDatabase(file)
    ? undefined
    : "it isn't a SQLite file, or is empty";
  if (why !== undefined) throw new StoreError("wrong", `File "${file}" isn't a backup: ${why}`);
}

/**
 * Locks the folder of a file, until disposed or until this process ends.
 *
 * @throws {StoreError} if another process has locked it, or it can't be opened
 */
export async function lockFolder(file: string): Promise<Disposable> {
  const folder = await Deno.open(dirname(file)).catch((error) => {
    throw new StoreError("denied", `Can't write "${file}": ${error.message}`, { cause: error });
  });
  // Some file systems lock no folder.
  if (await folder.tryLock(true).catch(() => true)) return folder;
  folder.close();
  throw new StoreError("locked", `Another restore or backup in the folder of "${file}" is running: wait for its end`);
}

/** Resolves a link to the path of its file. A path that doesn't exist stays unchanged. */
export async function realFile(path: string): Promise<string> {
  return await Deno.realPath(path).catch(() => path);
}

/**
 * Replaces the store's file by the file `copy`, atomically, and keeps the previous file, with its log, next to it. Processes
 * that have the previous file open detect that, and must be restarted.
 *
 * @returns the path of the previous file; undefined if none existed
 */
export async function replaceFile(path: string, copy: string): Promise<string | undefined> {
  const before = await Deno.stat(path).catch(() => undefined);
  const owner = before ?? await Deno.stat(dirname(path));
  // root may restore the store of a service.
  if (Deno.uid() === 0) await Deno.chown(copy, owner.uid, owner.gid);
  await flush(copy);
  const kept = before === undefined ? undefined : await freeName(`${path}.before-restore`);
  if (kept !== undefined) {
    // The log belongs to the file: it goes first, so that no other file ever has it.
    for (const suffix of SUFFIXES) {
      await Deno.rename(path + suffix, kept + suffix).catch((error) => {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      });
    }
  }
  await Deno.rename(copy, path);
  return kept;
}

/**
 * Writes a backup next to `file` and then renames it over `file`. If it fails, the earlier backup stays as it was.
 *
 * @param path the store that is backed up
 * @param write writes the backup to the given file
 * @throws {StoreError} if `file` is the store, has a log, or isn't a database
 */
export async function replaceBackup<T>(path: string, file: string, write: (target: string) => Promise<T>): Promise<T> {
  // A link stays: the file that it names is replaced.
  const target = await realFile(file);
  const before = await Deno.stat(target).catch(() => undefined);
  if (before !== undefined) await checkReplaceable(path, file, target);
  using _lock = await shareFolder(target);
  // A unique name: a backup that runs at the same time writes to another file.
  const copy = `${target}.${crypto.randomUUID()}.new`;
  try {
    const result = await write(copy);
    if (before !== undefined && Deno.uid() === 0) await Deno.chown(copy, before.uid, before.gid);
    // Opening the copy to count its jobs may have migrated it.
    await flush(copy);
    await Deno.rename(copy, target);
    return result;
  } catch (error) {
    await removeDatabase(copy);
    throw error;
  }
}

const COPY = /^\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\.new(?:-wal|-shm|-journal)?$/;

/**
 * Removes the copies of `target` that killed backups have left, unless a backup or a restore in its folder is running: a copy may be that
 * one's. Then keeps others from doing so, until disposed or until this process ends.
 */
async function shareFolder(target: string): Promise<Disposable | undefined> {
  // Writing the backup reports why a folder can't be used.
  const folder = await Deno.open(dirname(target)).catch(() => undefined);
  try {
    if (await folder?.tryLock(true)) {
      await removeLeftCopies(target);
      await folder!.unlock();
    }
    await folder?.lock(false);
  } catch {
    // Some file systems lock no folder: there, copies stay.
  }
  return folder;
}

async function removeLeftCopies(target: string): Promise<void> {
  const [folder, name] = [dirname(target), basename(target)];
  for await (const { name: other, isFile } of Deno.readDir(folder)) {
    if (!isFile || !other.startsWith(name) || !COPY.test(other.slice(name.length))) continue;
    await Deno.remove(join(folder, other)).catch(() => {});
  }
}

async function checkReplaceable(path: string, file: string, target: string): Promise<void> {
  if (target === await Deno.realPath(path).catch(() => undefined)) {
    throw new StoreError("denied", `File "${file}" is the store itself: expected another file for its backup`);
  }
  for (const suffix of ["-wal", "-shm"]) {
    if (!await exists(target + suffix)) continue;
    throw new StoreError("denied", `File "${file}${suffix}" exists: "${file}" is a store in use, not a backup`);
  }
  if (await isDatabase(target)) return;
  throw new StoreError("denied", `File "${file}" isn't a backup: --replace only replaces a SQLite file`);
}

/** The first bytes of each SQLite file. */
const MAGIC = "SQLite format 3\0";

async function isDatabase(path: string): Promise<boolean> {
  try {
    using file = await Deno.open(path);
    const head = new Uint8Array(MAGIC.length);
    return await file.read(head) === head.length && new TextDecoder().decode(head) === MAGIC;
  } catch {
    return false;
  }
}

/** Removes a database with its log, if it exists. */
export async function removeDatabase(path: string): Promise<void> {
  for (const suffix of SUFFIXES) await Deno.remove(path + suffix).catch(() => {});
}

/** Returns the address of a database. SQLite opens an immutable one without a log, and detects no changes. */
function addressOf(path: string, { immutable }: { readonly immutable: boolean }): URL | string {
  if (!immutable) return path;
  const address = pathToFileURL(path);
  address.searchParams.set("immutable", "1");
  return address;
}

async function freeName(path: string): Promise<string> {
  for (let i = 1;; i++) {
    const name = i === 1 ? path : `${path}.${i}`;
    if (!await exists(name)) return name;
  }
}

async function flush(path: string): Promise<void> {
  using file = await Deno.open(path, { read: true, write: true });
  await file.sync();
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
