/**
 * Reports writes to a database by any process. Its write-ahead log is a file that every commit is written to, and the
 * processes that share a log share a kernel as well, because they share its memory.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

/**
 * Calls `onWrite` when the log of the database at `path` is written to, until the returned function is called. The call
 * comes before the commit, and may come more than once for a commit. A process that signals its commits
 * ({@linkcode createWalSignal}) causes another call after the commit.
 *
 * @returns undefined where the kernel reports nothing: not on Linux, in memory, or too many files are watched already
 */
export function watchWal(path: string, onWrite: () => void): (() => void) | undefined {
  if (path === ":memory:" || Deno.build.os !== "linux") return undefined;
  let watcher: Deno.FsWatcher;
  try {
    watcher = Deno.watchFs(`${Deno.realPathSync(path)}-wal`, { recursive: false });
  } catch {
    return undefined;
  }
  let isClosed = false;
  void (async () => {
    try {
      for await (const _ of watcher) if (!isClosed) onWrite();
    } catch {
      // No further reports: the polls find the changes.
    }
  })();
  return () => {
    isClosed = true;
    watcher.close();
  };
}

/**
 * Returns a function to call after a synced commit. It makes the kernel report the commit to the watchers of other
 * processes, which otherwise see only the write before the sync and have to poll until the sync has ended.
 *
 * The function sets the log's modification time to the present, which changes nothing else and takes some microseconds. It
 * does nothing where that isn't possible (not Linux, in memory, a file of another user): then the watchers poll.
 *
 * @param path the database
 */
export function createWalSignal(path: string, clock: Clock): () => void {
  if (path === ":memory:" || Deno.build.os !== "linux") return () => {};
  let log: string | undefined;
  try {
    log = `${Deno.realPathSync(path)}-wal`;
    // Without the permission, Deno would ask the user of the program.
    if (Deno.permissions.querySync({ name: "write", path: log }).state !== "granted") return () => {};
  } catch {
    return () => {};
  }
  return () => {
    if (log === undefined) return;
    const now = clock.now() / 1_000;
    try {
      Deno.utimeSync(log, now, now);
    } catch {
      log = undefined;
    }
  };
}
