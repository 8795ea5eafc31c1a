/**
 * Reports writes to a database by any process. Its write-ahead log is a file that every commit is written to, and the
 * processes that share a log share a kernel as well, because they share its memory.
 *
 * @module
 */

/**
 * Calls `onWrite` when the log of the database at `path` is written to, until the returned function is called. The call
 * comes before the commit, and may come more than once for a commit.
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
