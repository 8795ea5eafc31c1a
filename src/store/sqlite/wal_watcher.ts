/**
 * Hears that others write to a database, from the kernel: its log is a file, and every commit is written there. Whoever
 * shares a log shares memory with us, too, and so the kernel.
 *
 * @module
 */

/**
 * Calls `told` when the log of the database at `path` is written to, by anybody, until the function returned is called.
 * It is called before what is written is committed, and more than once for a commit.
 *
 * @returns undefined where the kernel tells nothing: not on Linux, in memory, or too much is watched already
 */
export function watchWal(path: string, told: () => void): (() => void) | undefined {
  if (path === ":memory:" || Deno.build.os !== "linux") return undefined;
  let watcher: Deno.FsWatcher;
  try {
    watcher = Deno.watchFs(`${Deno.realPathSync(path)}-wal`, { recursive: false });
  } catch {
    return undefined;
  }
  let isOver = false;
  void (async () => {
    try {
      for await (const _ of watcher) if (!isOver) told();
    } catch {
      // Nothing more is heard; that there are changes is found out all the same.
    }
  })();
  return () => {
    isOver = true;
    watcher.close();
  };
}
