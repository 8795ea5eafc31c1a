/**
 * SQLite stores as files: their addresses, and their backups. For backups of Redis, use its snapshots or its append-only file.
 *
 * @module
 */
import { hidePassword } from "./port/hide_password.ts";
import { openStore } from "./open.ts";
import type { Store } from "./admin/store.ts";
import { StoreError } from "./port/errors.ts";

/** Returns the address of the file at a path, which is read back as the same path: some characters have a meaning. */
export function sqliteUrl(path: string): string {
  // Two slashes begin a host, and these words have a meaning.
  const plain = path.replace(/^\/+/, "/").replace(/^(?=~\/|:memory:)/, "./");
  if (!/[?%]/.test(plain)) return `sqlite:${plain}`;
  return `sqlite://${plain.replaceAll("%", "%25").replaceAll("?", "%3F")}`;
}

/**
 * Returns whether both addresses name the same SQLite file; false if it doesn't exist. To be checked before either is opened: if
 * SQLite opens one file by two names (hard links), it keeps two logs, and damages the file.
 *
 * @throws {StoreError} if an address is invalid
 */
export async function isSameFile(one: string, other: string): Promise<boolean> {
  if (!one.startsWith("sqlite:") || !other.startsWith("sqlite:")) return false;
  const { parseAddress } = await import("./sqlite/address.ts");
  const [file, otherFile] = await Promise.all([one, other].map(async (url) => {
    const { path } = parseAddress(url, Deno.env.get("HOME"));
    return path === ":memory:" ? undefined : await Deno.stat(path).catch(() => undefined);
  }));
  return file !== undefined && file.ino === otherFile?.ino && file.dev === otherFile.dev;
}

/** A backup that was made. */
export interface Backup {
  /** Number of jobs in it that haven't ended. */
  readonly jobs: number;
  readonly bytes: number;
}

/**
 * Copies the SQLite store at `url` to a new file, while workers use it.
 *
 * @param options.replace whether to replace an earlier backup: at once, and only when the new one is complete
 * @throws {StoreError} if the store doesn't exist or is in Redis, or the file exists or can't be written
 */
export async function backupStore(
  url: string,
  file: string,
  { replace = false }: { readonly replace?: boolean } = {},
): Promise<Backup> {
  const { copyDatabase, replaceBackup, storeFile } = await sqliteOf(url);
  const path = storeFile(url);
  const copyTo = async (target: string) => {
    await copyDatabase(path, target);
    return await sizeOf(target);
  };
  return replace ? await replaceBackup(path, file, copyTo) : await copyTo(file);
}

async function sizeOf(file: string): Promise<Backup> {
  await using store = await openStore(sqliteUrl(file), { create: false });
  const jobs = await countJobs(store);
  return { jobs, bytes: (await Deno.stat(file)).size };
}

/** A restored backup. */
export interface Restored {
  readonly jobs: number;
  /** The path of the previous store; undefined if none existed. */
  readonly kept: string | undefined;
}

/**
 * Replaces the SQLite store at `url` by a backup. The store needn't exist. The backup has the workers that were online when it
 * was made: they are removed, and their jobs return to the front of their queues.
 *
 * @param options.confirmReplace called before a store is replaced; an error that it throws ends the restore
 * @throws {StoreError} if the file isn't a backup, the store is in Redis, or one of its workers is online
 */
export async function restoreStore(
  url: string,
  file: string,
  { confirmReplace }: { readonly confirmReplace: () => void },
): Promise<Restored> {
  const { checkWhole, copyDatabase, lockFolder, realFile, removeDatabase, replaceFile, storeFile } = await sqliteOf(
    url,
  );
  // Links stay: their files have the logs, and the store may be on another disk than the link.
  const [path, backup] = await Promise.all([realFile(storeFile(url)), realFile(file)]);
  if (await Deno.stat(backup).then((info) => !info.isFile, () => true)) {
    throw new StoreError("missing", `No backup at "${file}": expected a file that jobs backup made`);
  }
  await checkWhole(backup);
  if (await Deno.stat(path).then(() => true, () => false)) {
    await refuseIfInUse(url);
    confirmReplace();
  }
  // The name is always the same, so that the copy of a killed restore is removed here. Not that of one that still runs.
  using _lock = await lockFolder(path);
  const copy = `${path}.restoring`;
  await removeDatabase(copy);
  try {
    await copyDatabase(backup, copy, { closed: true });
    const jobs = await prepare(copy);
    return { jobs, kept: await replaceFile(path, copy) };
  } catch (error) {
    await removeDatabase(copy);
    throw error;
  }
}

async function refuseIfInUse(url: string): Promise<void> {
  await using store = await openStore(url, { create: false });
  const online = (await store.workers.list()).filter(({ alive }) => alive).map(({ id }) => id);
  if (online.length === 0) return;
  throw new StoreError(
    "locked",
    `Workers are online: ${online.join(", ")}. Stop them first (jobs stop --all), or wait until they are offline`,
  );
}

/** Removes the workers of a restored store, and returns how many jobs it has. Opening it migrates an older schema. */
async function prepare(file: string): Promise<number> {
  await using store = await openStore(sqliteUrl(file), { create: false });
  for (const { id } of await store.workers.list()) await store.workers.deregister(id);
  return await countJobs(store);
}

async function countJobs(store: Store): Promise<number> {
  const { enqueued, scheduled, retry, dead, running } = await store.admin.stats();
  return enqueued + scheduled + retry + dead + running;
}

async function sqliteOf(url: string): Promise<typeof import("./sqlite/backup.ts")> {
  if (url.startsWith("sqlite:")) return await import("./sqlite/backup.ts");
  throw new StoreError(
    "wrong",
    `Store "${
      hidePassword(url)
    }" isn't a SQLite file: back up Redis with BGSAVE or its append-only file, PostgreSQL with pg_dump or its log`,
  );
}
