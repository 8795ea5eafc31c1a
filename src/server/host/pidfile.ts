/**
 * The pidfile: contains the number of this process, and prevents a second one from starting. The process holds a lock on the
 * file, which ends with it: the number alone may be that of another program by now.
 *
 * @module
 */

/** Another process has the pidfile, or it cannot be written. The message is one line for people. */
export class PidfileError extends Error {
  override readonly name = "PidfileError";
}

/**
 * Writes this process's number into a file, which is removed when disposed.
 *
 * @throws {PidfileError} if another process holds the file, it has other content, or it cannot be written
 */
export async function writePidfile(path: string): Promise<AsyncDisposable> {
  let file: Deno.FsFile;
  try {
    file = await openLocked(path);
  } catch (error) {
    if (error instanceof PidfileError) throw error;
    throw new PidfileError(`Pidfile "${path}" cannot be written: ${reasonOf(error)}`);
  }
  return {
    async [Symbol.asyncDispose]() {
      if (await isAt(path, file)) await Deno.remove(path).catch(() => {});
      file.close();
    },
  };
}

async function openLocked(path: string): Promise<Deno.FsFile> {
  for (;;) {
    const file = await Deno.open(path, { read: true, write: true, create: true, mode: 0o644 });
    try {
      const isLocked = await file.tryLock(true);
      const text = await textOf(file);
      if (!/^\d*\s*$/.test(text)) {
        throw new PidfileError(`Pidfile "${path}" holds something else than a process number; name another file`);
      }
      if (!isLocked) {
        throw new PidfileError(`Pidfile "${path}" names process ${text.trim()}, which is alive; stop that one first`);
      }
      if (await isAt(path, file)) {
        await file.truncate();
        await file.seek(0, Deno.SeekMode.Start);
        await file.write(new TextEncoder().encode(`${Deno.pid}\n`));
        return file;
      }
    } catch (error) {
      file.close();
      throw error;
    }
    // Its process removed the file between the opening and the lock.
    file.close();
  }
}

async function textOf(file: Deno.FsFile): Promise<string> {
  const bytes = new Uint8Array(100);
  const length = await file.read(bytes);
  return new TextDecoder().decode(bytes.subarray(0, length ?? 0));
}

/** Returns whether an open file is the one that its path names now. */
async function isAt(path: string, file: Deno.FsFile): Promise<boolean> {
  const [open, named] = [await file.stat(), await Deno.stat(path).catch(() => undefined)];
  return named !== undefined && named.ino === open.ino && named.dev === open.dev;
}

function reasonOf(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "the folder doesn't exist; create it, or name another file";
  if (error instanceof Deno.errors.IsADirectory) return "it is a folder; name a file in it";
  return (error as Error).message;
}
